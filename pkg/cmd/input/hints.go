// SPDX-License-Identifier: Apache-2.0

package input

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Explain adds a hint to an error of the engine, and to each of several joined errors. An error that has an exit
// status is returned as it is.
func (f *Flags) Explain(err error) error {
	if each, several := errors.AsType[evaluate.Errors](err); several {
		var out cli.Errors
		for _, one := range each {
			out = append(out, f.Explain(one))
		}
		return out
	}
	if _, explained := errors.AsType[*cli.Error](err); err == nil || explained {
		return err
	}
	if e, ambiguous := errors.AsType[*evaluate.AmbiguousError](err); ambiguous {
		out := &cli.Error{Status: cli.ExitUsage, Err: err}
		if len(e.Matches) > 0 {
			out.Hint = "Name one of them, such as " + e.Matches[0] + "."
		}
		return out
	}
	return cli.Failure(err, strings.Trim(near(err)+"\n"+f.hint(err), "\n"))
}

// ExplainSnapshot does what Explain does for a snapshot that no flag names. hint is the next step after an error
// without another hint.
func (f *Flags) ExplainSnapshot(path string, err error, hint string) error {
	named := *f
	named.Snapshots = []string{path}
	err = named.Explain(err)
	if e, ok := errors.AsType[*cli.Error](err); ok {
		e.Hint = cmp.Or(e.Hint, hint)
	}
	return err
}

// near asks whether the user meant a similar name. It returns "" if no name is similar.
func near(err error) string {
	if e, ok := errors.AsType[*evaluate.NotFoundError](err); ok {
		return cmp.Or(cli.Suggestion(e.Elsewhere), cli.HintIn(e.Target.Kind+"/", e.Target.Name, "", e.Known))
	}
	if e, ok := errors.AsType[*source.NotFoundError](err); ok {
		return NearObject(e)
	}
	return ""
}

// NearObject asks whether the user meant a similar name, or the same name in another namespace.
func NearObject(e *source.NotFoundError) string {
	return cmp.Or(cli.Suggestion(e.Elsewhere), cli.HintIn(e.Before, e.Word, e.After, e.Known))
}

// UnreadHint returns the next step if something could not be read, for a reason of the state Unknown.
func (f *Flags) UnreadHint(reason string) string {
	switch reason {
	case string(source.NotInSnapshot):
		return "Capture all Secrets of type helm.sh/release.v1, and those named fleet-agent, with their data."
	case string(source.Forbidden):
		return f.Commands().PrintRole + " prints a role that may read it."
	}
	return f.evaluating("audit") + " lists what could not be read (FD602, FD607)."
}

func (f *Flags) hint(err error) string {
	listing := f.listing(err)
	unread, noResult := errors.AsType[*evaluate.NoResultError](err)
	e, notFound := errors.AsType[*source.NotFoundError](err)
	undesired := notFound && e.Undesired
	switch {
	case notFound && len(e.DesiredBy) > 0:
		return f.Command("audit bundledeployment/"+strings.TrimPrefix(e.DesiredBy[0], "/")) +
			" shows the state of all its objects."
	case undesired && e.After != "":
		return fmt.Sprintf("%q is not a kind here: write KIND/NAME for each object, or only one NAME without a kind.",
			e.Word)
	case undesired && e.Unread == "":
		return f.Command("owner KIND/NAME") + " shows the owner of an object that no bundle desires."
	case noResult && strings.Contains(unread.Detail, source.NotCaptured.Detail):
		return "A snapshot has the fields of the objects that a bundle desired when it was taken. For others, read " +
			"the cluster."
	case noResult:
		return f.UnreadHint(unread.Reason)
	case errors.Is(err, engine.ErrScopeContradicted):
		return "Leave out --agent-scope: the scope of the running agent is used."
	case errors.Is(err, engine.ErrScopeAmbiguous):
		return "Leave out --agent-scope, and start the agents that do not run: each running agent shows its scope."
	case errors.Is(err, evaluate.ErrNothingInScope):
		return f.Command("why KIND/NAME") + " shows why an object of Fleet has none. " + f.Command("audit") +
			" -o wide lists all bundle deployments."
	case f.Captured() && listing != "":
		return f.Command("audit") + " -o wide lists what the snapshot has."
	case f.Captured() && errors.Is(err, collect.ErrNoFleet):
		return "Name a snapshot of a cluster that Fleet deploys to, with Fleet's objects or the Secrets of its " +
			"releases."
	case f.Captured() && errors.Is(err, collect.ErrNothingRead):
		return "Capture it again: " + program + " snapshot writes what an audit reads."
	case f.Captured():
		return ""
	case errors.Is(err, collect.ErrNoFleet):
		return "Check the context (kubectl config current-context), or name a snapshot of a cluster that Fleet " +
			"deploys to."
	case errors.Is(err, collect.ErrNothingRead):
		return f.Commands().PrintRole + " prints a role that may read what an audit reads."
	case listing != "":
		return listing + " lists what exists on this cluster (kubectl config current-context shows which one it is)."
	}
	return "Is this the right cluster? kubectl config current-context shows it; --context and --kubeconfig select " +
		"another."
}

