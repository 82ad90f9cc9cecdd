// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Member is a bundle on a cluster, with why it is not ready there. It is a part of a Subject.
type Member struct {
	Bundle, Cluster string // "namespace/name"
	// Of is its bundle deployment; nil if it should have one.
	Deployment *directory.Deployment
	Cause
}

// Subject is an object of Fleet with why it is not ready: what concerns it as a whole, and its members.
type Subject struct {
	Own     []Cause
	Members []Member
}

// Subject returns what decides whether an object of Fleet is ready. The verbs audit and why both ask it.
func (c *Causes) Subject(o v1alpha1.Object) Subject {
	if d := c.Deployment(facts.Key(o)); d != nil && facts.RefTo(o).Kind == state.BundleDeployment {
		return Subject{Members: []Member{c.Alone(d)}}
	}
	out := Subject{Own: c.Own(o)}
	switch o := o.(type) {
	case *v1alpha1.Bundle:
		out.Members = c.ofBundle(o)
	case *v1alpha1.GitRepo, *v1alpha1.HelmOp:
		var stopped []Cause
		out.Members, stopped = c.membersOfRepo(o)
		if !facts.Deleting(o) {
			out.Own = append(out.Own, stopped...)
		}
	case *v1alpha1.Cluster:
		out.Members = c.onCluster(o)
	}
	return out
}

// Alone explains a bundle deployment by what is deployed.
func (c *Causes) Alone(d *directory.Deployment) Member {
	return Member{d.Bundle, d.Cluster, d, c.Of(d)}
}

// Member explains a bundle deployment, also by a newer deployment that the rollout does not reach.
func (c *Causes) Member(d *directory.Deployment) Member {
	out := c.Alone(d)
	if out.State == evaluate.Ready {
		if held, ok := c.NotReached(d); ok {
			out.Cause = held
		}
	}
	return out
}

func (c *Causes) ofBundle(b *v1alpha1.Bundle) []Member {
	var out []Member
	for _, d := range c.byBundle[facts.Key(b)] {
		out = append(out, c.Member(d))
	}
	for r := range c.in.Facts.Targets(b).Results() {
		out = append(out, c.missing(b, r)...)
	}
	return out
}

// missing returns the member for a target that should exist; none if it does.
func (c *Causes) missing(b *v1alpha1.Bundle, r targeting.Result) []Member {
	cluster := r.Cluster
	deleting := cluster.DeletionTimestamp != nil || b.DeletionTimestamp != nil
	if selected := r.Outcome == targeting.Expected || r.Outcome == targeting.Blocked; deleting || !selected {
		return nil
	}
	if ns := cluster.Status.Namespace; ns != "" && c.in.Facts.BundleDeployment(ns+"/"+b.Name) != nil {
		return nil
	}
	return []Member{{facts.Key(b), cluster.Key(), nil, c.NotCreated(b, r)}}
}

// membersOfRepo returns the members of all bundles of a GitRepo or HelmOp, and what stops a bundle on all clusters.
func (c *Causes) membersOfRepo(o v1alpha1.Object) (list []Member, stopped []Cause) {
	r := facts.RefTo(o)
	read := map[string]bool{}
	for _, b := range c.in.Facts.BundlesOf(r) {
		read[facts.Key(b)] = true
		list, stopped = append(list, c.ofBundle(b)...), append(stopped, c.Stopped(b)...)
	}
	for _, d := range c.in.Result.Deployments {
		owner := map[string]string{state.GitRepo: d.GitRepo, state.HelmOp: d.HelmOp}[r.Kind]
		if owner == facts.Key(o) && !read[d.Bundle] {
			list = append(list, c.Member(&d.Deployment))
		}
	}
	return list, stopped
}

func (c *Causes) onCluster(cluster *v1alpha1.Cluster) []Member {
	var out []Member
	ns := cluster.Status.Namespace
	if ns == "" {
		return nil
	}
	for _, d := range c.in.Result.Desired.Directory.Deployments {
		if d.BD != nil && d.Namespace == ns {
			out = append(out, c.Member(d))
		}
	}
	for _, b := range c.in.Result.Desired.Bundles {
		if t, ok := c.in.Facts.Targets(b).On(cluster.Namespace, cluster.Name); ok {
			out = append(out, c.missing(b, t)...)
		}
	}
	return out
}

