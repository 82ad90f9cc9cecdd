// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// stuckAfter is how long a deletion may take. A controller of Fleet needs seconds, an overloaded one minutes.
// stuckWithout is how long it may take while the controller does not run: it may start again.
const (
	stuckAfter   = 10 * time.Minute
	stuckWithout = time.Minute
)

func (in *Input) stuckDeletion(out *found) {
	if in.Result.Now().IsZero() {
		return
	}
	clusters, inScope := map[string]string{}, map[object.Ref]bool{} // of BundleDeployments, by their keys
	for _, d := range in.Result.Deployments {
		clusters[d.Key()], inScope[facts.Ref(state.BundleDeployment, d.Namespace, d.Name)] = d.Cluster, d.BD != nil
	}
	for _, all := range in.Result.Tree {
		for _, a := range all {
			inScope[facts.RefOf(a)] = a.InScope
		}
	}
	for _, o := range in.Result.Desired.Deleting() {
		included := in.Result.Whole || inScope[facts.Ref(o.Kind, o.Namespace, o.Name)]
		// The API server deletes an object without finalizers at once.
		limit := stuckAfter
		if in.removerDown(&o) {
			limit = stuckWithout
		}
		if len(o.Finalizers) == 0 || !included || in.Result.Now().Sub(o.Since) < limit {
			continue
		}
		f := in.stuck(&o)
		if cluster := clusters[f.BundleDeployment]; cluster != "" {
			f.Cluster = cluster
		}
		out.report(f, in.Steps.Commands.Show(f.Object, "shows its finalizers and conditions"))
	}
}

// stuck returns the finding about an object that is being deleted.
func (in *Input) stuck(o *state.Deleting) Finding {
	f := Finding{Object: facts.Ref(o.Kind, o.Namespace, o.Name)}
	key := o.Namespace + "/" + o.Name
	f.Message = fmt.Sprintf("%s %s has been in deletion for %s: finalizers %s", o.Kind, strings.TrimPrefix(key, "/"),
		in.Result.Now().Sub(o.Since).Truncate(time.Minute), strings.Join(o.Finalizers, ", "))
	switch o.Kind {
	case state.BundleDeployment:
		f.BundleDeployment = key
	case state.ClusterKind:
		f.Cluster = key
	}
	for _, finalizer := range o.Finalizers {
		s := finalizer + " is not a finalizer of Fleet: its own controller must remove it"
		if name := o.RemoverOf(finalizer); name != "" {
			s = in.remover(name)
		}
		f.sayIf(s != "" && !slices.Contains(f.Evidence, s), s)
	}
	switch o.Kind {
	case state.GitRepo, state.HelmOp:
		n := in.bundlesLabelled(o)
		f.sayIf(n > 0, "it still has "+facts.Count(n, "Bundle"))
	case state.Bundle, state.ClusterKind:
		n := 0
		for _, a := range in.Result.Tree[o.Kind] {
			if a.Key() == key {
				n = a.All
			}
		}
		f.sayIf(n > 0, "it still has "+facts.Count(n, "BundleDeployment"))
	}
	return f
}

// bundlesLabelled counts the Bundles that name a GitRepo or HelmOp in a label.
func (in *Input) bundlesLabelled(o *state.Deleting) int {
	label := map[string]string{state.GitRepo: fleet.RepoLabel, state.HelmOp: fleet.HelmOpLabel}[o.Kind]
	return count(in.Result.Desired.Bundles, func(b *v1alpha1.Bundle) bool {
		return b.Namespace == o.Namespace && b.Labels[label] == o.Name
	})
}

// removerDown reports whether a Deployment that removes a finalizer of an object does not exist, or does not run.
func (in *Input) removerDown(o *state.Deleting) bool {
	return slices.ContainsFunc(o.Finalizers, func(finalizer string) bool {
		name := o.RemoverOf(finalizer)
		if name == "" {
			return false
		}
		w, known := in.Result.Desired.Controller(name)
		return known && (w == nil || w.Idle != "")
	})
}

