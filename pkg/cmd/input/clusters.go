// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Clusters returns the function that finds the clusters to read; nil if only the source is read. src is the management
// cluster.
func (f *ClusterFlags) Clusters(src source.Source) func(*state.Fleet) ([]engine.Cluster, []source.Gap) {
	if len(f.targets) == 0 && !f.viaRancher && !f.viaKubeconfig {
		return nil
	}
	return func(fleet *state.Fleet) ([]engine.Cluster, []source.Gap) {
		var out []engine.Cluster
		for _, t := range f.targets {
			out = append(out, engine.Cluster{Name: t.name, Commands: commandsOn(t.name, t.in),
				Open: func(ctx context.Context) (source.Source, error) {
					opened, _, err := t.in.Open(ctx)
					return opened, err
				}})
		}
		var found []engine.Cluster
		var gaps []source.Gap
		switch {
		case f.viaRancher:
			found, gaps = f.throughRancher(fleet)
		case f.viaKubeconfig:
			found, gaps = f.throughSecrets(fleet, src)
		}
		return append(out, found...), gaps
	}
}

// Check returns a usage error if a flag names a file or a context that does not exist: a typing error must not look
// like a cluster that could not be read. Every other problem becomes a gap when the cluster is read.
func (f *ClusterFlags) Check() error {
	for _, t := range f.targets {
		if err := t.exists(); err != nil {
			return cli.UsageError(fmt.Errorf("%s: %w", t.flag, err))
		}
	}
	return nil
}

// exists returns an error if the snapshot, the kubeconfig or the context of a cluster does not exist.
func (t target) exists() error {
	if t.in.Captured() {
		path := t.in.Snapshots[0]
		if path == "-" { // standard input
			return nil
		}
		_, err := os.Stat(path)
		return absent(err)
	}
	config, err := t.in.Config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return absent(err)
	}
	if name := *t.in.Config.Context; name != "" && config.Contexts[name] == nil {
		return errors.New("the kubeconfig has no such context; kubectl config get-contexts lists the contexts")
	}
	return nil
}

// absent is the reason of an error for a file that does not exist, nil for every other error.
func absent(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		return path.Err
	}
	return nil
}

// Suggest returns a command that also reads the clusters that were not read. audit repeats the audit.
func (f *ClusterFlags) Suggest(audit string) string {
	switch {
	case f.viaRancher || f.viaKubeconfig:
		return "" // the gaps name the reason
	case f.in.Captured():
		return audit + " --" + snapshotFlag + " NAME=PATH"
	}
	return audit + " --" + clusterFlag + " NAME=KUBECONFIG"
}
