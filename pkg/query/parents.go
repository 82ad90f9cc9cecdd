// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// explained explains a bundle deployment by what is deployed.
func (x *explainer) explained(d *directory.Deployment) check.Member {
	return x.noted(x.causes.Alone(d))
}

// noted says of a member what a finding says more about the same.
func (x *explainer) noted(m check.Member) check.Member {
	if m.Of == nil || m.Note == "" {
		return m
	}
	if f, ok := first(x.findings[m.Of.Key()], codes.DeploymentCounts); ok {
		m.Note = f.Message
	}
	return m
}

// first returns the first finding with one of some codes.
func first(findings []check.Finding, codes ...string) (check.Finding, bool) {
	i := slices.IndexFunc(findings, func(f check.Finding) bool { return slices.Contains(codes, f.Code) })
	if i < 0 {
		return check.Finding{}, false
	}
	return findings[i], true
}

// object explains one object of Fleet.
func (x *explainer) object(kind string, o v1alpha1.Object) report.WhyObject {
	if bd, ok := o.(*v1alpha1.BundleDeployment); ok {
		return x.alone(x.causes.Deployment(facts.Key(bd)))
	}
	s := x.causes.Subject(o)
	for i := range s.Members {
		s.Members[i] = x.noted(s.Members[i])
	}
	r := facts.Ref(kind, o.GetNamespace(), o.GetName())
	out := x.combine(r, s.Members, s.Own)
	out.Reported = report.NewReported(o.Reported())
	switch o := o.(type) {
	case *v1alpha1.Bundle:
		out.Notes = append(out.Notes, x.notesOfRepo(o)...)
	case *v1alpha1.GitRepo:
		if o.Spec.Paused {
			out.Notes = append(out.Notes, "the GitRepo is paused")
		}
	}
	for _, f := range x.others[r] {
		if f.Cause != "" || f.Code == codes.Contradiction || f.Code == codes.NoTargets {
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
	out := x.combine(facts.Ref(state.BundleDeployment, d.Namespace, d.Name), []check.Member{m}, nil)
	if d.BD != nil {
		out.Reported = report.NewReported(d.BD.Reported())
	}
	return out
}

// notesOfRepo says that the GitRepo or HelmOp of a Bundle does not exist. The Bundle can be ready all the same.
func (x *explainer) notesOfRepo(b *v1alpha1.Bundle) []string {
	repo, ok := facts.RepoOf(b)
	if !ok {
		return nil
	}
	if x.in.Facts.Object(repo) == nil && x.in.Result.Desired.Read(repo.Kind, repo.Namespace) {
		return []string{"its " + repo.Kind + " " + repo.Namespace + "/" + repo.Name + " does not exist (FD304)"}
	}
	return nil
}

// deployed explains a deployed object by the bundle deployments that desire it, and by those of the same bundles whose
// objects were not read.
func (x *explainer) deployed(r object.Ref) report.WhyObject {
	var list []check.Member
	bundles, explained := map[string]bool{}, map[object.DeploymentID]bool{}
	for _, e := range x.in.Result.Deployments {
		i := slices.IndexFunc(e.Objects, func(o evaluate.Object) bool { return o.Key() == r.Key() })
		if i < 0 || x.onlyClaimed(e, &e.Objects[i]) {
			continue
		}
		m := x.explained(&e.Deployment)
		m.Cause = x.causes.OfObject(e, &e.Objects[i], m.Cause)
		list, bundles[e.Bundle], explained[e.ID()] = append(list, m), true, true
	}
	delete(bundles, "") // only releases are known
	for _, d := range x.in.Result.Desired.Directory.Deployments {
		if !bundles[d.Bundle] || d.Problem == "" || explained[d.ID()] {
			continue
		}
		m := x.causes.Alone(d)
		m.Cause = x.causes.NotRead(d)
		list = append(list, m)
	}
	return x.combine(r, list, nil)
}

// onlyClaimed reports whether nothing confirms the release record that desires an object, and another bundle desires
// it.
func (x *explainer) onlyClaimed(e *evaluate.BundleDeployment, o *evaluate.Object) bool {
	return o.Reason == evaluate.Unconfirmed && len(x.in.Result.Desired.On(e.ClusterID).Confirmed(o.Key())) > 0
}
