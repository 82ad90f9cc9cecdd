// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Own returns the causes that concern an object of Fleet as a whole, beside those of its bundle deployments.
func (c *Causes) Own(o v1alpha1.Object) []Cause {
	if facts.Deleting(o) {
		return []Cause{notReady(c.inDeletion(o))}
	}
	switch o := o.(type) {
	case *v1alpha1.Bundle:
		if own := c.Stopped(o); len(own) > 0 {
			return own
		}
		return c.ofRepo(o)
	case *v1alpha1.GitRepo:
		return c.repo(o, c.gitRepo(o))
	case *v1alpha1.HelmOp:
		return c.repo(o, c.refused(o))
	case *v1alpha1.Cluster:
		return c.cluster(o)
	}
	return c.refused(o)
}

func (c *Causes) inDeletion(o v1alpha1.Object) Step {
	ref := facts.RefTo(o)
	s := Step{Kind: StepDeleting, Object: ref, Since: o.GetDeletionTimestamp().Time,
		Findings: []Origin{{Code: codes.StuckDeletion, Object: ref}}}
	s.Message, s.Evidence = c.stuckBy(ref.Kind, facts.Key(o))
	return s
}

// Stopped returns why the controller updates no cluster of a Bundle; none if it does.
func (c *Causes) Stopped(b *v1alpha1.Bundle) []Cause {
	if steps, stopped := c.stop(b); stopped && !facts.Deleting(b) {
		return []Cause{notReady(steps...)}
	}
	return nil
}

// ofRepo returns why no change of a Bundle arrives from its GitRepo or HelmOp. What is deployed can be ready all the
// same.
func (c *Causes) ofRepo(b *v1alpha1.Bundle) []Cause {
	repo, ok := facts.RepoOf(b)
	o := c.in.Facts.Object(repo)
	switch {
	case !ok:
		return c.nowhere(b)
	case o == nil:
		return nil
	}
	s := Step{Kind: StepOutdated, Object: facts.RefTo(b), Message: "a later change, if there is one, is not " +
		"deployed"}
	if facts.Deleting(o) {
		return []Cause{notReady(s, c.inDeletion(o))}
	}
	for _, of := range c.refused(o) {
		return []Cause{notReady(append([]Step{s}, of.Steps...)...)}
	}
	return c.nowhere(o)
}

// nowhere returns why nothing of a GitRepo, a HelmOp or a Bundle is deployed to a cluster; none for any other.
func (c *Causes) nowhere(o v1alpha1.Object) []Cause {
	if f, ok := c.in.DeployedNowhere(o); ok {
		return []Cause{notReady(quote(StepNowhere, f))}
	}
	return nil
}

// refused returns why a controller refuses or ignores an object; none for any other.
func (c *Causes) refused(o v1alpha1.Object) []Cause {
	if f, ok := c.in.NotProcessed(o); ok {
		return []Cause{notReady(quote(StepNotProcessed, f))}
	}
	return nil
}

// repo completes the causes of a GitRepo or HelmOp: without any, it may have no Bundle.
func (c *Causes) repo(o v1alpha1.Object, own []Cause) []Cause {
	r := facts.RefTo(o)
	if len(own) == 0 {
		own = c.nowhere(o)
	}
	if len(own) > 0 || len(c.in.Facts.BundlesOf(r)) > 0 || !c.in.Facts.Read(state.Bundle, r.Namespace) {
		return own
	}
	return []Cause{notReady(Step{Kind: StepNoBundles, Object: r, Message: "it has no Bundle"})}
}

func (c *Causes) gitRepo(g *v1alpha1.GitRepo) []Cause {
	out := c.refused(g)
	s := Step{Kind: StepGitJob, Object: facts.RefTo(g), AsOf: g.Reported().AsOf,
		Message: "the Job for commit " + g.Status.Commit + " is in progress"}
	if g.Status.GitJobStatus == facts.JobInProgress {
		out = append(out, notReady(s))
	}
	for _, f := range c.in.NotFollowed(g) {
		out = append(out, notReady(quote(StepNotFollowed, f)))
	}
	if len(out) == 0 && len(c.in.Facts.BundlesOf(s.Object)) > 0 && c.in.awaitsBundles(g) {
		s.Message = "its Bundles do not have commit " + g.Status.Commit + " yet"
		out = append(out, notReady(s))
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
	a, known := c.in.Facts.AgentOf(of.Status.Namespace)
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
	s.Next = c.in.list("bundles", r.Namespace)
	for _, b := range c.in.Facts.BundlesOf(r) {
		s.Findings = append(s.Findings, Origin{Code: codes.NoRepo, Object: facts.RefTo(b)})
	}
	return notReady(s)
}

// Hidden returns the cause of a state that is unknown because an object may have bundle deployments that were not read;
// failure says which kind that is, and why.
func (c *Causes) Hidden(r object.Ref, failure string) Cause {
	return unknown(Step{Kind: StepUnread, Object: r, Message: failure, Next: only(c.in.Steps.ShowRole())})
}