// remover describes the Deployment that removes a finalizer; empty if it is not known.
func (in *Input) remover(name string) string {
	w, known := in.Result.Desired.Controller(name)
	switch {
	case !known:
		return ""
	case w == nil:
		return "Deployment " + name + ", which removes the finalizer, does not exist"
	case w.Idle != "":
		return "Deployment " + name + ", which removes the finalizer, does not run: " + w.Idle
	}
	return "Deployment " + name + ", which removes the finalizer, exists: its log has the reason"
}

// Stuck returns a function that says why an object of Fleet that is being deleted stays, as a sentence with evidence.
func (in *Input) Stuck() func(kind, key string) (message string, evidence []string) {
	byKey := map[[2]string]*state.Deleting{}
	all := in.Result.Desired.Deleting()
	for i := range all {
		byKey[[2]string{all[i].Kind, all[i].Namespace + "/" + all[i].Name}] = &all[i]
	}
	return func(kind, key string) (string, []string) {
		o := byKey[[2]string{kind, key}]
		if o == nil || len(o.Finalizers) == 0 {
			return "it is being deleted", nil
		}
		return "it is being deleted, and has the finalizers " +
			strings.Join(o.Finalizers, ", "), in.stuck(o).Evidence
	}
}

func (in *Input) contentMissing(out *found) {
	users, damage := map[string][]*evaluate.BundleDeployment{}, map[string]string{}
	for _, d := range in.Result.Deployments {
		if d.BD == nil {
			continue
		}
		if fleet.StateOf(d.BD) == fleet.OutOfSync {
			continue // Fleet deletes the contents of the earlier deployment, and never writes them again
		}
		id, damaged := state.ContentID(d.BD), d.Rendering.ContentDamage
		missing := in.Result.Desired.Contents.Missing[id]
		if id != "" && (missing || damaged != "") {
			users[id] = append(users[id], d)
		}
		if !missing && damaged != "" {
			damage[id] = damaged
		}
	}
	for _, id := range slices.Sorted(maps.Keys(users)) {
		in.content(out, id, damage[id], users[id])
	}
}

// content reports a Content that some bundle deployments need.
func (in *Input) content(out *found, id, damage string, users []*evaluate.BundleDeployment) {
	f := Finding{Object: facts.Ref(state.Content, "", id)}
	var names []string
	waiting := 0
	for _, d := range users {
		names = append(names, d.Key())
		if d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID {
			waiting++
		}
	}
	if damage == "" {
		f.Settle = in.Facts.SameContent(users[0].BD)
	}
	if in.usersOf(id) == 1 { // in every scope, so that the identity of the finding is the same
		f.BundleDeployment, f.Cluster = users[0].Key(), users[0].Cluster
	}
	f.Message = fmt.Sprintf("content %s does not exist: it has the manifests of %s", id, facts.List(names))
	if damage != "" {
		f.Message = fmt.Sprintf("the manifests of %s cannot be read: %s", facts.List(names), damage)
	}
	applied := len(users) - waiting
	f.sayIf(waiting > 0, facts.Count(waiting, "bundle deployment")+" cannot be deployed without it")
	f.sayIf(applied > 0, facts.Count(applied, "bundle deployment")+" with it applied cannot be deployed again")
	if damage == "" && in.superseded(users[0], id) {
		f.say("bundle %s has other contents by now, and the controller writes only those: the rollout's next "+
			"deployment brings them", users[0].Bundle)
		out.report(f, in.Steps.Commands.ShowCauses(&users[0].Deployment))
		return
	}
	out.report(f, in.writeContent(users[0], damage))
}

// superseded reports whether it is known that the present contents of the Bundle of a bundle deployment are others than
// those of a Content.
func (in *Input) superseded(d *evaluate.BundleDeployment, content string) bool {
	b := in.Facts.Bundle(d.Bundle)
	if b == nil || b.Status.ResourcesSHA256Sum == "" || !facts.Observed(b) {
		return false
	}
	return fleet.ManifestID(b.Status.ResourcesSHA256Sum) != content
}

