// SPDX-License-Identifier: Apache-2.0

package query

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// WhyTargets are the objects of Fleet to explain. A name without a namespace stands for all objects of that name.
type WhyTargets []evaluate.Target

// Pick returns the bundle deployments that an explanation of the targets of a scope needs, as WhyTargets.Pick does.
func Pick(s evaluate.Scope, desired *directory.Directory) ([]*directory.Deployment, error) {
	return WhyTargets(s.Targets).Pick(desired)
}

// Pick returns the bundle deployments that an explanation needs: those of the targets, those that they depend on, and,
// for each that a rollout holds back, those of the same bundle. The error has a *evaluate.NotFoundError for each target
// if none exists.
func (t WhyTargets) Pick(desired *directory.Directory) ([]*directory.Deployment, error) {
	var picked []*directory.Deployment
	in := map[object.DeploymentID]bool{}
	add := func(d *directory.Deployment) {
		if !in[d.ID()] {
			in[d.ID()] = true
			picked = append(picked, d)
		}
	}
	if missing := t.Missing(desired); len(missing) == len(t) {
		return nil, evaluate.Join(missing)
	}
	for _, x := range t {
		for _, d := range desired.Deployments {
			if x.Names(d) {
				add(d)
			}
		}
	}
	dependencies := facts.NewDependencies(desired)
	siblings := map[string][]*directory.Deployment{}
	for _, d := range desired.Deployments {
		siblings[d.Bundle] = append(siblings[d.Bundle], d)
	}
	for begin := 0; begin < len(picked); {
		for _, d := range dependencies.Closure(picked[begin:]) {
			add(d)
		}
		end := len(picked)
		for _, d := range picked[begin:end] {
			if d.BD != nil && d.Bundle != "" && d.BD.Spec.DeploymentID != d.BD.Spec.StagedDeploymentID {
				for _, s := range siblings[d.Bundle] {
					add(s)
				}
				delete(siblings, d.Bundle)
			}
		}
		begin = end
	}
	return picked, nil
}

// Missing returns a *evaluate.NotFoundError for each target that does not exist.
func (t WhyTargets) Missing(desired *directory.Directory) []error {
	var out []error
	for _, x := range t {
		if len(objects(desired.Fleet, x)) == 0 && !slices.ContainsFunc(desired.Deployments, x.Names) {
			out = append(out, evaluate.NotFound(desired, x, ""))
		}
	}
	return out
}

// kindOf returns the kind of a target: "Bundle".
func kindOf(t evaluate.Target) string {
	kind, _ := evaluate.TargetKind(t.Kind)
	return kind
}

// objects returns the objects of Fleet that a target names, by namespace.
func objects(f *state.Fleet, t evaluate.Target) []v1alpha1.Object {
	var out []v1alpha1.Object
	for _, k := range state.Subjects {
		if k.Name != kindOf(t) {
			continue
		}
		for _, o := range k.List(f) {
			if (evaluate.Scope{Targets: []evaluate.Target{t}}).Asks(k.Name, o) {
				out = append(out, o)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b v1alpha1.Object) int {
		return cmp.Compare(a.GetNamespace(), b.GetNamespace())
	})
	return out
}

// Explain explains the targets, and what was found for other names, with the result and the findings of an audit. The
// report contains values of Secrets: only the copy that Redacted returns may be shown.
func Explain(in *check.Input, findings []check.Finding, targets WhyTargets, others []*evaluate.Found,
	version string) *report.Why {
	out := &report.Why{Head: report.NewHead(report.KindWhy, version, in.Result.Source, in.Result.Desired.Directory),
		Gaps: report.Gaps(in.Result.Gaps), Notes: in.Result.Notes}
	x := newExplainer(in, findings)
	for _, f := range others {
		for _, o := range f.Objects {
			out.Objects = append(out.Objects, x.deployed(o))
		}
		if len(f.Objects) == 0 {
			targets = append(slices.Clone(targets), f.Targets...)
		}
	}
	for _, t := range targets {
		found := objects(in.Result.Desired.Fleet, t)
		for _, o := range found {
			out.Objects = append(out.Objects, x.object(kindOf(t), o))
		}
		if len(found) > 0 {
			continue
		}
		// A bundle deployment that is known by its release, or a parent that was not read.
		for _, d := range in.Result.Deployments {
			if kindOf(t) == state.BundleDeployment && t.Names(&d.Deployment) {
				out.Objects = append(out.Objects, x.alone(&d.Deployment))
			}
		}
		if kindOf(t) != state.BundleDeployment {
			out.Objects = append(out.Objects, x.unread(t)...)
		}
	}
	out.Complete()
	return out
}

// unread reports a parent that has bundle deployments and was not read itself, or does not exist.
func (x *explainer) unread(t evaluate.Target) []report.WhyObject {
	var keys []string
	for _, d := range x.in.Result.Deployments {
		if t.Names(&d.Deployment) {
			keys = append(keys, d.Parents()[kindOf(t)])
		}
	}
	slices.Sort(keys)
	var out []report.WhyObject
	for _, key := range slices.Compact(keys) {
		var list []check.Member
		for _, d := range x.in.Result.Deployments {
			if d.Parents()[kindOf(t)] == key {
				list = append(list, x.noted(x.causes.Member(&d.Deployment)))
			}
		}
		r := facts.Named(kindOf(t), key)
		if x.in.Result.Desired.Read(r.Kind, r.Namespace) {
			out = append(out, x.combine(r, list, []check.Cause{x.causes.Gone(r)}))
			continue
		}
		o := x.combine(r, list, nil)
		why := string(source.NotInSnapshot)
		if f, all := x.in.Result.Desired.Coverage[kindOf(t)].Of(r.Namespace); !all && f.Reason != "" {
			why = string(f.Reason)
		}
		o.Notes = append(o.Notes, "the "+kindOf(t)+" itself was not read ("+why+"): only its BundleDeployments are "+
			"known")
		out = append(out, o)
	}
	return out
}

// noted says of a member what a finding says more about the same.
func (x *explainer) noted(m check.Member) check.Member {
	if m.Deployment == nil || m.Note == "" {
		return m
	}
	findings := x.findings[m.Deployment.Key()]
	counts := func(f check.Finding) bool { return f.Code == codes.DeploymentCounts }
	if i := slices.IndexFunc(findings, counts); i >= 0 {
		m.Note = findings[i].Message
	}
	return m
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
	m := x.noted(x.causes.Alone(d))
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
		if i < 0 {
			continue
		}
		// Nothing confirms the release record that desires it, and another bundle desires it.
		confirmed := x.in.Result.Desired.On(e.ClusterID).Confirmed(r.Key())
		if e.Objects[i].Reason == evaluate.Unconfirmed && len(confirmed) > 0 {
			continue
		}
		m := x.noted(x.causes.Alone(&e.Deployment))
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
