// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// manifests reports what the manifests themselves show.
func (r *rollout) manifests() {
	for _, o := range r.d.Desired {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue // its object could not be evaluated
		}
		if m.Metadata.Name == "" {
			r.add("GenerateName", &o.Ref, "%s has a generateName and no name: every deploy fails (\"resource name may "+
				"not be empty\")", o.Key()).
				Remedies = advise("give the object a name")
		}
		by := m.Metadata.Labels[fleet.ManagedByLabel]
		if replaced := by != "" && by != fleet.ManagedByHelm; replaced && !r.acceptsHelmsLabel(o) {
			r.add("ManagedBy", &o.Ref, "%s has the label %s=%s, which Helm sets to %s at each deploy: Fleet reports "+
				"it as modified permanently", o.Key(), fleet.ManagedByLabel, by, fleet.ManagedByHelm).
				Remedies = advise("remove the label from the manifest; correctDrift would deploy again and again")
		}
	}
}

// acceptsHelmsLabel reports whether the comparePatches of the bundle exclude the label that Helm writes into an object.
func (r *rollout) acceptsHelmsLabel(o *resolve.Object) bool {
	diff := r.d.Options().Diff
	if diff == nil || !compare.Applies(diff.ComparePatches, o.Ref) {
		return false
	}
	desired, _, err := object.Decode(o.Raw)
	if err != nil {
		return false
	}
	live, _, _ := object.Decode(o.Raw)
	if unstructured.SetNestedField(live, fleet.ManagedByHelm, "metadata", "labels", fleet.ManagedByLabel) != nil {
		return false
	}
	desired, desiredErr := compare.ApplyDesired(diff.ComparePatches, o.Ref, desired)
	live, liveErr := compare.Apply(diff.ComparePatches, o.Ref, live)
	return errors.Join(desiredErr, liveErr) == nil && len(compare.Objects(desired, live, o.GroupVersionKind())) == 0
}

// notServed reports an object of a kind that the cluster does not serve. It returns false for any other object.
func (r *rollout) notServed(o *evaluate.Object) bool {
	if !o.NotServed() {
		return false
	}
	kind := o.GroupVersionKind().GroupKind()
	if slices.Contains(r.d.Rendering.Defines, kind) {
		r.Counts.Create++ // Helm creates the definition first
		return true
	}
	r.Counts.Unknown++
	item := r.add("KindNotServed", &o.Ref, "%s: the cluster does not serve its kind, and Helm refuses the bundle "+
		"before it creates anything (\"no matches for kind\")", o.Key())
	item.Remedies = advise("install the definition of the kind first")
	if slices.ContainsFunc(r.d.Desired, func(d *resolve.Object) bool { return defines(d.Raw, kind) }) {
		item.Message += "; its definition is in the same manifest"
		item.Remedies = advise("move the definition to crds/ of a chart, or to another bundle that dependsOn names")
	}
	return true
}

// defines reports whether the JSON of an object is the definition of a kind.
func defines(raw []byte, kind schema.GroupKind) bool {
	defined, ok := object.Defined(raw)
	return ok && defined == kind
}
