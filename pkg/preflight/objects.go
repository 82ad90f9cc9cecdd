// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"al.essio.dev/pkg/shellescape"

	adoption "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// object says what the rollout makes of one desired object.
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
	others := adoption.Holders(r.d.BundleDeployment, o)
	r.holders(&ref, others)
	if o.State == evaluate.Missing || o.State == evaluate.Unknown {
		return
	}
	refused := r.ownership(o, &ref, others)
	if o.Live != nil && o.Live.Deleting {
		r.add(beingDeleted, &ref, "%s is being deleted: what is applied to it goes with it", o.Key())
	}
	if o.State == evaluate.Unowned && !refused && !slices.ContainsFunc(others, adoption.Holder.Living) {
		r.takeOver(o, &ref)
	}
	r.overwrites(o, &ref)
}

// holders says who else has the object or wants it.
func (r *rollout) holders(ref *object.Ref, others []adoption.Holder) {
	for _, h := range others {
		switch {
		case !h.Living():
			continue
		case h.Situation == adoption.Contested:
			r.add(contested, ref, "%s wants %s too: each deploy of one takes it from the other", h.Title, ref.Key()).
				Remediation = "decide which bundle is to have it, and take it out of the other"
		default:
			r.add(held, ref, "%s is held by %s, which would lose it or take it back", ref.Key(), h.Title).
				Remediation = fmt.Sprintf("take it out of one of the two, or take it for good: %s --dangerous-take-from=%s", adopt(r.c, r.d), shellescape.Quote(h.Name()))
		}
		r.Items[len(r.Items)-1].Holder = h.Title
	}
}

// ownership says whether Helm refuses the installation for an object that exists. Of whom it is Helm knows by its own three keys alone; Fleet's
// two do not count for it (docs/fleet-behavior.md, 1.7).
func (r *rollout) ownership(o *evaluate.Object, ref *object.Ref, others []adoption.Holder) (refused bool) {
	if r.Action != report.RolloutInstall || r.takes {
		return false
	}
	wrong := wrongKeys(o.Metadata, r.d.Ownership)
	if len(wrong) == 0 {
		return false
	}
	// What Fleet makes of it depends on whether Helm complains of an annotation.
	after := "Fleet says that it is not installed, and does not try again"
	if len(wrong) == 1 && strings.HasPrefix(wrong[0], "label") {
		after = "Fleet tries again and again"
	}
	item := r.add(invalidOwnership, ref, "%s exists, and Helm would refuse to install release %s over it (invalid ownership metadata): %s; %s", ref.Key(),
		r.d.Ownership.Release(), strings.Join(wrong, ", "), after)
	item.Remediation = adopt(r.c, r.d)
	if slices.ContainsFunc(others, adoption.Holder.Living) {
		item.Remediation = ""
	}
	return true
}

// wrongKeys says which of Helm's keys are not those of the release.
func wrongKeys(have, want ownership.Metadata) []string {
	var out []string
	for _, k := range []struct{ kind, name, have, want string }{
		{"label", fleet.ManagedByLabel, have.ManagedBy, want.ManagedBy},
		{"annotation", fleet.ReleaseNameAnnotation, have.ReleaseName, want.ReleaseName},
		{"annotation", fleet.ReleaseNamespaceAnnotation, have.ReleaseNamespace, want.ReleaseNamespace},
	} {
		switch k.have {
		case k.want:
		case "":
			out = append(out, fmt.Sprintf("%s %s is not there", k.kind, k.name))
		default:
			out = append(out, fmt.Sprintf("%s %s is %q", k.kind, k.name, k.have))
		}
	}
	return out
}

// takeOver says that an object changes hands, and why nobody asks.
func (r *rollout) takeOver(o *evaluate.Object, ref *object.Ref) {
	why := "it carries Helm's keys of this release"
	switch {
	case r.Action == "":
		return
	case r.Action == report.RolloutUpgrade:
		why = "Fleet has every upgrade take over whatever exists"
	case r.takes:
		why = "the bundle has helm.takeOwnership"
	}
	r.add(takenOver, ref, "%s exists and becomes the bundle's without a word: %s", o.Key(), why)
}

// overwrites says which fields the rollout changes, and where it would fail over one.
func (r *rollout) overwrites(o *evaluate.Object, ref *object.Ref) {
	if len(o.Differences) == 0 {
		return
	}
	what := "1 field that differs"
	if n := len(o.Differences); n > 1 {
		what = fmt.Sprintf("%d fields that differ", n)
	}
	if owners := adoption.Conflicting(r.d, o.Differences); len(owners) > 0 {
		item := r.add(applyConflict, ref, "%s: Helm applies the release server-side, and %s owns %s: the apply fails on the conflict", o.Key(), strings.Join(owners, " and "), what)
		item.Overwrites = report.Differences(o.Differences)
		item.Remediation = "set the fields to what the bundle states, or set helm.force on the bundle"
		return
	}
	r.add(overwritten, ref, "%s: the rollout overwrites %s from the bundle", o.Key(), what).Overwrites = report.Differences(o.Differences)
}