// usersOf counts the bundle deployments of a Content, in scope or not.
func (in *Input) usersOf(content string) int {
	return count(in.Result.Desired.Deployments, func(d *desired.BundleDeployment) bool {
		return d.BD != nil && state.ContentID(d.BD) == content
	})
}

// writeContent makes the controller write a Content. It never overwrites one that exists (docs/fleet-behavior.md,
// 4.10).
func (in *Input) writeContent(d *evaluate.BundleDeployment, damage string) remedy.Remedy {
	switch {
	case d.Bundle == "":
		return remedy.Advise("restore the Bundle of the BundleDeployment: only the controller can write the Content")
	case damage != "":
		return remedy.Advise("commit a change to the files of the bundle: Fleet then writes another Content")
	}
	return in.Steps.Process(d.Bundle, "makes the controller write the Content again from the Bundle, without a deploy")
}

const (
	// correctedAfter is how long a correction may take. The agent reacts to an event after seconds.
	correctedAfter = 15 * time.Minute
	// correctsLater is the first minor version whose agent corrects drift that existed when the correction was enabled.
	correctsLater = 16
	// serverSideApply is the apply method of a release record.
	serverSideApply = "ssa"
)

func (in *Input) notCorrected(out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
	correct := facts.Corrects(d)
	if correct == nil || in.Result.Now().IsZero() {
		return
	}
	since, first := in.modifiedSince(d, o)
	if since.IsZero() || in.Facts.ReadAt(d.ClusterID).Sub(since) <= correctedAfter {
		return
	}
	f := about(d, o.Ref, "%s has been modified since %s, although correctDrift is enabled", o.Key(),
		facts.Time(since))
	f.sayIf(o.Custom(), "Helm patches a custom resource only where its manifest changes, and a correction does not "+
		"change the manifest")
	in.addWhyNotCorrected(&f, d, correct, first)
	out.report(f, in.Steps.Correct(d, o)...)
}

// modifiedSince returns the time since which the first of the differences that have a time exists; zero if none has
// one. A value that was written before the release was deployed differs since then.
func (in *Input) modifiedSince(d *evaluate.BundleDeployment, o *evaluate.Object) (time.Time, evaluate.Difference) {
	var since time.Time
	var first evaluate.Difference
	for _, diff := range o.Differences {
		when, err := time.Parse(time.RFC3339, diff.Time)
		if err != nil || d.Deployed.IsZero() {
			continue
		}
		if when.Before(d.Deployed) {
			when = d.Deployed
		}
		if since.IsZero() || when.Before(since) {
			since, first = when, diff
		}
	}
	return since, first
}

// addWhyNotCorrected adds what may be the cause.
func (in *Input) addWhyNotCorrected(f *Finding, d *evaluate.BundleDeployment, correct *v1alpha1.CorrectDrift,
	first evaluate.Difference) {
	f.say("%s: %s", first.Path, first.Who())
	for _, t := range d.RecordProblems {
		if t.Status == release.StatusFailed {
			f.say("a correction may have failed: revision %d of the release failed%s", t.Record.Revision,
				in.Facts.Quote(t.Reported, in.Facts.SecretsOf(&d.Deployment)...))
		}
	}
	agent, known := fleet.ParseVersion(d.AgentVersion)
	f.sayIf(known && agent.Before(correctsLater, 0),
		"an agent of version "+d.AgentVersion+" does not correct drift that existed "+
			"when the correction was enabled, until the object changes again")
	cluster := in.Result.Desired.Cluster(d.ClusterID).State
	last := cluster.Latest[d.Release.Release()]
	serverSide := last != nil && last.ApplyMethod == serverSideApply
	f.sayIf(serverSide && first.Manager != "", "the release was applied server-side, and "+first.Manager+
		" owns the field")
	f.sayIf(!correct.Force, "correctDrift.force is off: a field that cannot be changed in place stays")
	idle := cluster.Workloads[d.Agent].Idle
	f.sayIf(idle != "", "the agent does not run: "+idle)
	f.sayIf(len(d.BD.Status.ModifiedStatus) == 0, "Fleet does not report the object as modified: the agent corrects "+
		"only what its own comparison finds")
}
