// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// ClusterFlags mirror the flags. Make them with NewClusters.
type ClusterFlags struct {
	in *Flags

	clusters      []string
	contexts      []string
	snapshots     []string
	viaRancher    bool
	viaKubeconfig bool

	targets []target
	args    string
}

// target is one cluster that the command line names.
type target struct {
	name string
	flag string // the flag with its value, as on the command line
	in   *Flags
}

// NewClusters returns the flags. It must be called before the flags of in are added: --cluster also has the meaning that
// kubectl gives it.
func NewClusters(in *Flags) *ClusterFlags {
	in.Config.ClusterName = nil
	return &ClusterFlags{in: in}
}

const (
	clusterFlag       = "cluster"
	contextsFlag      = "contexts"
	snapshotFlag      = "cluster-snapshot"
	viaRancherFlag    = "via-rancher"
	viaKubeconfigFlag = "via-kubeconfig-secrets"
)

// defaultTimeout is the request timeout of each cluster, unless --request-timeout sets one, so that a cluster that does
// not answer ends as a gap.
const defaultTimeout = "30s"

// AddFlags adds the flags.
func (f *ClusterFlags) AddFlags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.clusters, clusterFlag, nil,
		"Also read a cluster: NAME=KUBECONFIG or NAME=KUBECONFIG#CONTEXT. May be repeated. A value without = is the "+
			"name of the kubeconfig cluster to use")
	fs.StringSliceVar(&f.contexts, contextsFlag, nil, "Also read the clusters of these contexts of the kubeconfig")
	fs.StringArrayVar(&f.snapshots, snapshotFlag, nil,
		"Also read the snapshot of a cluster: NAME=PATH. May be repeated")
	fs.BoolVar(&f.viaRancher, viaRancherFlag, false,
		"Also read each Cluster of Fleet through the Rancher server of the current context")
	fs.BoolVar(&f.viaKubeconfig, viaKubeconfigFlag, false,
		"Also read each Cluster of Fleet with the kubeconfig in the Secret that it names")
}

// Complete parses the flags.
func (f *ClusterFlags) Complete() error {
	kubectls := ""
	f.in.Config.ClusterName = &kubectls
	for _, value := range f.clusters {
		name, kubeconfig, ok := strings.Cut(value, "=")
		switch {
		case !ok && kubectls != "":
			return fmt.Errorf("parsing --%s %q: %q already names the cluster of the kubeconfig", clusterFlag, value,
				kubectls)
		case !ok:
			kubectls = value
			continue
		}
		context := ""
		if i := strings.LastIndexByte(kubeconfig, '#'); i >= 0 {
			kubeconfig, context = kubeconfig[:i], kubeconfig[i+1:]
		}
		if err := f.add(clusterFlag, value, name, kubeconfig, f.live(kubeconfig, context)); err != nil {
			return err
		}
	}
	for _, context := range f.contexts {
		if err := f.add(contextsFlag, context, context, context, f.live(*f.in.Config.KubeConfig, context)); err != nil {
			return err
		}
	}
	for _, value := range f.snapshots {
		name, path, _ := strings.Cut(value, "=")
		captured := New(f.in.Environment)
		captured.Snapshots = []string{path}
		if err := f.add(snapshotFlag, value, name, path, captured); err != nil {
			return err
		}
	}
	for flag, set := range map[string]bool{viaRancherFlag: f.viaRancher, viaKubeconfigFlag: f.viaKubeconfig} {
		if set && f.in.Captured() {
			return fmt.Errorf("--snapshot and --%s are mutually exclusive: the clusters are found through a live "+
				"management cluster", flag)
		}
		if set {
			f.args += " --" + flag
		}
	}
	if f.viaRancher && f.viaKubeconfig {
		return errors.New("--" + viaRancherFlag + " and --" + viaKubeconfigFlag +
			" are mutually exclusive: both read every Cluster")
	}
	return nil
}

// add adds the cluster of one flag.
func (f *ClusterFlags) add(flag, value, name, from string, in *Flags) error {
	if name == "" || from == "" {
		return fmt.Errorf("parsing --%s %q: it must be NAME=%s", flag, value,
			map[string]string{clusterFlag: "KUBECONFIG[#CONTEXT]", snapshotFlag: "PATH", contextsFlag: "CONTEXT"}[flag])
	}
	if slices.ContainsFunc(f.targets, func(t target) bool { return t.name == name }) {
		return fmt.Errorf("parsing --%s %q: another cluster is named %q", flag, value, name)
	}
	f.targets = append(f.targets, target{name: name, flag: "--" + flag + " " + value, in: in})
	f.args += " --" + flag + " " + escape.Shell(value)
	return nil
}

// Args are the flags for a command that repeats the audit, with a leading space.
func (f *ClusterFlags) Args() string { return f.args }

// live returns the flags of a live cluster.
func (f *ClusterFlags) live(kubeconfig, context string) *Flags {
	in := New(f.in.Environment)
	*in.Config.KubeConfig, *in.Config.Context, *in.Config.Timeout = kubeconfig, context, f.timeout()
	return in
}

func (f *ClusterFlags) timeout() string {
	if t := *f.in.Config.Timeout; t != "" && t != "0" {
		return t
	}
	return defaultTimeout
}

// configFlags returns flags with the same kubeconfig, context and user.
func (f *ClusterFlags) configFlags() *genericclioptions.ConfigFlags {
	have, out := f.in.Config, genericclioptions.NewConfigFlags(true)
	*out.KubeConfig, *out.Context, *out.AuthInfoName, *out.Impersonate = *have.KubeConfig, *have.Context,
		*have.AuthInfoName, *have.Impersonate
	return out
}

// commandsOn returns the commandsOn for the objects of a cluster. A command that is pasted into a shell must not write to
// the cluster of the current context, so the commandsOn for a captured cluster use its name as the context.
func commandsOn(name string, in *Flags) remedy.Commands {
	if in.Captured() {
		live := New(in.Environment)
		*live.Config.Context = name
		in = live
	}
	out := in.Commands()
	out.Downstream = true
	return out
}
