// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Evaluated is the evaluation of one cluster.
type Evaluated struct {
	Deployments []*BundleDeployment
	Undesired   []Undesired
	Gaps        []source.Gap
}

// Evaluate evaluates the bundle deployments in scope from the observed live objects. It may be called again with more observations, such as the
// server's answers.
func (e *Evaluator) Evaluate(observed Observed) Evaluated {
	var out Evaluated
	seen := map[object.CellID]*Object{}
	for gvk, l := range observed.Lists {
		for i := range l.Objects {
			seen[l.Objects[i].Cell()] = &l.Objects[i]
		}
		out.Gaps = append(out.Gaps, e.listGaps(e.kinds[gvk], seen, l, observed.Searched)...)
	}
	for _, d := range e.scope {
		x := &BundleDeployment{BundleDeployment: d, Objects: make([]Object, len(d.Desired))}
		for i, o := range d.Desired {
			if s := seen[o.Cell()]; s != nil {
				x.Objects[i] = *s
			} else {
				x.Objects[i] = notListed(o, observed.Lists[o.GroupVersionKind()])
			}
		}
		out.Deployments = append(out.Deployments, x)
	}
	scaled := e.scaled(out.Deployments, observed, &out)
	unproven(out.Deployments)
	for _, d := range out.Deployments {
		for i := range d.Objects {
			if a, ok := observed.Answers[d.Objects[i].Cell()]; ok {
				d.Objects[i].answered(a, scaled[d.Objects[i].Cell()])
			}
		}
	}
	out.Undesired = observed.undesired()
	e.count(out.Deployments, out.Undesired)
	out.Gaps = append(out.Gaps, unsearched(observed.Unsearched)...)
	return out
}

// notListed returns the state of a desired object of which no live object was listed.
func notListed(o *resolve.Object, l *List) Object {
	out := Object{Object: o}
	var coverage source.Coverage
	if l != nil {
		coverage = l.Coverage
	}
	if f, covered := coverage.Of(o.Namespace); !covered {
		out.State, out.Reason, out.Message = Unknown, string(f.Reason), f.Detail
		return out
	}
	out.State, out.TTLAfterFinished = Missing, ttlAfterFinished(o)
	return out
}

// ttlAfterFinished returns spec.ttlSecondsAfterFinished of a Job's manifest; nil for any other object.
func ttlAfterFinished(o *resolve.Object) *int64 {
	if o.Kind != "Job" || object.Group(o.APIVersion) != "batch" {
		return nil
	}
	var job struct {
		Spec struct {
			TTLSecondsAfterFinished *int64 `json:"ttlSecondsAfterFinished"`
		} `json:"spec"`
	}
	if object.Into(o.Raw, &job) != nil {
		return nil // a manifest that cannot be decoded sets no field
	}
	return job.Spec.TTLSecondsAfterFinished
}

// scaled removes the differences in replicas that autoscalers explain, and returns the objects that had one.
func (e *Evaluator) scaled(deployments []*BundleDeployment, observed Observed, out *Evaluated) map[object.CellID]bool {
	scalers := slices.Clone(observed.Autoscalers)
	for _, l := range observed.Lists {
		scalers = append(scalers, l.Autoscalers...)
	}
	unread := source.CoverageGaps("listing HorizontalPodAutoscalers", observed.AutoscalersRead,
		"objects whose number of replicas an autoscaler set are reported as modified")
	out.Gaps = append(out.Gaps, unread...)
	explained := map[object.CellID]bool{}
	for _, d := range deployments {
		for i := range d.Objects {
			if o := &d.Objects[i]; o.replicasDiffer() && o.explainReplicas(scalers, len(unread) > 0) {
				explained[o.Cell()] = true
			}
		}
	}
	return explained
}

// listGaps returns the gaps of the list of a kind. searched is true if objects which no release desires are searched too.
func (e *Evaluator) listGaps(objects []*resolve.Object, seen map[object.CellID]*Object, l *List, searched bool) []source.Gap {
	if len(objects) == 0 {
		return nil
	}
	unread := map[string]source.Failure{}
	for _, o := range objects {
		if f, covered := l.Coverage.Of(o.Namespace); !covered && seen[o.Cell()] == nil {
			unread[o.Namespace] = f
		}
	}
	var out []source.Gap
	what := "reading " + objects[0].Kind + " objects"
	for _, ns := range slices.Sorted(maps.Keys(unread)) {
		out = append(out, source.NewGap(what+inNamespace(ns), unread[ns], "the bundles' objects of this kind are Unknown"))
	}
	if !searched {
		return out
	}
	// If every desired object was read before the list failed, objects that no release desires may still be missing. A kind that is not served or
	// not in a snapshot is not a failure.
	others := source.AsOptional(source.CoverageGaps(what, l.Coverage, "orphaned objects of this kind may be missed"))
	others = slices.DeleteFunc(others, func(g source.Gap) bool {
		return g.Reason == string(source.NotInSnapshot) || g.Reason == string(source.KindNotServed) || slices.ContainsFunc(out, func(o source.Gap) bool {
			return o.What == g.What && g.What != what || g.What == what && o.Why() == g.Why()
		})
	})
	return append(out, others...)
}

