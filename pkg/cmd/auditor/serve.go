// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/server"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/serve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/heap"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/serving"
)

type serveOptions struct {
	flags   *input.Flags
	serving *serve.Flags
	version string

	clusterName string
}

func newServe(env verb.Environment) *cobra.Command {
	o := &serveOptions{flags: input.New(env), serving: serve.New(), version: env.Version}
	o.flags.Config.Timeout = nil // a watch has none
	c := &cobra.Command{Use: "serve", Short: "Keep the result of an audit current, in the cluster", Args: verb.NoCommand,
		ValidArgsFunction: cobra.NoFileCompletions, RunE: verb.RunE(o)}
	f := c.Flags()
	o.flags.Config.AddFlags(f)
	f.Lookup("namespace").Usage = "Namespace of the auditor's own Lease and ConfigMaps (default that of the pod)"
	o.serving.AddFlags(c)
	f.StringVar(&o.clusterName, "cluster-name", "",
		"NAMESPACE/NAME of this cluster's Cluster, for the metrics of bundle deployments that do not show it")
	return c
}

// Complete implements verb.Options.
func (o *serveOptions) Complete([]string) error { return nil }

// Validate implements verb.Options.
func (o *serveOptions) Validate() error { return o.serving.Validate() }

// Run serves until the context ends.
func (o *serveOptions) Run(ctx context.Context) error {
	heap.KeepSmall()
	config, err := o.flags.RESTConfig("Outside of a cluster, name a kubeconfig with --kubeconfig or a context with " +
		"--context.")
	if err != nil {
		return err
	}
	namespace, _, err := o.flags.Config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return exit.Failure(fmt.Errorf("finding the namespace: %w", err), "Name it with --namespace.")
	}
	identity, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("finding the name of the pod: %w", err)
	}
	s, err := server.New(server.Options{Config: config, Namespace: namespace,
		Identity: fmt.Sprintf("%s_%d", identity, os.Getpid()), MetricsAddress: o.serving.Metrics,
		ProbesAddress: o.serving.Probes, Metrics: metrics.New(metrics.Options{Version: o.version, Cluster: o.clusterName}),
		Audit: audit.Options{Version: o.version}, Log: o.serving.Logger(o.flags.Streams.ErrOut)})
	if err != nil {
		return err
	}
	return explain(s.Run(ctx))
}

// explain adds a hint to an error.
func explain(err error) error {
	listen, ok := errors.AsType[*serving.ListenError](err)
	if !ok {
		return err
	}
	return exit.Failure(err, serve.Hint(listen, nil))
}
