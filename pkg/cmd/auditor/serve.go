// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/publish"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/heap"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

type serveOptions struct {
	flags   *input.Flags
	serving *chart.ServeFlags
	version string

	clusterName                  string
	events, openReports, journal bool
}

func newServe(env cli.Environment) *cobra.Command {
	o := &serveOptions{flags: input.New(env), serving: chart.NewServe(), version: env.Version}
	o.flags.Config.Timeout = nil // a watch has none
	c := chart.NewCommand(o, &cobra.Command{Use: "serve", Short: "Keep the result of an audit current, in the cluster"})
	f := c.Flags()
	o.flags.Config.AddFlags(f)
	f.Lookup("namespace").Usage = "Namespace of the auditor's own Lease and ConfigMaps (default that of the pod)"
	o.serving.AddFlags(c)
	f.StringVar(&o.clusterName, "cluster-name", "",
		"NAMESPACE/NAME of this cluster's Cluster, for the metrics of bundle deployments that do not show it")
	f.BoolVar(&o.events, "events", true, "Write Events on objects and bundle deployments when their state changes")
	f.BoolVar(&o.openReports, "open-reports", false, "Keep the findings as reports of openreports.io")
	f.BoolVar(&o.journal, "journal", true, "Keep a journal of the objects and releases that vanished, in ConfigMaps")
	return c
}

// Complete implements cli.Options.
func (o *serveOptions) Complete([]string) error { return nil }

// Validate implements cli.Options.
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
		return cli.Failure(fmt.Errorf("finding the namespace: %w", err), "Name it with --namespace.")
	}
	identity, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("finding the name of the pod: %w", err)
	}
	log := o.serving.Logger(o.flags.Streams.ErrOut)
	lease := &auditor.Lease{}
	sinks, err := o.sinks(config, lease, namespace, identity, log)
	if err != nil {
		return err
	}
	s, err := auditor.NewServer(auditor.ServerOptions{Config: config, Namespace: namespace,
		Identity: fmt.Sprintf("%s_%d", identity, os.Getpid()), MetricsAddress: o.serving.Metrics,
		ProbesAddress: o.serving.Probes, Lease: lease, Sinks: sinks, Log: log, Audit: audit.Options{Version: o.version},
		Metrics: metrics.New(metrics.Options{Version: o.version, Cluster: o.clusterName})})
	if err != nil {
		return err
	}
	_, ended := o.flags.Interruption.Hold(ctx) // for writes that are in progress, and to release the Lease
	defer ended()
	return s.Run(ctx)
}

// sinks returns what the leader writes to the cluster.
func (o *serveOptions) sinks(config *rest.Config, lease *auditor.Lease, namespace, pod string,
	log logr.Logger) ([]auditor.Sink, error) {
	config = rest.CopyConfig(config)
	config.Wrap(lease.Guard)
	config = transport.Guard(config, transport.Bounds{Answer: maxAnswer})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	anyKind, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	var out []auditor.Sink
	if o.events {
		out = append(out, publish.NewEvents(publish.EventsOptions{Client: client.EventsV1(), Instance: pod, Now: time.Now,
			Log: log.WithName("events")}))
	}
	if o.openReports {
		out = append(out, publish.NewReports(publish.ReportsOptions{Client: anyKind, Now: time.Now,
			Log: log.WithName("openreports")}))
	}
	if o.journal {
		out = append(out, publish.NewJournal(publish.JournalOptions{Client: client.CoreV1(), Namespace: namespace, Now: time.Now,
			Log: log.WithName("journal")}))
	}
	return out, nil
}

// maxAnswer limits an answer that a writer reads, in bytes.
const maxAnswer = 64 << 20

// AddHint implements chart.Subcommand.
func (o *serveOptions) AddHint(err error) error {
	listen, ok := errors.AsType[*transport.ListenError](err)
	if !ok {
		return err
	}
	return cli.Failure(err, chart.ServeHint(listen, nil))
}
