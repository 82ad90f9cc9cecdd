// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Own returns the causes that concern an object of Fleet as a whole, beside those of its bundle deployments.
func (c *Causes) Own(o v1alpha1.Object) []Cause {
	if facts.Deleting(o) {
		ref := facts.RefTo(o)
		s := Step{Kind: StepDeleting, Object: ref, Since: o.GetDeletionTimestamp().Time}
		s.Message, s.Evidence = c.stuckBy(ref.Kind, facts.Key(o))
		return []Cause{notReady(s)}
	}
	switch o := o.(type) {
	case *v1alpha1.Bundle:
		if steps, stopped := c.stop(o); stopped {
			return []Cause{notReady(steps...)}
		}
		return nil
	case *v1alpha1.GitRepo:
		return c.repo(o, c.gitRepo(o))
	case *v1alpha1.HelmOp:
		return c.repo(o, c.refused(o))
	case *v1alpha1.Cluster:
		return c.cluster(o)
	}
	return c.refused(o)
}

// refused returns why a controller refuses or ignores an object; none for any other.
func (c *Causes) refused(o v1alpha1.Object) []Cause {
	if f, ok := c.NotProcessed(o); ok {
		return []Cause{notReady(quote(StepNotProcessed, f))}
	}
	return nil
}

// repo completes the causes of a GitRepo or HelmOp: without any, it may have no Bundle.
func (c *Causes) repo(o v1alpha1.Object, own []Cause) []Cause {
	r := facts.RefTo(o)
	if len(own) > 0 || len(c.BundlesOf(r)) > 0 || !c.Read(state.Bundle, r.Namespace) {
		return own
	}
	return []Cause{notReady(Step{Kind: StepNoBundles, Object: r, Message: "it has no Bundle"})}
}

func (c *Causes) gitRepo(g *v1alpha1.GitRepo) []Cause {
	r := facts.RefTo(g)
	out := c.refused(g)
	if g.Status.GitJobStatus == facts.JobInProgress {
		out = append(out, notReady(Step{Kind: StepGitJob, Object: r, AsOf: g.Reported().AsOf,
			Message: "the Job for commit " + g.Status.Commit + " is in progress"}))
	}
	for _, f := range c.NotFollowed(g) {
		out = append(out, notReady(quote(StepNotFollowed, f)))
	}
	return out
}

// waitCheckIn is the state of a Cluster whose agent has not reported yet.
const waitCheckIn = "WaitCheckIn"

func (c *Causes) cluster(of *v1alpha1.Cluster) []Cause {
	s := Step{Object: facts.RefTo(of), Cluster: facts.Key(of)}
	if of.Status.Namespace == "" {
		s.Kind, s.Message = StepNoNamespace, "it has no namespace for BundleDeployments yet"
		return []Cause{notReady(c.because(s.Object, s)...)}
	}
	if own := c.refused(of); len(own) > 0 {
		return own
	}
	a, known := c.AgentOf(of.Status.Namespace)
	s.Kind, s.Message = StepAgent, "its agent has not reported"
	switch {
	case known && facts.IsSilent(a):
		s.Since = a.Heartbeat.LastSeen
	case known && a.Heartbeat.State == agentconfig.Never && of.Status.Display.State == waitCheckIn:
		s.Message = "its agent has not reported yet"
	default:
		return nil
	}
	return []Cause{notReady(c.ofAgent(a, s)...)}
}

// Gone returns the cause of a parent that does not exist, although bundle deployments name it.
func (c *Causes) Gone(r object.Ref) Cause {
	s := Step{Kind: StepGone, Object: r, Message: "it does not exist, and what it deployed is left"}
	s.Next = c.list("bundles", r.Namespace)
	for _, b := range c.BundlesOf(r) {
		s.Findings = append(s.Findings, Origin{Code: "FD304", Object: facts.RefTo(b)})
	}
	return notReady(s)
}

// Hidden returns the cause of a state that is unknown because an object may have bundle deployments that were not read;
// failure says which kind that is, and why.
func (c *Causes) Hidden(r object.Ref, failure string) Cause {
	return unknown(Step{Kind: StepUnread, Object: r, Message: failure, Next: only(c.ShowRole())})
}
