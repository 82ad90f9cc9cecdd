// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// object predicts what the rollout does with one desired object.
func (r *rollout) object(o *evaluate.Object) {
	r.Counts.Desired++
	ref := o.Ref
	switch {
	case o.State == evaluate.Missing:
		r.Counts.Create++
	case o.State == evaluate.Unknown:
		r.Counts.Unknown++
		r.add(objectUnread, &ref, "%s could not be read: %s", o.Key(), o.Reason)
	case o.State == evaluate.Unowned:
		r.Counts.TakeOver++
	case len(o.Differences) > 0:
		r.Counts.Change++
	default:
		r.Counts.Keep++
	}
	owners := r.d.On.Owners(r.d.BundleDeployment, o.Key(), o.Metadata).Owners
	owned := slices.ContainsFunc(owners, ownership.Owner.Exists)
	r.owners(&ref, owners)
	if o.State == evaluate.Missing || o.State == evaluate.Unknown {
		return
	}
	refused := r.ownership(o, &ref, owned)
	if o.Live != nil && o.Live.Deleting {
		r.add(beingDeleted, &ref, "%s is being deleted: the changes of the rollout are lost with it", o.Key())
	}
	if o.State == evaluate.Unowned && !refused && !owned {
		r.takeOver(o, &ref)
	}
	r.overwrites(o, &ref)
}

// owners reports the other owners of an object, and the other bundles that desire it.
func (r *rollout) owners(ref *object.Ref, owners []ownership.Owner) {
	for _, o := range owners {
		switch {
		case !o.Exists():
			continue
		case o.Situation == ownership.Contested:
			r.add(contested, ref, "%s desires %s too: each deploy of one takes it from the other", o, ref.Key()).
				Remediation = "decide which bundle is to own it, and remove it from the other bundle"
		default:
			r.add(held, ref, "%s %s; that owner would lose it, or take it over again", ref.Key(), o.Describe()).
				Remediation = fmt.Sprintf("remove it from one of the two owners, or take it over: %s --dangerous-take-from=%s", adoptCommand(r.c, r.d), shellescape.Quote(o.Name()))
		}
		r.Items[len(r.Items)-1].Owner = o.String()
	}
}

// ownership reports whether Helm refuses the installation because of an existing object. Helm reads only its own label and annotations.
func (r *rollout) ownership(o *evaluate.Object, ref *object.Ref, owned bool) (refused bool) {
	if r.Action != report.RolloutInstall || r.takes {
		return false
	}
	wrong := wrongMetadata(o.Metadata, r.d.Ownership)
	if len(wrong) == 0 {
		return false
	}
	// The reaction of Fleet depends on whether Helm's message is about an annotation.
	after := "Fleet reports that it is not installed, and does not retry"
	if len(wrong) == 1 && strings.HasPrefix(wrong[0], "label") {
		after = "Fleet retries indefinitely"
	}
	item := r.add(invalidOwnership, ref, "%s exists, and Helm would refuse to install release %s over it (invalid ownership metadata): %s; %s", ref.Key(),
		r.d.Ownership.Release(), strings.Join(wrong, ", "), after)
	if !owned {
		item.Remediation = adoptCommand(r.c, r.d)
	}
	return true
}

// wrongMetadata describes which of Helm's label and annotations do not have the values of the release.
func wrongMetadata(have, desired ownership.Metadata) []string {
	have.Hash, have.SetID = desired.Hash, desired.SetID
	var out []string
	for _, c := range ownership.Changes(have, desired) {
		if c.Old == nil || *c.Old == "" {
			out = append(out, fmt.Sprintf("%s %s is not set", c.Field(), c.Name))
		} else {
			out = append(out, fmt.Sprintf("%s %s is %q", c.Field(), c.Name, *c.Old))
		}
	}
	return out
}

// takeOver reports that the rollout takes over an object without an error, and why.
func (r *rollout) takeOver(o *evaluate.Object, ref *object.Ref) {
	why := "it has Helm's label and annotations of this release"
	switch {
	case r.Action == "":
		return
	case r.Action == report.RolloutUpgrade:
		why = "every upgrade by Fleet takes over existing objects"
	case r.takes:
		why = "the bundle has helm.takeOwnership"
	}
	r.add(takenOver, ref, "%s exists and will be taken over silently: %s", o.Key(), why)
}

// overwrites reports the fields that the rollout changes, and the fields with which the apply would fail on a conflict.
func (r *rollout) overwrites(o *evaluate.Object, ref *object.Ref) {
	if len(o.Differences) == 0 {
		return
	}
	what := "1 field that differs"
	if n := len(o.Differences); n > 1 {
		what = fmt.Sprintf("%d fields that differ", n)
	}
	if owners := adopt.Conflicting(r.d, o.Differences); len(owners) > 0 {
		item := r.add(applyConflict, ref, "%s: Helm applies the release server-side, and %s owns %s: the apply fails on the conflict", o.Key(), strings.Join(owners, " and "), what)
		item.Overwrites = report.Differences(o.Differences)
		item.Remediation = "set the fields to what the bundle states, or set helm.force on the bundle"
		return
	}
	r.add(overwritten, ref, "%s: the rollout overwrites %s from the bundle", o.Key(), what).Overwrites = report.Differences(o.Differences)
}