// Unexplained returns a finding for each reason why an object that the scope names is not ready, if no finding says it:
// what needs some time is no finding for a whole cluster, but what a user asks for is not ready before it has ended.
func (c *Causes) Unexplained(findings []Finding) []Finding {
	var out []Finding
	for _, k := range state.Subjects {
		for _, o := range k.List(c.in.Result.Desired.Fleet) {
			if !c.in.Result.Scope.Asks(k.Name, o) {
				continue
			}
			s := c.Subject(o)
			for _, m := range s.Members {
				s.Own = append(s.Own, m.Cause)
			}
			for _, cause := range s.Own {
				if cause.State == evaluate.NotReady && !explained(findings, cause) && !explained(out, cause) {
					out = append(out, c.unsaid(cause, findings))
				}
			}
		}
	}
	return out
}

// explained reports whether a finding that is more than information says why something is not ready: it is about one of
// the steps.
func explained(findings []Finding, cause Cause) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Severity != Info && slices.ContainsFunc(cause.Steps, func(s Step) bool { return f.says(&s) })
	})
}

// says reports whether a finding is about a step. Findings about numbers and about what a bundle states are not.
func (f *Finding) says(s *Step) bool {
	about := f.Object == s.Object || s.Deployment != nil && f.BundleDeployment == s.Deployment.Key()
	other := codes.Is(f.Code, codes.AboutTotals) || codes.Is(f.Code, codes.AboutSpec)
	return about && (f.Code == s.Quoted || !other)
}

// unsaid returns the finding with the reason why an object is not ready: that which the root quotes, if it has one.
func (c *Causes) unsaid(cause Cause, findings []Finding) Finding {
	root := cause.Root()
	f := Finding{Object: root.Object, Cluster: root.Cluster, Message: root.Message + root.Said, AsOf: root.AsOf,
		Evidence: root.Evidence, Remedies: root.Next}
	if root.Deployment != nil {
		f.BundleDeployment = root.Deployment.Key()
	}
	if root.Quoted != "" {
		if quoted := c.in.as(f, root.Quoted); quoted.Severity != Info {
			return quoted
		}
	}
	for _, known := range findings { // information
		if slices.ContainsFunc(root.Findings, known.Is) {
			f.Message, f.Evidence, f.Remedies = known.Message, known.Evidence, known.Remedies
		}
	}
	if len(f.Remedies) == 0 {
		f.Remedies = only(c.in.Steps.Commands.Describe(f.Object))
	}
	f.Message = root.nameOf() + " is not ready: " + f.Message
	if cause.Steps[0].Object != root.Object {
		f.Evidence = append([]string{cause.Steps[0].nameOf() + ": " + cause.Steps[0].Message}, f.Evidence...)
	}
	return c.in.as(f, codes.ReportedNotReady)
}

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
	if steps := c.stop(b); len(steps) > 0 && !facts.Deleting(b) {
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
	for _, cause := range c.refused(o) {
		return []Cause{notReady(append([]Step{s}, cause.Steps...)...)}
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

func (c *Causes) cluster(x *v1alpha1.Cluster) []Cause {
	s := Step{Object: facts.RefTo(x), Cluster: facts.Key(x)}
	if x.Status.Namespace == "" {
		s.Kind, s.Message = StepNoNamespace, "it has no namespace for BundleDeployments yet"
		return []Cause{notReady(c.because(s.Object, s)...)}
	}
	if own := c.refused(x); len(own) > 0 {
		return own
	}
	a, known := c.in.Facts.AgentOf(x.Status.Namespace)
	s.Kind, s.Message = StepAgent, "its agent has not reported"
	switch {
	case known && facts.IsSilent(a):
		s.Since = a.Heartbeat.LastSeen
	case known && a.Heartbeat.State == agentconfig.Never && x.Status.Display.State == waitCheckIn:
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