// listing is the command that lists the targets of a kind, "" if the error is not about a target.
func (f *Flags) listing(err error) string {
	none, ok := errors.AsType[*evaluate.NotFoundError](err)
	if !ok {
		return ""
	}
	_, resource := evaluate.TargetKind(none.Target.Kind)
	return f.Commands().Kubectl + " get " + resource + " -A"
}

// program is how a command for users begins. It does not depend on how this process was called, so that a report is the
// same everywhere.
const program = "kubectl fleetdoctor"

// Command returns the beginning of a command line of this program that reads the same source: "kubectl fleetdoctor
// adopt --context prod". It has no token and no password.
func (f *Flags) Command(name string) string {
	command := program + " " + name
	for _, s := range f.Snapshots {
		command += " --snapshot " + escape.Shell(repeatable(s))
	}
	connect, _ := f.connectArgs()
	return command + connect
}

// evaluating returns the beginning of a command line, as Command does, with the same agent scope.
func (f *Flags) evaluating(name string) string {
	command := f.Command(name)
	if f.Changed(agentScopeFlag) {
		command += " --" + agentScopeFlag + "=" + escape.Shell(f.agentScope)
	}
	return command
}

// savedInput is the placeholder for a file with the data of a pipe.
const savedInput = "SAVED-INPUT"

// repeatable is the path of a snapshot for a command that can be repeated. A pipe cannot be read again: the user has to
// save its data to a file.
func repeatable(snapshot string) string {
	if snapshot == "-" || snapshot == "/dev/stdin" || strings.HasPrefix(snapshot, "/dev/fd/") {
		return savedInput
	}
	return snapshot
}

// capturedCluster is the placeholder for the context of a captured cluster. Every shell refuses a command with it: the
// file name between "<" and "|" is missing. A placeholder such as <CONTEXT> would be two redirections.
const capturedCluster = "<|captured cluster|>"

// Commands returns the commands that findings suggest. Those of this program read the same source when they are copied
// into a shell. For a snapshot, those of kubectl and Helm need the context of the captured cluster: without it, they
// would act on the current cluster of the reader.
func (f *Flags) Commands() remedy.Commands {
	kubectl, helm := f.connectArgs()
	if f.Captured() && *f.Config.Context == "" {
		kubectl, helm = " --context="+capturedCluster+kubectl, " --kube-context="+capturedCluster+helm
	}
	return remedy.Commands{Audit: f.evaluating("audit"), PrintRole: f.Command("audit") + " --print-rbac",
		Adopt: f.evaluating("adopt"), Repair: f.evaluating("repair"),
		Owner:     f.Command("owner"),
		Preflight: f.evaluating("preflight"), Targets: f.Command("targets"), Why: f.Command("why"), Kubectl: "kubectl" +
			kubectl, Helm: "helm" + helm}
}

// InWorkspace returns the commands for a workspace: the role is then one for this namespace. An empty workspace
// changes nothing.
func InWorkspace(c remedy.Commands, workspace string) remedy.Commands {
	if workspace != "" {
		c.PrintRole += " -n " + escape.Shell(workspace)
	}
	return c
}

