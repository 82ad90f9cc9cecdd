// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// member is a bundle on a cluster, with or without a BundleDeployment.
type member struct {
	report.WhyDeployment
	verdict
}

// whyDeployment names a bundle deployment in a report.
func whyDeployment(d *directory.Deployment) report.WhyDeployment {
	return report.WhyDeployment{Bundle: d.Bundle, Cluster: d.Cluster, BundleDeployment: d.Key()}
}

// explained explains a bundle deployment by what is deployed.
func (x *explainer) explained(d *directory.Deployment) member {
	return member{whyDeployment(d),
		x.deployment(d, path{})}
}

// member explains a bundle deployment, also by a newer deployment that the rollout does not reach.
func (x *explainer) member(d *directory.Deployment) member {
	out := x.explained(d)
	if out.state == report.Ready {
		if v, held := x.notReached(d); held {
			out.verdict = v
		}
	}
	return out
}

// object explains one object of Fleet.
func (x *explainer) object(kind string, o v1alpha1.Object) report.WhyObject {
	var list []member
	var own []verdict
	var notes []string
	switch o := o.(type) {
	case *v1alpha1.BundleDeployment:
		return x.alone(x.byKey[o.Namespace+"/"+o.Name])
	case *v1alpha1.Bundle:
		list, own = x.bundle(o)
		notes = x.notesOfRepo(o)
	case *v1alpha1.GitRepo:
		list, own = x.repo(o.Namespace, o.Name, fleet.RepoLabel)
		own = slices.Concat(x.gitRepo(o, len(list)), own)
		if o.Spec.Paused {
			notes = append(notes, "the GitRepo is paused")
		}
	case *v1alpha1.HelmOp:
		list, own = x.repo(o.Namespace, o.Name, fleet.HelmOpLabel)
		own = slices.Concat(x.notProcessed(o), own)
		if len(list) == 0 && len(own) == 0 {
			own = x.noBundles(facts.Ref(kind, o.Namespace, o.Name))
		}
	case *v1alpha1.Cluster:
		list, own = x.cluster(o)
	case *v1alpha1.ClusterGroup:
		own = x.notProcessed(o)
	}
	r := facts.Ref(kind, o.GetNamespace(), o.GetName())
	if at := o.GetDeletionTimestamp(); at != nil {
		s := report.WhyStep{Kind: Deleting, Object: r, Name: r.Name, Since: report.Time(at.Time)}
		s.Message, s.Evidence = x.stuck(kind, r.Namespace+"/"+r.Name)
		own = []verdict{notReady(x.inspect(r), nil, s)}
	}
	out := x.combine(r, list, own)
	out.Reported = report.NewReported(o.Reported())
	out.Notes = append(out.Notes, notes...)
	for _, f := range x.others[r] {
		if f.Cause != "" || f.Code == "FD209" || f.Code == "FD305" {
			out.Notes = append(out.Notes, f.Message)
		}
	}
	return out
}

// alone explains one bundle deployment.
func (x *explainer) alone(d *directory.Deployment) report.WhyObject {
	r := facts.Ref(state.BundleDeployment, d.Namespace, d.Name)
	m := x.explained(d)
	if v, held := x.notReached(d); held && m.state == report.Ready {
		m.note = "a newer deployment of the bundle is not rolled out to it: " + v.steps[0].Message
	}
	out := x.combine(r, []member{m}, nil)
	if d.BD != nil {
		out.Reported = report.NewReported(d.BD.Reported())
	}
	return out
}

// bundle returns the deployments of a Bundle, and what concerns the Bundle as a whole.
func (x *explainer) bundle(b *v1alpha1.Bundle) (list []member, own []verdict) {
	if v, stopped := x.stop(b); stopped {
		own = append(own, v)
	}
	for _, d := range x.ofBundle[b.Namespace+"/"+b.Name] {
		list = append(list, x.member(d))
	}
	for r := range x.in.Targets(b).Results() {
		if m, missing := x.missing(b, r); missing {
			list = append(list, m)
		}
	}
	return list, own
}

