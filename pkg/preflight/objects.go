// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// object predicts the effects of the rollout on one desired object.
func (r *rollout) object(o *evaluate.Object) {
	r.Counts.Desired++
	switch {
	case o.State == evaluate.Missing:
		r.Counts.Create++
	case r.notServed(o):
	case o.State == evaluate.Unknown:
		r.Counts.Unknown++
		why := strings.TrimSuffix(o.Reason+": "+o.Message, ": ")
		r.add("ObjectUnread", &o.Ref, "%s could not be read: %s", o.Key(), why)
	case o.State == evaluate.Unowned:
		r.Counts.TakeOver++
	case r.effects(o).changes():
		r.Counts.Change++
	default:
		r.Counts.Keep++
	}
	owned := r.owners(o)
	r.ownNamespace(o)
	item := r.refused(o)
	if item != nil { // the next item may move this one
		item.Overwrites = o.Differences
	}
	if o.State == evaluate.Missing || o.State == evaluate.Unknown {
		return
	}
	refused := !r.renamed[o.Key()] && r.ownership(o, owned)
	if o.Live.Deleting {
		r.add("BeingDeleted", &o.Ref, "%s is being deleted: the changes of the rollout are lost with it", o.Key())
	}
	if o.State == evaluate.Unowned && !refused && !owned {
		r.takeOver(o)
	}
	r.forcedClaim(o)
	if item == nil {
		r.fields(o)
	}
}

// refused returns the item that the API server refuses the object; nil if it does not.
func (r *rollout) refused(o *evaluate.Object) *report.PreflightItem {
	words, quotes := o.Trial.Refusal, r.c.Facts.SecretsOf(&r.d.Deployment)
	if warnings := o.Trial.Warnings; warnings != "" {
		r.add("ServerWarns", &o.Ref, "%s: the API server accepts it with a warning%s", o.Key(),
			r.c.Facts.Quote(warnings, quotes...))
	}
	if words == "" {
		if why := o.Trial.NotAsked; why != "" {
			r.notAsked[why]++
		}
		return r.unasked(o)
	}
	item := r.add("ServerRefuses", &o.Ref, "%s: the API server refuses it%s", o.Key(),
		r.c.Facts.Quote(words, quotes...))
	fix, known := r.c.ByHand(r.d, words)
	switch {
	case r.d.Account.User() != "" && strings.Contains(words, `User "`+r.d.Account.User()+`" cannot`):
		item.Remedies = advise("give that ServiceAccount the right, with a role and a binding")
	case o.State != evaluate.Missing && check.Immutable(words):
		item.Remedies = []report.Remedy{r.c.Recreate(r.c.Steps.On(r.d.ClusterID), o.Ref)}
	case o.State != evaluate.Missing && strings.Contains(words, "Duplicate value"):
		item.Remedies = []report.Remedy{check.Correct(r.c.Steps.On(r.d.ClusterID), &o.Ref, words)}
	case known:
		item.Remedies = []report.Remedy{fix}
	default:
		item.Remedies = advise("correct what the message names")
	}
	return item
}

// unasked returns the item of an object that each API server refuses, if none was asked: a field has a wrong type, or
// the object exists with other values of fields that no API server changes. It is nil without one.
func (r *rollout) unasked(o *evaluate.Object) *report.PreflightItem {
	if o.Trial.Accepted {
		return nil
	}
	if why := r.d.WrongType(o); why != "" {
		return r.add("WrongType", &o.Ref, "%s: %s: the API server refuses the deploy", o.Key(), why)
	}
	if o.Live == nil || len(o.Live.Fixed) == 0 {
		return nil
	}
	item := r.add("Immutable", &o.Ref, "%s exists with another value of %s, which is immutable: the API server "+
		"refuses the deploy", o.Key(), strings.Join(o.Live.Fixed, ", "))
	item.Remedies = []report.Remedy{r.c.Recreate(r.c.Steps.On(r.d.ClusterID), o.Ref)}
	return item
}

// ownNamespace reports the namespace of the release as an object of the bundle, if it does not exist yet: Helm creates
// it before the objects.
func (r *rollout) ownNamespace(o *evaluate.Object) {
	isOwn := o.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"} &&
		o.Name == r.d.Ownership.ReleaseNamespace
	if !isOwn || o.State != evaluate.Missing || r.Action != report.RolloutInstall {
		return
	}
	if r.takes || r.d.ServerSide {
		return
	}
	r.add("NamespaceCreatedFirst", &o.Ref,
		"Helm creates namespace %s before the objects, without the label and annotations of release %s, "+
			"and then refuses it as an object of the bundle (invalid ownership "+
			"metadata)", o.Name, r.d.Ownership.Release())
}