// connectArgs are the flags that configure the connection to the cluster, for kubectl and for Helm.
func (f *Flags) connectArgs() (kubectl, helm string) {
	for _, flag := range []struct {
		value      *string
		name, helm string
	}{
		{f.Config.KubeConfig, "--kubeconfig", "--kubeconfig"},
		{f.Config.Context, "--context", "--kube-context"},
		{f.Config.APIServer, "--server", "--kube-apiserver"},
		{f.Config.ClusterName, "--cluster", ""},
		{f.Config.AuthInfoName, "--user", ""},
		{f.Config.Impersonate, "--as", "--kube-as-user"},
	} {
		if flag.value == nil || *flag.value == "" {
			continue
		}
		// A string that is not an address can contain a user, a password or a token too.
		if flag.value == f.Config.APIServer && escape.Address(*flag.value) != *flag.value {
			continue
		}
		value := " " + escape.Shell(*flag.value)
		kubectl += " " + flag.name + value
		if flag.helm != "" {
			helm += " " + flag.helm + value
		}
	}
	return kubectl, helm
}

// Flags mirror the flags that name the source. Make them with New.
type Flags struct {
	cli.Environment
	// Config has kubectl's own flags.
	Config *genericclioptions.ConfigFlags
	// Snapshots are the paths of captured clusters; without any, a live cluster is read.
	Snapshots []string
	// NoProgress omits the progress line.
	NoProgress bool
	// Changed reports whether a flag of the verb is on the command line.
	Changed func(flag string) bool

	agentScope string
}

// New returns the flags of a verb that may read a cluster or a snapshot.
func New(env cli.Environment) *Flags {
	config := genericclioptions.NewConfigFlags(true)
	config.CacheDir = nil // a cached discovery may be outdated
	return &Flags{Environment: env, Config: config, Changed: func(string) bool { return false }}
}

// AddFlags adds the flags that name a cluster or a snapshot, and --namespace with the verb's own usage.
func (f *Flags) AddFlags(fs *pflag.FlagSet, namespaceUsage string) {
	f.Changed = fs.Changed
	f.Config.AddFlags(fs)
	if namespace := fs.Lookup("namespace"); namespace != nil { // a verb may leave it out
		namespace.Usage = namespaceUsage
	}
	fs.StringArrayVar(&f.Snapshots, "snapshot", nil, "Read a snapshot instead of the cluster: a folder, file, "+
		".tar, .tgz or .zip, or - for standard input. May be repeated. "+
		"--context then only names its cluster in the commands that are suggested")
}

// ConnectionFlags returns new flags of kubectl for the connection to a cluster: those of every verb with a cluster.
func ConnectionFlags() *pflag.FlagSet {
	config := genericclioptions.NewConfigFlags(true)
	config.CacheDir, config.Namespace = nil, nil
	fs := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	config.AddFlags(fs)
	return fs
}

// Connects reports whether a flag of a verb is one of the ConnectionFlags. --cluster of some verbs is not: it names a
// cluster to read in addition.
func Connects(connection *pflag.FlagSet, flag *pflag.Flag) bool {
	kubectls := connection.Lookup(flag.Name)
	return kubectls != nil && kubectls.Value.Type() == flag.Value.Type()
}

const agentScopeFlag = "agent-scope"

// AgentScope parses --agent-scope; nil if it is not given.
func (f *Flags) AgentScope() (*string, error) {
	if !f.Changed(agentScopeFlag) {
		return nil, nil
	}
	if wrong := validation.IsDNS1123Label(f.agentScope); f.agentScope != "" && len(wrong) > 0 {
		return nil, fmt.Errorf("parsing --%s %q: %s", agentScopeFlag, f.agentScope, strings.Join(wrong, "; "))
	}
	return &f.agentScope, nil
}

// Captured reports whether a snapshot is read instead of a cluster.
func (f *Flags) Captured() bool { return len(f.Snapshots) > 0 }
