// SPDX-License-Identifier: Apache-2.0

package why

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// explained explains a bundle deployment by what is deployed.
func (x *explainer) explained(d *directory.Deployment) member {
	of := x.causes.Of(d)
	if f, ok := first(x.findings[d.Key()], "FD201", "FD612"); ok && of.Note != "" {
		of.Note = f.Message // it says more about the same
	}
	return member{whyDeployment(d), of}
}

// whyDeployment names a bundle deployment in a report.
func whyDeployment(d *directory.Deployment) report.WhyDeployment {
	return report.WhyDeployment{Bundle: d.Bundle, Cluster: d.Cluster, BundleDeployment: d.Key()}
}

// first returns the first finding with one of some codes.
func first(findings []check.Finding, codes ...string) (check.Finding, bool) {
	i := slices.IndexFunc(findings, func(f check.Finding) bool { return slices.Contains(codes, f.Code) })
	if i < 0 {
		return check.Finding{}, false
	}
	return findings[i], true
}

// member explains a bundle deployment, also by a newer deployment that the rollout does not reach.
func (x *explainer) member(d *directory.Deployment) member {
	out := x.explained(d)
	if out.State == evaluate.Ready {
		if held, ok := x.causes.NotReached(d); ok {
			out.Cause = held
		}
	}
	return out
}

// object explains one object of Fleet.
func (x *explainer) object(kind string, o v1alpha1.Object) report.WhyObject {
	var list []member
	var notes []string
	own := x.causes.Own(o)
	switch o := o.(type) {
	case *v1alpha1.BundleDeployment:
		return x.alone(x.causes.Deployment(facts.Key(o)))
	case *v1alpha1.Bundle:
		list, notes = x.bundle(o), x.notesOfRepo(o)
	case *v1alpha1.GitRepo, *v1alpha1.HelmOp:
		var stopped []check.Cause
		list, stopped = x.repo(o)
		if !facts.Deleting(o) {
			own = append(own, stopped...)
		}
		if g, ok := o.(*v1alpha1.GitRepo); ok && g.Spec.Paused {
			notes = append(notes, "the GitRepo is paused")
		}
	case *v1alpha1.Cluster:
		list = x.cluster(o)
	}
	r := facts.Ref(kind, o.GetNamespace(), o.GetName())
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
	m := x.explained(d)
	if held, ok := x.causes.NotReached(d); ok && m.State == evaluate.Ready {
		m.Note = "a newer deployment of the bundle is not rolled out to it: " + held.Steps[0].Message
	}
	out := x.combine(facts.Ref(state.BundleDeployment, d.Namespace, d.Name), []member{m}, nil)
	if d.BD != nil {
		out.Reported = report.NewReported(d.BD.Reported())
	}
	return out
}

// bundle returns the deployments of a Bundle.
func (x *explainer) bundle(b *v1alpha1.Bundle) []member {
	var out []member
	for _, d := range x.ofBundle[facts.Key(b)] {
		out = append(out, x.member(d))
	}
	for r := range x.in.Targets(b).Results() {
		out = append(out, x.missing(b, r)...)
	}
	return out
}

// missing returns the deployment for a target that should exist; none if it does.
func (x *explainer) missing(b *v1alpha1.Bundle, r targeting.Result) []member {
	c := r.Cluster
	deleting := c.DeletionTimestamp != nil || b.DeletionTimestamp != nil
	if selected := r.Outcome == targeting.Expected || r.Outcome == targeting.Blocked; deleting || !selected {
		return nil
	}
	if ns := c.Status.Namespace; ns != "" && x.in.BundleDeployment(ns+"/"+b.Name) != nil {
		return nil
	}
	return []member{{report.WhyDeployment{Bundle: facts.Key(b), Cluster: c.Key()}, x.causes.NotCreated(b, r)}}
}

// repo returns the deployments of all bundles of a GitRepo or HelmOp, and what stops a bundle on all of its clusters.
func (x *explainer) repo(o v1alpha1.Object) (list []member, stopped []check.Cause) {
	r := facts.RefTo(o)
	read := map[string]bool{}
	for _, b := range x.in.BundlesOf(r) {
		read[facts.Key(b)] = true
		list = append(list, x.bundle(b)...)
		stopped = append(stopped, x.causes.Stopped(b)...)
	}
	for _, d := range x.in.Deployments {
		of := map[string]string{state.GitRepo: d.GitRepo, state.HelmOp: d.HelmOp}[r.Kind]
		if of == facts.Key(o) && !read[d.Bundle] {
			list = append(list, x.member(&d.Deployment))
		}
	}
	return list, stopped
}

// notesOfRepo says that the GitRepo or HelmOp of a Bundle does not exist. The Bundle can be ready all the same.
func (x *explainer) notesOfRepo(b *v1alpha1.Bundle) []string {
	repo, ok := facts.RepoOf(b)
	if !ok {
		return nil
	}
	if x.in.Object(repo) == nil && x.in.Desired.Read(repo.Kind, repo.Namespace) {
		return []string{"its " + repo.Kind + " " + repo.Namespace + "/" + repo.Name + " does not exist (FD304)"}
	}
	return nil
}

// cluster returns the deployments on a Cluster.
func (x *explainer) cluster(c *v1alpha1.Cluster) []member {
	var out []member
	ns := c.Status.Namespace
	if ns == "" {
		return nil
	}
	for _, d := range x.in.Desired.Directory.Deployments {
		if d.BD != nil && d.Namespace == ns {
			out = append(out, x.member(d))
		}
	}
	for _, b := range x.in.Desired.Bundles {
		if t, ok := x.in.Targets(b).On(c.Namespace, c.Name); ok {
			out = append(out, x.missing(b, t)...)
		}
	}
	return out
}

// deployed explains a deployed object by the bundle deployments that desire it, and by those of the same bundles whose
// objects were not read.
func (x *explainer) deployed(r object.Ref) report.WhyObject {
	var list []member
	bundles, explained := map[string]bool{}, map[object.DeploymentID]bool{}
	for _, e := range x.in.Deployments {
		i := slices.IndexFunc(e.Objects, func(o evaluate.Object) bool { return o.Key() == r.Key() })
		if i < 0 || x.onlyClaimed(e, &e.Objects[i]) {
			continue
		}
		m := x.explained(&e.Deployment)
		m.Cause = x.causes.OfObject(e, &e.Objects[i], m.Cause)
		list, bundles[e.Bundle], explained[e.ID()] = append(list, m), true, true
	}
	delete(bundles, "") // only releases are known
	for _, d := range x.in.Desired.Directory.Deployments {
		if !bundles[d.Bundle] || d.Problem == "" || explained[d.ID()] {
			continue
		}
		list = append(list, member{whyDeployment(d), x.causes.NotRead(d)})
	}
	return x.combine(r, list, nil)
}

// onlyClaimed reports whether nothing confirms the release record that desires an object, and another bundle desires
// it.
func (x *explainer) onlyClaimed(e *evaluate.BundleDeployment, o *evaluate.Object) bool {
	return o.Reason == evaluate.Unconfirmed && len(x.in.Desired.On(e.On).Confirmed(o.Key())) > 0
}