// owners reports the other owners of an object, and the other bundles that desire it. It returns whether there are any.
func (r *rollout) owners(o *evaluate.Object) bool {
	found := false
	for _, owner := range r.c.Result.Desired.On(r.d.ClusterID).Owners(&r.d.Deployment, o.Key(), o.Metadata).Owners {
		ofRelease := owner.Situation == ownership.ExistingRelease && owner.SameName && r.Action == report.RolloutUpgrade
		if !owner.Exists() || ofRelease { // the rollout upgrades that release, which inUse reports
			continue
		}
		found = true
		var item *report.PreflightItem
		switch {
		case owner.Situation != ownership.Contested && r.overwritten(o):
			r.renamed[o.Key()] = true
			rule := ruleOf("Renamed")
			rule.Verdict = report.VerdictOK
			r.addAs(rule, &o.Ref, "%s %s, whose directory was renamed: Fleet uninstalls that bundle, and creates the "+
				"object again", o.Key(), owner.Describe())
			continue
		case r.mayReplace(owner):
			r.renamed[o.Key()] = true
			r.add("Renamed", &o.Ref, "%s %s, which is of the same GitRepo: if its directory is gone from the "+
				"repository with this commit, Fleet deletes that bundle, and creates the object again; if the "+
				"directory stays, %s", o.Key(), owner.Describe(), r.ifItStays())
			continue
		case owner.Situation == ownership.Contested:
			item = r.contested(o, owner)
		default:
			item = r.add("Held", &o.Ref, "%s %s%s", o.Key(), owner.Describe(), r.lossOf())
			item.Remedies = append(advise("remove it from one of the two owners"), r.adopt(o, owner.Name()))
		}
		item.Owner = owner.String()
	}
	return found
}

// refusesOthers reports whether the rollout is an installation: Helm then refuses objects that others own.
func (r *rollout) refusesOthers() bool { return r.Action == report.RolloutInstall && !r.takes }

// ifItStays is what happens if an object stays in the directory of its owner.
func (r *rollout) ifItStays() string {
	if r.refusesOthers() {
		return "Helm refuses to install this bundle"
	}
	return "each deploy of one takes it from the other"
}

// lossOf is what the owner of an object would lose.
func (r *rollout) lossOf() string {
	if r.refusesOthers() {
		return "" // InvalidOwnership says what happens
	}
	return "; that owner would lose it, or take it over again"
}

// contested reports another bundle that desires an object. Helm refuses to install that one over an object that this
// bundle owns.
func (r *rollout) contested(o *evaluate.Object, other ownership.Owner) *report.PreflightItem {
	own := len(wrongMetadata(o.Metadata, r.d.Ownership)) == 0
	isRefused := func(d *directory.Deployment) bool {
		action, takes := r.action(d)
		return d.Key() == other.Bundles[0].Deployment && action == report.RolloutInstall && !takes
	}
	var item *report.PreflightItem
	if own && slices.ContainsFunc(r.c.Result.Desired.Directory.Deployments, isRefused) {
		rule := ruleOf("Contested")
		rule.Severity = report.Warning
		item = r.addAs(rule, &o.Ref, "%s desires %s too: Helm refuses to install it, while this bundle owns the object",
			other, o.Key())
	} else {
		item = r.add("Contested", &o.Ref, "%s desires %s too: each deploy of one takes it from the other", other,
			o.Key())
	}
	item.Remedies = advise("decide which bundle should own it, and remove it from the others")
	return item
}

// overwritten reports whether fleet apply found that the object is of a bundle that was renamed.
func (r *rollout) overwritten(o *evaluate.Object) bool {
	if r.d.BD == nil || r.d.FromFiles() {
		return false
	}
	return slices.ContainsFunc(r.d.BD.Spec.Options.Overwrites, func(x v1alpha1.OverwrittenResource) bool {
		return x.Kind == o.Kind && x.Name == o.Name
	})
}

// overwritesFrom is the first minor version of Fleet in which a bundle replaces the objects of another one of the same
// GitRepo that is deleted with the same commit.
const overwritesFrom = 15

// mayReplace reports whether a directory may replace the owner of an object: a bundle of the same GitRepo, which its
// Job deletes if the repository does not have it any more.
func (r *rollout) mayReplace(owner ownership.Owner) bool {
	v, known := fleet.ParseVersion(r.c.Result.Desired.ControllerVersion)
	repo, old := r.gitRepo(), known && v.Before(overwritesFrom, 0)
	if repo == "" || old || !r.d.FromFiles() {
		return false
	}
	return len(owner.Bundles) == 1 && slices.ContainsFunc(r.c.Result.Desired.Directory.Deployments,
		func(d *directory.Deployment) bool {
			isOwner := d.Key() == owner.Bundles[0].Deployment && d.GitRepo == repo
			return isOwner && d.Bundle != r.d.Bundle && !r.inFiles(d.Name)
		})
}

// inFiles reports whether a bundle of a name is among the directories of -f: Fleet does not delete it.
func (r *rollout) inFiles(name string) bool {
	return slices.ContainsFunc(r.c.Result.Deployments, func(d *evaluate.BundleDeployment) bool {
		return d.FromFiles() && d.Name == name
	})
}

// adopt assigns the existing objects to the bundle. from is the owner to take an object from; empty if it has none. If
// adopt would refuse the object, the remedy is the reason.
func (r *rollout) adopt(o *evaluate.Object, from string) report.Remedy {
	if refused := append(r.d.NeverAdopted(o), r.d.AdoptUncertain()...); len(refused) > 0 {
		return report.Remedy{Text: "adopt would refuse it now: " + strings.Join(refused, "; ")}
	}
	return r.c.Steps.Commands.Assign(&r.d.Deployment, from)
}

