// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// waitsAfter is how long a dependency may take before a bundle that waits for it is reported.
const waitsAfter = 15 * time.Minute

func (in *pass) notApplied() {
	of := blocker.New(in.Facts)
	for _, d := range in.Deployments {
		chain := of(&d.Deployment)
		if len(chain) == 0 || chain[0].Kind == blocker.Paused || chain[0].Kind == blocker.Schedule {
			continue
		}
		root := chain[len(chain)-1]
		if in.mayPass(d, chain[0], root) {
			continue
		}
		if chain[0].Kind == blocker.Rollout {
			in.heldBack(d, chain)
			continue
		}
		f := onDeployment(d, "%s is not applied: %s", d.Key(), reasonOf(root))
		if root.Of.ID() != d.ID() {
			f = onDeployment(d, "%s is not applied because of %s: %s", d.Key(), root.Of.Key(), reasonOf(root))
		}
		f.Settle, f.Pauses, f.Follows = root.Settle, root.Pauses, in.originsOfWait(d, root)
		for _, step := range chain[:len(chain)-1] {
			f.Evidence = append(f.Evidence, step.Of.Key()+": "+step.Message)
		}
		if said := in.SaidOf(root.Of, "Deployed"); root.Kind == blocker.Agent && said != "" {
			f.Evidence = append(f.Evidence, "the last status of "+root.Of.Key()+" has an error"+said)
		}
		if root.Kind == blocker.Failed {
			in.report(f, in.afterFailure(d, root)...)
			continue
		}
		if a, known := in.AgentOf(root.Of.Namespace); known && root.Kind == blocker.Agent {
			in.report(f, in.LogsOfAgent(a))
			continue
		}
		in.report(f, in.Commands.ShowCauses(&d.Deployment))
	}
}

// mayPass reports whether what a bundle deployment waits for may happen soon. step is the first one of the chain, and
// root the last.
func (in *Input) mayPass(d *evaluate.BundleDeployment, step, root blocker.Step) bool {
	if step.Kind == blocker.Dependency {
		return !in.Passed(facts.Parsed(d.BD.Reported().AsOf), waitsAfter)
	}
	if root.Kind == blocker.Agent {
		return in.mayReport(root.Of.Namespace)
	}
	bundle := in.Bundle(d.Bundle)
	if step.Kind != blocker.Rollout || root.Kind == blocker.Failed || bundle == nil {
		return false
	}
	return !in.Passed(facts.Parsed(bundle.Reported().AsOf), waitsAfter)
}

// mayReport reports whether the first agent of a cluster may still report: the Cluster is new, and has what an agent
// needs.
func (in *Input) mayReport(namespace string) bool {
	a, known := in.AgentOf(namespace)
	if !known || a.Heartbeat.State != agentconfig.Never {
		return false
	}
	c := a.Cluster
	return (c.Spec.KubeConfigSecret != "" || c.Spec.ClientID != "") && !in.LongAgo(c.CreationTimestamp.Time)
}

// heldBack reports that a rollout does not update a bundle deployment.
func (in *pass) heldBack(d *evaluate.BundleDeployment, chain []blocker.Step) {
	step := chain[0]
	f := onDeployment(d, "%s is not updated: %s", d.Key(), step.Message)
	if len(step.Clusters) > 0 {
		f.Message += ": " + facts.List(step.Clusters)
	}
	for _, s := range chain[1:] {
		f.say("%s: %s%s%s", s.Of.Cluster, s.Message, since(s.Since), s.Said)
	}
	f.Settle = in.StillStaged(d.BD)
	if step.Limit == targeting.BundleLimit {
		in.report(f, in.Release(d.Bundle, len(step.Clusters)+1))
		return
	}
	in.report(f, in.Commands.ShowCauses(&d.Deployment))
}

// reasonOf is why a bundle deployment is not applied. What Fleet or Helm said comes first.
func reasonOf(root blocker.Step) string {
	reason := root.Message + since(root.Since)
	if said, found := strings.CutPrefix(root.Said, ": "); found {
		return said + "; " + reason
	}
	return reason + root.Said
}

// afterFailure returns the ways to proceed if the agent could not install or deploy a bundle because of which d is
// not applied.
func (in *Input) afterFailure(d *evaluate.BundleDeployment, root blocker.Step) []remedy.Remedy {
	var out []remedy.Remedy
	own := root.Of.ID() == d.ID()
	if fix, ok := in.byHand(d, errorOf(root.Of)); own && ok {
		return []remedy.Remedy{fix, in.TryNow(root.Of)}
	}
	if root.Of.On != nil {
		out = append(out, in.Commands.Predict(root.Of))
	}
	if root.Refused && own { // docs/fleet-behavior.md, 1.7
		return append(out, in.RedeployBundle(d))
	}
	return append(out, in.TryNow(root.Of))
}

// originsOfWait returns the findings about the root cause for which a bundle deployment waits.
func (in *Input) originsOfWait(d *evaluate.BundleDeployment, root blocker.Step) []Origin {
	var out []Origin
	if root.Of.ID() != d.ID() {
		out = originsAt(root.Of, "FD604")
	}
	switch root.Kind {
	case blocker.Agent:
		if a, known := in.AgentOf(root.Of.Namespace); known {
			out = append(out, silentOrigins(a.Cluster)...)
		}
	case blocker.Values:
		out = append(out, originsAt(root.Of, "FD402", "FD403")...)
	case blocker.Content:
		content := facts.Ref(state.Content, "", state.ContentID(root.Of.BD))
		out = append(originsAt(root.Of, "FD601"), Origin{Code: "FD601", Object: content})
	case blocker.Record:
		out = append(out, originsAt(root.Of, "FD602")...)
	case blocker.State:
		out = append(out, notReadyOrigins(root.Of)...)
	}
	return out
}