// missing returns the deployment for a target, if it does not exist.
func (x *explainer) missing(b *v1alpha1.Bundle, r targeting.Result) (m member, missing bool) {
	c := r.Cluster
	deleting := c.DeletionTimestamp != nil || b.DeletionTimestamp != nil
	if selected := r.Outcome == targeting.Expected || r.Outcome == targeting.Blocked; deleting || !selected {
		return member{}, false
	}
	if ns := c.Status.Namespace; ns != "" && x.in.BundleDeployment(ns+"/"+b.Name) != nil {
		return member{}, false
	}
	return member{report.WhyDeployment{Bundle: b.Namespace + "/" + b.Name, Cluster: c.Key()},
		x.absent(b, r, path{})}, true
}

// stop returns why the controller updates no cluster of a Bundle, if that is so.
func (x *explainer) stop(b *v1alpha1.Bundle) (verdict, bool) {
	r := facts.Ref(state.Bundle, b.Namespace, b.Name)
	s := report.WhyStep{Object: r, Name: b.Name, AsOf: b.Reported().AsOf}
	if f, ok := x.in.TargetError(b); ok {
		s.Kind, s.Message, s.Cluster, s.Evidence = TargetError, f.Message, f.Cluster, f.Evidence
		return notReady(f.Remedies, codes(f), s), true
	}
	if f, ok := first(x.others[r], "FD404"); ok {
		s.Kind, s.Message, s.Evidence = BundleValues, f.Message, f.Evidence
		return notReady(f.Remedies, codes(f), s), true
	}
	if v := x.notProcessed(b); len(v) > 0 {
		return v[0], true
	}
	switch {
	case check.UnresolvedChart(b):
		s.Kind, s.Message = ChartVersion, "its chart version is not an exact version: Fleet deploys it when the "+
			"HelmOp has resolved it"
		if helmOp := b.Labels[fleet.HelmOpLabel]; helmOp != "" {
			r := facts.Ref(state.HelmOp, b.Namespace, helmOp)
			return x.because(r, s), true
		}
	case b.Status.ObservedGeneration > 0 && b.Status.ObservedGeneration < b.Generation:
		s.Kind, s.Message = BundlePending, fmt.Sprintf("the controller has processed generation %d of %d",
			b.Status.ObservedGeneration, b.Generation)
	default:
		return verdict{}, false
	}
	return notReady(x.inspect(r), nil, s), true
}

// repo returns the deployments of all bundles of a GitRepo or HelmOp, and what concerns its bundles as a whole.
func (x *explainer) repo(namespace, name, label string) (list []member, own []verdict) {
	read := map[string]bool{}
	for _, b := range x.in.Desired.Bundles {
		if b.Namespace != namespace || b.Labels[label] != name {
			continue
		}
		read[b.Namespace+"/"+b.Name] = true
		members, stopped := x.bundle(b)
		list, own = append(list, members...), append(own, stopped...)
	}
	for _, d := range x.in.Deployments {
		of := map[string]string{fleet.RepoLabel: d.GitRepo, fleet.HelmOpLabel: d.HelmOp}[label]
		if of == namespace+"/"+name && !read[d.Bundle] {
			list = append(list, x.member(&d.Deployment))
		}
	}
	return list, own
}

// notesOfRepo says that the GitRepo or HelmOp of a Bundle is not processed. The Bundle can be ready all the same.
func (x *explainer) notesOfRepo(b *v1alpha1.Bundle) []string {
	repo, ok := facts.RepoOf(b)
	if !ok {
		return nil
	}
	o := x.in.Object(repo)
	if o == nil && x.in.Desired.Read(repo.Kind, repo.Namespace) {
		return []string{"its " + repo.Kind + " " + repo.Namespace + "/" + repo.Name + " does not exist (FD304)"}
	}
	if o == nil {
		return nil
	}
	if f, refused := x.in.NotProcessed(o); refused {
		return []string{"later changes are not deployed: " + f.Message}
	}
	return nil
}

// notProcessed returns the verdict for an object that a controller refuses or ignores; none for any other.
func (x *explainer) notProcessed(o v1alpha1.Object) []verdict {
	if f, ok := x.in.NotProcessed(o); ok {
		return []verdict{byFinding(NotProcessed, f)}
	}
	return nil
}

