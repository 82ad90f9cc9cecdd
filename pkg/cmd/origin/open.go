// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// Open opens what is to be read. The Cluster is the same source where it is a live one, and nil where it is a snapshot. It makes no request.
//
// Its errors are exit.Errors where the command line or the kubeconfig is wrong, and those of snapshot.Open.
func (f *Flags) Open(ctx context.Context) (source.Source, *cluster.Cluster, error) {
	if f.Captured() {
		s, err := f.snapshot(ctx)
		if err != nil {
			return nil, nil, err // not s: a nil pointer in an interface is no nil
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
		return nil, exit.UsageError(fmt.Errorf("--snapshot and --%s exclude each other: a snapshot needs no cluster", name))
	}
	piped := false
	for _, path := range f.Snapshots {
		if path == "-" && piped {
			return nil, exit.UsageError(errors.New("--snapshot - is given twice: standard input can be read once"))
		}
		piped = piped || path == "-"
	}
	return snapshot.Open(ctx, f.Snapshots, f.Streams.In)
}

func (f *Flags) cluster() (*cluster.Cluster, error) {
	if _, err := clientcmd.ParseTimeout(*f.Config.Timeout); err != nil {
		return nil, exit.UsageError(fmt.Errorf("parsing --request-timeout %q: want a number of seconds, or one with a unit, like 30s or 2m", *f.Config.Timeout))
	}
	config, err := f.RESTConfig("Name one with --kubeconfig or --context, or read a captured cluster with --snapshot.")
	if err != nil {
		return nil, err
	}
	name := *f.Config.Context
	if raw, err := f.Config.ToRawKubeConfigLoader().RawConfig(); err == nil && name == "" {
		name = raw.CurrentContext
	}
	return cluster.New(config, cluster.Options{Context: name, Now: f.Now})
}

// connection names the first flag given that says how to reach a cluster, "" where none was.
func (f *Flags) connection() string {
	all := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(all)
	first := ""
	all.VisitAll(func(flag *pflag.Flag) {
		if first == "" && flag.Name != "namespace" && f.given.Changed(flag.Name) {
			first = flag.Name
		}
	})
	return first
}
