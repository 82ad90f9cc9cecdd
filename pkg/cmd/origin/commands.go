// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"errors"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"al.essio.dev/pkg/shellescape"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Command begins a command line of this program's that leads to the same source: "kubectl fleetdoctor adopt --context prod". A token or
// password is no part of it.
func (f *Flags) Command(verb string) string {
	command := f.Name + " " + verb
	for _, s := range f.Snapshots {
		command += " --snapshot " + shellescape.Quote(kept(s))
	}
	ours, _ := f.reaching()
	return command + ours
}

// evaluating begins a command line, as Command does, that evaluates with the same agent scope.
func (f *Flags) evaluating(verb string) string {
	command := f.Command(verb)
	if f.given.Changed(agentScopeFlag) {
		command += " --" + agentScopeFlag + "=" + shellescape.Quote(f.agentScope)
	}
	return command
}

// savedInput stands for the file to which a user has saved what was piped.
const savedInput = "SAVED-INPUT"

// kept is the path of a snapshot in a command that can be repeated. What came from a pipe cannot be read again: a placeholder stands for the
// file that it has to be saved to.
func kept(snapshot string) string {
	if snapshot == "-" || snapshot == "/dev/stdin" || strings.HasPrefix(snapshot, "/dev/fd/") {
		return savedInput
	}
	return snapshot
}

// Commands lead to the same source, and to the same cluster, when they are copied into a shell.
func (f *Flags) Commands() check.Commands {
	kubectl, helm := f.reaching()
	return check.Commands{Audit: f.evaluating("audit"), PrintRole: f.Command("audit") + " --print-rbac", Adopt: f.evaluating("adopt"),
		Preflight: f.evaluating("preflight"), Kubectl: "kubectl" + kubectl, Helm: "helm" + helm}
}

// reaching repeats the flags that say how to reach the cluster, in kubectl's words and in Helm's.
func (f *Flags) reaching() (kubectl, helm string) {
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
		if *flag.value == "" || flag.value == f.Config.APIServer && signsIn(*flag.value) {
			continue
		}
		value := " " + shellescape.Quote(*flag.value)
		kubectl += " " + flag.name + value
		if flag.helm != "" {
			helm += " " + flag.helm + value
		}
	}
	return kubectl, helm
}

// signsIn says whether an address has more than a server in it, as a user, a password or a token. What is no address may have anything.
func signsIn(server string) bool { return escape.Address(server) != server }

// Explain adds to an error of the engine what the user can do about it. An error that has a status already is left as it is.
func (f *Flags) Explain(err error) error {
	var explained *exit.Error
	if err == nil || errors.As(err, &explained) {
		return err
	}
	return &exit.Error{Status: exit.Failed, Err: err, Hint: f.hint(err)}
}

// UnreadHint is what to do where something could not be read, for a reason of the state Unknown.
func (f *Flags) UnreadHint(reason string) string {
	switch reason {
	case string(source.NotInSnapshot):
		return "Capture the Secrets of type helm.sh/release.v1, and those named fleet-agent, of the cluster, all of them whole."
	case string(source.Forbidden):
		return f.Commands().PrintRole + " prints a role that may read it."
	}
	return f.evaluating("audit") + " names what could not be read (FD602, FD607)."
}

func (f *Flags) hint(err error) string {
	listing := f.listing(err)
	var unread *evaluate.NoResultError
	switch {
	case errors.As(err, &unread):
		return f.UnreadHint(unread.Reason)
	case errors.Is(err, engine.ErrScopeContradicted):
		return "Leave out --agent-scope: the scope of the running agent is used."
	case errors.Is(err, engine.ErrScopeAmbiguous):
		return "Leave out --agent-scope, and let the agents run that do not: then each shows its own scope."
	case errors.Is(err, evaluate.ErrNothingInScope):
		return f.Command("audit") + " -o wide lists all bundle deployments."
	case f.Captured() && listing != "":
		return f.Command("audit") + " -o wide lists what there is."
	case f.Captured() && errors.Is(err, engine.ErrNoFleet):
		return "Name a snapshot of a cluster that Fleet deploys to, with Fleet's objects or the Secrets of its releases in it."
	case f.Captured():
		return ""
	case errors.Is(err, engine.ErrNoFleet):
		return "Check the context (kubectl config current-context), or name a snapshot of a cluster that Fleet deploys to."
	case errors.Is(err, engine.ErrNothingRead):
		return f.Commands().PrintRole + " prints a role that may read what an audit reads."
	case listing != "":
		return listing + " lists what there is, if this is the cluster that was meant (kubectl config current-context names it)."
	}
	return "Is this the cluster that was meant? kubectl config current-context names it; --context and --kubeconfig choose another."
}

// listing is the command that lists what a target might have been, "" where the error is about no target.
func (f *Flags) listing(err error) string {
	var none *evaluate.NotFoundError
	if !errors.As(err, &none) {
		return ""
	}
	names := evaluate.TargetKinds()[none.Target.Kind]
	resource := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, ".") })
	return f.Commands().Kubectl + " get " + names[resource] + " -A"
}
