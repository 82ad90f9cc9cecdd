// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/files"
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

// NewClusters returns the flags. It must be called before the flags of in are added: --cluster also has the meaning
// that kubectl gives it.
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

// commandsOn returns the commands for the objects of a cluster. A command that is pasted into a shell must not write
// to the cluster of the current context, so the commands for a captured cluster use its name as the context.
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

// directoryArgs repeat the flags that name the directory, "" without one.
func (f *ScopeFlags) directoryArgs() string {
	var args []string
	for _, flag := range []struct{ name, value string }{{"-f", f.directory}, {"--gitrepo", f.gitRepo},
		{"--path", f.path}} {
		if flag.value != "" {
			args = append(args, flag.name, escape.Shell(flag.value))
		}
	}
	return strings.Join(args, " ")
}

// Args are the arguments and flags that repeat the scope, each after a blank. targets are the arguments.
func (f *ScopeFlags) Args(targets []string) string {
	out := ""
	for _, target := range targets {
		out += " " + escape.Shell(target)
	}
	if namespace := *f.in.Config.Namespace; namespace != "" {
		out += " -n " + escape.Shell(namespace)
	}
	if f.selector != "" {
		out += " -l " + escape.Shell(f.selector)
	}
	if files := f.directoryArgs(); files != "" {
		out += " " + files
	}
	return out
}

// from parses the flags that select the source of desired objects.
func (f *ScopeFlags) from(scope evaluate.Scope) (engine.Desired, error) {
	from := engine.Desired(f.desired.String())
	switch {
	case f.directory == "" && f.in.Changed(directoryFlag):
		return "", errors.New("-f is empty: it must name a directory")
	case f.directory == "" && from == engine.DesiredFiles:
		return "", errors.New("--desired=files requires -f with the directory of a bundle")
	case f.directory == "" && (f.in.Changed("gitrepo") || f.in.Changed("path")):
		return "", errors.New("--gitrepo and --path require -f: they name the repository of its directory")
	case f.directory == "":
		return from, nil
	case !scope.Whole():
		return "", errors.New("-f and bundles, --namespace or --selector are mutually exclusive: the directory is " +
			"the scope")
	case f.in.Changed(desiredFlag) && from != engine.DesiredFiles:
		return "", fmt.Errorf("-f and --desired=%s are mutually exclusive", from)
	}
	return engine.DesiredFiles, nil
}

// LoadDirectory reads the directory of -f into the options. Its errors are those of files.Load.
func (f *ScopeFlags) LoadDirectory(o *engine.Options) error {
	if f.directory == "" {
		return nil
	}
	in, err := files.LoadAll(f.directory, files.Options{GitRepo: f.gitRepo, Path: f.path})
	if errors.Is(err, files.ErrNoName) {
		return cli.UsageError(fmt.Errorf("%s: %w; add --gitrepo=NAME and --path=PATH", f.directory, err))
	}
	if err != nil {
		return cli.Failure(fmt.Errorf("%s: %w", f.directory, err),
			"-f must name a directory with at least one bundle, such as a path of a GitRepo.")
	}
	o.Files = in
	return nil
}

// ToOptions parses the flags and the arguments that name targets. objects are the other arguments: without a target,
// --namespace is only their namespace, and the scope is every workspace. LoadDirectory completes the options.
func (f *ScopeFlags) ToOptions(args []string, objects ...Object) (engine.Options, error) {
	o := engine.Options{Version: f.in.Version, Renderer: f.in.Renderer, Pause: f.in.Pause, Commands: f.in.Commands()}
	var err error
	if o.Scope, err = f.scope(args, len(args) == 0 && len(objects) > 0); err != nil {
		return o, err
	}
	o.Commands = InWorkspace(o.Commands, o.Scope.Namespace)
	if o.Desired, err = f.from(o.Scope); err != nil {
		return o, err
	}
	if len(objects) > 0 && !f.in.Changed(desiredFlag) {
		o.Desired = engine.DesiredAuto // a bundle that is not installed also desires objects
	}
	o.Commands.Files = f.directoryArgs()
	o.AgentScope, err = f.in.AgentScope()
	return o, err
}

// CheckNamespace returns an error if the value of --namespace is not the name of a namespace, or if all is given too:
// the flag --all-namespaces.
func CheckNamespace(namespace string, all bool) error {
	switch wrong := validation.IsDNS1123Label(namespace); {
	case namespace == "":
		return nil
	case all:
		return errors.New("--namespace and --all-namespaces are mutually exclusive")
	case len(wrong) > 0:
		return fmt.Errorf("parsing --namespace %q: %s", namespace, strings.Join(wrong, "; "))
	}
	return nil
}

// scope parses the scope. If everyWorkspace is true, --namespace does not narrow it.
func (f *ScopeFlags) scope(args []string, everyWorkspace bool) (evaluate.Scope, error) {
	namespace := *f.in.Config.Namespace
	s := evaluate.Scope{Namespace: namespace}
	if everyWorkspace {
		s.Namespace = ""
	}
	var err error
	if s.Selector, err = cli.ParseSelector(f.selector); err != nil {
		return s, err
	}
	s.Targets, err = ParseTargets(args, namespace)
	return s, err
}

// ScopeFlags mirror the flags that select bundles and desired objects. Make them with NewScope.
type ScopeFlags struct {
	in       *Flags
	selector string

	desired                  *cli.Enum
	directory, gitRepo, path string
}

// NamespaceUsage is the usage of --namespace for a verb with targets.
const NamespaceUsage = "Workspace of the GitRepos, HelmOps, Bundles and Clusters, or namespace of the " +
	"BundleDeployments; without it, all workspaces"

// ObjectNamespace ends the usage of --namespace for a verb whose arguments may also be deployed objects.
const ObjectNamespace = ". For a deployed object, its namespace"

const (
	desiredFlag   = "desired"
	directoryFlag = "filename"
)

// NewScope returns the flags of a verb; desired is its default source of desired objects.
func NewScope(in *Flags, desired engine.Desired) *ScopeFlags {
	return &ScopeFlags{in: in, desired: cli.NewEnum(string(desired), string(engine.DesiredAuto),
		string(engine.DesiredRelease), string(engine.DesiredBundle), string(engine.DesiredFiles))}
}

// AddFlags adds the flags, but for --desired, which not every verb has.
func (f *ScopeFlags) AddFlags(c *cobra.Command) {
	fs := c.Flags()
	cli.AddSelector(fs, &f.selector, "BundleDeployments")
	fs.StringVar(&f.in.agentScope, agentScopeFlag, "",
		"Scope (AGENT_SCOPE) of the agents if no running agent shows it; '' means no scope")
	fs.StringVarP(&f.directory, directoryFlag, "f", "",
		"Directory of a bundle, with or without a fleet.yaml. Only this bundle "+
			"and those of the directories below with a fleet.yaml are evaluated, with the objects in the directories")
	fs.StringVar(&f.gitRepo, "gitrepo", "",
		"GitRepo of the directory of -f: it names the bundle, unless the fleet.yaml does, and has the targets")
	fs.StringVar(&f.path, "path", "", "Path of the directory of -f in the repository")
}

// AddDesiredFlag adds the flag that selects the source of desired objects.
func (f *ScopeFlags) AddDesiredFlag(c *cobra.Command) {
	f.desired.AddTo(c, desiredFlag,
		"Source of the desired objects: the release record, the bundle rendered from its contents, the first of the "+
			"two that is available (auto), or the files of -f")
}
