// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// Open opens the source. The Cluster is the same source if it is a live one, nil for a snapshot. Open makes no request.
//
// Its errors are cli.Errors if the command line or the kubeconfig is wrong, and those of cmd.Open.
func (f *Flags) Open(ctx context.Context) (source.Source, *cluster.Cluster, error) {
	if f.Captured() {
		s, err := f.snapshot(ctx)
		if err != nil {
			return nil, nil, err // not s: a nil pointer in an interface is not nil
		}
		return s, nil, nil
	}
	c, err := f.cluster()
	if err != nil {
		return nil, nil, err
	}
	return c, c, nil
}

func (f *Flags) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if name := f.connection(); name != "" {
		return nil, cli.UsageError(fmt.Errorf("--snapshot and --%s are mutually exclusive: a snapshot needs no "+
			"cluster", name))
	}
	if slices.Contains(f.Snapshots, "") { // usually the value of a shell variable that is not set
		return nil, cli.UsageError(errors.New("--snapshot is empty: it must name a folder or a file"))
	}
	if i := slices.Index(f.Snapshots, "-"); i >= 0 && slices.Contains(f.Snapshots[i+1:], "-") {
		return nil, cli.UsageError(errors.New("--snapshot - is given twice: standard input can only be read once"))
	}
	return snapshot.Open(ctx, f.Snapshots, f.Streams.In)
}

func (f *Flags) cluster() (*cluster.Cluster, error) {
	if _, err := clientcmd.ParseTimeout(*f.Config.Timeout); err != nil {
		return nil, cli.UsageError(fmt.Errorf("parsing --request-timeout %q: it must be a number of seconds, or a "+
			"number with a unit, such as 30s or 2m", *f.Config.Timeout))
	}
	config, err := f.RESTConfig("Name a kubeconfig with --kubeconfig or KUBECONFIG, or a context with --context, or " +
		"read a snapshot with --snapshot.")
	if err != nil {
		return nil, err
	}
	name := *f.Config.Context
	if raw, err := f.Config.ToRawKubeConfigLoader().RawConfig(); err == nil && name == "" {
		name = raw.CurrentContext
	}
	return cluster.New(config, cluster.Options{Context: name, Now: f.Now, ReadOnly: f.ReadOnly})
}

// connection is the first flag on the command line that configures the connection to a cluster, "" without one. Beside
// a snapshot, --context configures none: it names the captured cluster in commands.
func (f *Flags) connection() string {
	first := ""
	ConnectionFlags().VisitAll(func(flag *pflag.Flag) {
		// it names a cluster to read in addition
		clusters := flag.Name == "cluster" && (f.Config.ClusterName == nil || *f.Config.ClusterName == "")
		if first != "" || clusters || flag.Name == "context" {
			return
		}
		if f.Changed(flag.Name) {
			first = flag.Name
		}
	})
	return first
}
