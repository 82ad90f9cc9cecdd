// SPDX-License-Identifier: Apache-2.0

package input

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
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
	of := *f
	of.Snapshots = []string{path}
	err = of.Explain(err)
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
	if e, ok := errors.AsType[*source.NotFoundError](err); ok && len(e.DesiredBy) > 0 {
		return f.Command("audit bundledeployment/"+strings.TrimPrefix(e.DesiredBy[0], "/")) +
			" shows the state of all its objects."
	}
	if e, ok := errors.AsType[*source.NotFoundError](err); ok && e.Undesired && e.After != "" {
		return fmt.Sprintf("%q is not a kind here: write KIND/NAME for each object, or only one NAME without a kind.",
			e.Word)
	}
	if e, ok := errors.AsType[*source.NotFoundError](err); ok && e.Undesired && e.Unread == "" {
		return f.Command("owner KIND/NAME") + " shows the owner of an object that no bundle desires."
	}
	listing := f.listing(err)
	unread, noResult := errors.AsType[*evaluate.NoResultError](err)
	switch {
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
