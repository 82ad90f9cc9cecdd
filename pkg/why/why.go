// SPDX-License-Identifier: Apache-2.0

// Package why explains why an object of Fleet is not ready: it follows each bundle on each cluster to the one root
// cause. It uses the states, blockers and findings of an audit, and decides nothing that an audit decides.
package why

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/dependency"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Targets are the objects of Fleet to explain. A name without a namespace stands for all objects of that name.
type Targets []evaluate.Target

// Pick returns the bundle deployments that an explanation of the targets of a scope needs, as Targets.Pick does.
func Pick(s evaluate.Scope, desired *directory.Directory) ([]*directory.Deployment, error) {
	return Targets(s.Targets).Pick(desired)
}

// Pick returns the bundle deployments that an explanation needs: those of the targets, those that they depend on, and,
// for each that a rollout holds back, those of the same bundle. The error has a *evaluate.NotFoundError for each target
// if none exists.
func (t Targets) Pick(desired *directory.Directory) ([]*directory.Deployment, error) {
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
	dependencies := dependency.New(desired)
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
func (t Targets) Missing(desired *directory.Directory) []error {
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
	for _, k := range state.Kinds {
		if k.Name != kindOf(t) {
			continue
		}
		for _, o := range k.Of(f) {
			workspace := o.GetNamespace()
			if k.Name == state.BundleDeployment {
				workspace = o.GetLabels()[fleet.BundleNamespaceLabel]
			}
			if slices.Contains([]string{o.GetName(), o.GetNamespace() + "/" + o.GetName(),
				workspace + "/" + o.GetName()},
				t.Name) {
				out = append(out, o)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b v1alpha1.Object) int {
		return cmp.Compare(a.GetNamespace(),
			b.GetNamespace())
	})
	return out
}

// Explain explains the targets, and what was found for other names, with the result and the findings of an audit. The
// report contains values of Secrets: only the copy that Redacted returns may be shown.
func Explain(in *check.Input, findings []check.Finding, targets Targets, others []*evaluate.Found,
	version string) *report.Why {
	out := &report.Why{Head: report.NewHead(report.KindWhy, version, in.Source, in.Desired.Directory),
		Gaps: report.Gaps(in.Gaps), Notes: in.Notes}
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
		found := objects(in.Desired.Fleet, t)
		for _, o := range found {
			out.Objects = append(out.Objects, x.object(kindOf(t), o))
		}
		if len(found) > 0 {
			continue
		}
		// A bundle deployment that is known by its release, or a parent that was not read.
		for _, d := range in.Deployments {
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

// explainer has what the explanations share.
type explainer struct {
	in       *check.Input
	blockers func(*directory.Deployment) []blocker.Step
	// findings are by the key of their bundle deployment, others by the object that they are about.
	findings  map[string][]check.Finding
	others    map[object.Ref][]check.Finding
	evaluated map[object.DeploymentID]*evaluate.BundleDeployment
	agents    map[string]evaluate.Agent // by the namespace of their BundleDeployments
	ofBundle  map[string][]*directory.Deployment
	byKey     map[string]*directory.Deployment
	rollout   func(*v1alpha1.Bundle) *blocker.Progress
	// stuck says why an object of Fleet that is being deleted stays.
	stuck func(kind, key string) (message string, evidence []string)
}

func newExplainer(in *check.Input, findings []check.Finding) *explainer {
	x := &explainer{in: in, blockers: blocker.New(in.Facts), findings: map[string][]check.Finding{},
		others:    map[object.Ref][]check.Finding{},
		evaluated: map[object.DeploymentID]*evaluate.BundleDeployment{}, agents: map[string]evaluate.Agent{},
		ofBundle: map[string][]*directory.Deployment{}, byKey: map[string]*directory.Deployment{},
		rollout: blocker.Rollouts(in.Facts), stuck: in.Stuck()}
	for _, f := range findings {
		if f.BundleDeployment != "" {
			x.findings[f.BundleDeployment] = append(x.findings[f.BundleDeployment], f)
		}
		x.others[f.Object] = append(x.others[f.Object], f)
	}
	for _, d := range in.Deployments {
		x.evaluated[d.ID()] = d
	}
	for _, d := range in.Desired.Directory.Deployments {
		x.ofBundle[d.Bundle] = append(x.ofBundle[d.Bundle], d)
		x.byKey[d.Key()] = d
	}
	for _, a := range in.Agents() {
		if ns := a.Cluster.Status.Namespace; ns != "" {
			x.agents[ns] = a
		}
	}
	return x
}

// first returns the first finding with one of some codes.
func first(findings []check.Finding, codes ...string) (check.Finding, bool) {
	i := slices.IndexFunc(findings, func(f check.Finding) bool { return slices.Contains(codes, f.Code) })
	if i < 0 {
		return check.Finding{}, false
	}
	return findings[i], true
}

// nameOf is the name of a bundle deployment for people: that of its bundle.
func nameOf(d *directory.Deployment) string {
	_, name, ok := strings.Cut(d.Bundle, "/")
	if !ok {
		return d.Name
	}
	return name
}

// step returns a step about a bundle deployment.
func stepOf(kind blocker.Kind, d *directory.Deployment, message string) report.WhyStep {
	out := report.WhyStep{Kind: kind, Object: d.Ref(), Name: nameOf(d), Cluster: d.Cluster, Message: message}
	if d.BD != nil {
		out.AsOf = d.BD.Reported().AsOf
	}
	return out
}

// silent returns the agent of a bundle deployment if it is silent.
func (x *explainer) silent(d *directory.Deployment) (evaluate.Agent, bool) {
	a, known := x.agents[d.Namespace]
	return a, known && facts.IsSilent(a)
}

// shown is the state that Fleet reports.
func shown(bd *v1alpha1.BundleDeployment) string { return string(fleet.ShownState(bd)) }

// gone returns the verdict for a parent that does not exist, although bundle deployments name it.
func (x *explainer) gone(r object.Ref) verdict {
	s := report.WhyStep{Kind: Gone, Object: r, Name: r.Name, Message: "it does not exist, and what it deployed is left"}
	for _, b := range x.in.BundlesOf(r) {
		if f, ok := first(x.others[facts.RefTo(b)], "FD304"); ok {
			s.Evidence = []string{f.Message}
			return notReady(f.Remedies, codes(f), s)
		}
	}
	return notReady(x.list("bundles", r.Namespace), nil, s)
}

// unread reports a parent that has bundle deployments and was not read itself, or does not exist.
func (x *explainer) unread(t evaluate.Target) []report.WhyObject {
	var keys []string
	for _, d := range x.in.Deployments {
		if t.Names(&d.Deployment) {
			keys = append(keys, d.Parents()[kindOf(t)])
		}
	}
	slices.Sort(keys)
	var out []report.WhyObject
	for _, key := range slices.Compact(keys) {
		var list []member
		for _, d := range x.in.Deployments {
			if d.Parents()[kindOf(t)] == key {
				list = append(list, x.member(&d.Deployment))
			}
		}
		namespace, name, _ := strings.Cut(key, "/")
		r := facts.Ref(kindOf(t), namespace, name)
		if x.in.Desired.Read(r.Kind, namespace) {
			out = append(out, x.combine(r, list, []verdict{x.gone(r)}))
			continue
		}
		o := x.combine(r, list, nil)
		why := string(source.NotInSnapshot)
		if f, all := x.in.Desired.Coverage[kindOf(t)].Of(namespace); !all && f.Reason != "" {
			why = string(f.Reason)
		}
		o.Notes = append(o.Notes, "the "+kindOf(t)+" itself was not read ("+why+"): only its BundleDeployments are "+
			"known")
		out = append(out, o)
	}
	return out
}