func inNamespace(ns string) string {
	if ns == "" {
		return ""
	}
	return " in namespace " + ns
}

// unsearched returns one gap for all kinds that could not be searched for orphaned objects.
func unsearched(kinds []string) []source.Gap {
	if len(kinds) == 0 {
		return nil
	}
	const most = 5
	kinds = slices.Sorted(slices.Values(kinds))
	names := strings.Join(kinds[:min(most, len(kinds))], ", ")
	if n := len(kinds) - most; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	return []source.Gap{{What: "searching for objects with the hash label in " + names, Reason: "not readable",
		Effect: "orphaned and abandoned objects of these kinds are not found", Optional: true}}
}

// count sets the counts and the state of each bundle deployment. Missing objects that the bundle's own rules ignore are removed.
func (e *Evaluator) count(deployments []*BundleDeployment, undesired []Undesired) {
	byHash := map[string][]Undesired{}
	for _, u := range undesired {
		byHash[u.Metadata.Hash] = append(byHash[u.Metadata.Hash], u)
	}
	for _, d := range deployments {
		rules := e.rules[d.ID()]
		d.Objects = slices.DeleteFunc(d.Objects, func(o Object) bool { return o.State == Missing && compare.Ignored(rules, o.Ref) })
		for i := range d.Objects {
			d.Counts.add(d.Objects[i].State)
		}
		for _, u := range byHash[d.Ownership.Hash] {
			if IsOrphan(d.BundleDeployment, u) {
				d.Orphans = append(d.Orphans, u)
			}
		}
		d.Counts.Orphaned = len(d.Orphans)
		d.State = stateOf(d)
		d.ServerSide = serverSide(d.BundleDeployment)
	}
}

// IsOrphan reports whether an object that has the set of a bundle deployment was in an earlier revision. Fleet compares only with the previous
// revision, by kind and name. Where that revision is no longer recorded, Helm's own annotations prove that the object came with the release: a
// controller's child copies labels, it does not have the annotations of the release without an owner.
func IsOrphan(d *resolve.BundleDeployment, u Undesired) bool {
	k := resolve.KindName{Kind: u.Kind, Name: u.Name}
	if u.NoPrune || d.Problem != "" || d.Hooks[k] {
		return false
	}
	return d.Earlier[k] || !d.EarlierKnown && !u.Controlled && u.Metadata.ReleaseName != "" && u.Metadata.Release() == d.Release.Release()
}

// stateOf returns the actual state of a bundle deployment. It uses Fleet's order of precedence (docs/fleet-behavior.md, 4.3).
func stateOf(d *BundleDeployment) State {
	if d.BD != nil && d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID && d.Problem != directory.ClusterNotRead {
		if slices.ContainsFunc(d.BD.Status.Conditions, func(c v1alpha1.Condition) bool { return c.Type == "Deployed" && c.Status == "False" }) {
			return ErrApplied
		}
		return WaitApplied
	}
	if d.Problem != "" {
		return Unknown
	}
	if slices.ContainsFunc(d.Objects, func(o Object) bool { return o.NotReady }) {
		return NotReady
	}
	c := d.Counts
	switch {
	case d.BD != nil && d.BD.Spec.DeploymentID != d.BD.Spec.StagedDeploymentID:
		return OutOfSync
	case c.Missing+c.Unowned+c.Modified+c.Orphaned > 0:
		return Modified
	case c.Unknown > 0:
		return Unknown
	}
	return Ready
}

// applyServerSide is the apply method in the record of a release that Helm applies server-side.
const applyServerSide = "ssa"

// helm4 is the first minor version of Fleet with Helm 4, which installs server-side.
const helm4 = 15

// serverSide reports whether Helm applies the next deploy server-side. Then a field that another manager owns is a conflict. An upgrade uses
// the method of the last deploy. An installation is server-side with Helm 4. Neither is server-side if an option makes Helm force or take over
// (docs/fleet-behavior.md, 1.6 and 1.7). If not all records could be read, it returns false.
func serverSide(d *resolve.BundleDeployment) bool {
	options := d.Options()
	if d.On == nil || options.Helm != nil && options.Helm.Force || options.CorrectDrift != nil && options.CorrectDrift.Force {
		return false
	}
	_, recordsRead := d.On.State.Coverage.Records.Of(d.Ownership.ReleaseNamespace)
	switch last := d.On.State.Latest[d.Ownership.Release()]; {
	case last != nil:
		return last.ApplyMethod == applyServerSide && last.Status != release.StatusUninstalling
	case !recordsRead, options.Helm != nil && options.Helm.TakeOwnership:
		return false
	}
	agent, known := fleet.ParseVersion(d.On.AgentVersion(d.DeploymentNamespace()))
	return !known || !agent.Before(helm4, 0)
}