// because returns the verdict of a step that waits for an object of Fleet, with the reason why a controller does not
// process that.
func (x *explainer) because(r object.Ref, s report.WhyStep) verdict {
	if o := x.in.Object(r); o != nil {
		if v := x.notProcessed(o); len(v) > 0 {
			return v[0].after(s)
		}
	}
	return notReady(x.inspect(r), nil, s)
}

// byFinding returns the verdict that has the cause in a finding about the object itself.
func byFinding(kind blocker.Kind, f check.Finding) verdict {
	return notReady(f.Remedies, codes(f), report.WhyStep{Kind: kind, Object: f.Object, Name: f.Object.Name,
		Cluster: f.Cluster, Message: f.Message, Evidence: f.Evidence, AsOf: f.AsOf})
}

// gitRepo returns what concerns a GitRepo itself.
func (x *explainer) gitRepo(g *v1alpha1.GitRepo, members int) []verdict {
	r := facts.RefTo(g)
	out := x.notProcessed(g)
	if g.Status.GitJobStatus == facts.JobInProgress {
		out = append(out, notReady(x.inspect(r), nil, report.WhyStep{Kind: GitJob, Object: r, Name: g.Name,
			AsOf: g.Reported().AsOf, Message: "the Job for commit " + g.Status.Commit + " is in progress"}))
	}
	for _, f := range x.in.NotFollowed(g) {
		out = append(out, byFinding(NotFollowed, f))
	}
	if len(out) == 0 && members == 0 {
		out = x.noBundles(r)
	}
	return out
}

// noBundles returns the verdict for a GitRepo or HelmOp without a Bundle; nil if it has one that reaches no cluster, or
// if that is not known.
func (x *explainer) noBundles(r object.Ref) []verdict {
	label := map[string]string{state.GitRepo: fleet.RepoLabel, state.HelmOp: fleet.HelmOpLabel}[r.Kind]
	if !x.in.Desired.Read(state.Bundle, r.Namespace) ||
		slices.ContainsFunc(x.in.Desired.Bundles, func(b *v1alpha1.Bundle) bool {
			return b.Namespace == r.Namespace && b.Labels[label] == r.Name
		}) {
		return nil
	}
	return []verdict{notReady(x.inspect(r), nil, report.WhyStep{Kind: NoBundles, Object: r, Name: r.Name,
		Message: "it has no Bundle"})}
}

// waitCheckIn is the state of a Cluster whose agent has not reported yet.
const waitCheckIn = "WaitCheckIn"

// cluster returns the deployments on a Cluster, and what concerns the Cluster itself.
func (x *explainer) cluster(c *v1alpha1.Cluster) (list []member, own []verdict) {
	r := facts.Ref(state.ClusterKind, c.Namespace, c.Name)
	s := report.WhyStep{Object: r, Name: c.Name, Cluster: c.Namespace + "/" + c.Name}
	ns := c.Status.Namespace
	if ns == "" {
		s.Kind, s.Message = NoNamespace, "it has no namespace for BundleDeployments yet"
		return nil, []verdict{x.because(r, s)}
	}
	for _, d := range x.in.Desired.Directory.Deployments {
		if d.BD != nil && d.Namespace == ns {
			list = append(list, x.member(d))
		}
	}
	for _, b := range x.in.Desired.Bundles {
		if t, ok := x.in.Targets(b).On(c.Namespace, c.Name); ok {
			if m, missing := x.missing(b, t); missing {
				list = append(list, m)
			}
		}
	}
	if own = x.notProcessed(c); len(own) > 0 {
		return list, own
	}
	a, known := x.agents[ns]
	switch {
	case known && facts.IsSilent(a):
		s.Kind, s.Since, s.Message = blocker.Agent, report.Time(a.Heartbeat.LastSeen), "its agent has not reported"
		own = append(own, notReady(only(x.in.LogsOfAgent(a)), check.OfAgent(a), s))
	case known && a.Heartbeat.State == agentconfig.Never && c.Status.Display.State == waitCheckIn:
		s.Kind, s.Message = blocker.Agent, "its agent has not reported yet"
		own = append(own, notReady(only(x.in.LogsOfAgent(a)), check.OfAgent(a), s))
	}
	return list, own
}