// ownership reports whether Helm refuses the installation because of an existing object. Helm reads only its own label
// and annotations.
func (r *rollout) ownership(o *evaluate.Object, owned bool) (refused bool) {
	if r.Action != report.RolloutInstall || r.takes {
		return false
	}
	wrong := wrongMetadata(o.Metadata, r.d.Ownership)
	if len(wrong) == 0 {
		return false
	}
	// The reaction of Fleet depends on whether Helm's message is about an annotation.
	after := "Fleet would report the bundle as not installed, and would not retry"
	if len(wrong) == 1 && strings.HasPrefix(wrong[0], "label") {
		after = "Fleet would retry indefinitely"
	}
	item := r.add("InvalidOwnership", &o.Ref,
		"%s exists, and Helm would refuse to install release %s over it (invalid ownership metadata): %s; %s", o.Key(),
		r.d.Ownership.Release(), strings.Join(wrong, ", "), after)
	if !owned {
		item.Remedies = append([]report.Remedy{r.adopt(o, "")}, advise("or set helm.takeOwnership in the fleet.yaml: "+
			"the next deploy then takes over every existing object, without a plan and an undo")...)
	}
	return true
}

// wrongMetadata describes the label and annotations of Helm that do not have the values of the release.
func wrongMetadata(have, desired ownership.Metadata) []string {
	have.Hash, have.SetID = desired.Hash, desired.SetID
	var out []string
	for _, c := range ownership.Changes(have, desired) {
		value := "not set"
		if c.Old != nil && *c.Old != "" {
			value = fmt.Sprintf("%q", *c.Old)
		}
		out = append(out, fmt.Sprintf("%s %s is %s", c.Field(), c.Name, value))
	}
	return out
}

// takeOver reports that the rollout takes over an object without an error, and why.
func (r *rollout) takeOver(o *evaluate.Object) {
	why := "it has Helm's label and annotations of this release"
	switch {
	case r.Action == "":
		return
	case r.Action == report.RolloutUpgrade:
		why = "every upgrade by Fleet takes over existing objects"
	case r.takes:
		why = "the bundle has helm.takeOwnership"
	}
	r.add("TakenOver", &o.Ref, "%s exists and will be taken over silently: %s", o.Key(), why)
}

// effects are the fields in which an object differs from the bundle, by what the rollout does to them.
type effects struct {
	// changed are ordinary changes of the bundle. overwritten are values of other writers, or what others removed.
	changed, overwritten []evaluate.Difference
	// left are the fields that the rollout does not write.
	left []evaluate.Difference
}

// effects returns what the rollout does to the fields of an object. Helm's own label is none of them.
func (r *rollout) effects(o *evaluate.Object) effects {
	var out effects
	for _, x := range o.Differences {
		unowned := o.State == evaluate.Unowned
		byFleet := x.ByAgent() && !unowned
		isNew := x.Live.IsZero() && (x.Changed || unowned)
		switch {
		case x.HelmWrites():
		case r.d.Leaves(o, x):
			out.left = append(out.left, x)
		case byFleet, isNew:
			out.changed = append(out.changed, x)
		default:
			out.overwritten = append(out.overwritten, x)
		}
	}
	return out
}

// changes reports whether the rollout changes fields of the object.
func (e effects) changes() bool { return len(e.changed)+len(e.overwritten) > 0 }

// fields reports what the rollout does to the fields of an object, and the fields with which the apply would fail on a
// conflict. It overwrites none if the API server refused the object in the last deploy.
func (r *rollout) fields(o *evaluate.Object) {
	if item := r.failedOn(o); item != nil {
		item.Overwrites = o.Differences
		return
	}
	if owners := r.d.Conflicting(o.Differences); len(owners) > 0 && !o.Trial.Accepted {
		item := r.add("ApplyConflict", &o.Ref,
			"%s: Helm applies the release server-side, and %s owns %s: the apply fails on the conflict", o.Key(),
			strings.Join(owners, " and "), differing(o.Differences))
		item.Overwrites = o.Differences
		return
	}
	found := r.effects(o)
	if x := found.overwritten; len(x) > 0 {
		r.add("Overwritten", &o.Ref, "%s: the rollout overwrites %s from the bundle", o.Key(), differing(x)).
			Overwrites = x
	}
	if x := found.changed; len(x) > 0 {
		r.add("Changed", &o.Ref, "%s: the rollout changes %s from the bundle", o.Key(), differing(x)).Overwrites = x
	}
	if x := found.left; len(x) > 0 {
		item := r.add("NotReverted", &o.Ref, "%s: the rollout leaves %s from the bundle: Helm patches a custom "+
			"resource only where its manifest changes", o.Key(), differing(x))
		item.Overwrites = x
	}
}

// differing is the number of fields that differ, in words.
func differing(fields []evaluate.Difference) string {
	if n := len(fields); n > 1 {
		return fmt.Sprintf("%d fields that differ", n)
	}
	return "1 field that differs"
}
