// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// compareUnowned sets the differences of an unowned object, which the next deploy of the bundle overwrites, and the
// data that adopting it needs.
func (c *cell) compareUnowned(o *Object) {
	var err error
	c.manifest, _, err = object.Decode(c.desired.Raw)
	if err != nil || c.decode() != nil || c.source.Kind != o.GroupVersionKind() {
		o.Message = "what the next deploy would change could not be predicted: the live object was not read in the " +
			"version of the manifest"
		return
	}
	diffs := c.differences(c.rules)
	if len(diffs) > 0 {
		o.Differences = c.attributed(o, diffs)
	}
	if o.Live == nil {
		return // nothing is predicted
	}
	if compare.Applies(c.bundleRules(), o.Ref) {
		o.Live.Excused = notIn(diffs, c.differences(stable(nil, c.desired)))
	}
	o.Live.Compared = len(c.desired.Unstable) == 0
	o.Live.LastApplied = c.leftBehind(c.meta.Metadata.Annotations[corev1.LastAppliedConfigAnnotation])
}

// bundleRules are the rules that the bundle itself states.
func (c *cell) bundleRules() []compare.Rule { return c.Evaluator.rules[c.desired.Deployment] }

// Conflicting lists the managers of the fields on which the next deploy may conflict: the differing fields of a
// release that is applied server-side. An absent field has no manager, and a field of Fleet's agent is no conflict.
func (d *BundleDeployment) Conflicting(diffs []Difference) []string {
	if !d.ServerSide {
		return nil
	}
	var out []string
	for _, x := range diffs {
		for _, manager := range x.Writers() {
			if manager != fleet.AgentManager && !slices.Contains(out, manager) {
				out = append(out, manager)
			}
		}
	}
	return out
}

// Leaves reports whether the next deploy leaves a field as it is: Helm patches a custom resource only where its
// manifest changes, unless it applies server-side or is forced (docs/fleet-behavior.md, 3.6).
func (d *BundleDeployment) Leaves(o *Object, x Difference) bool {
	patches := !d.ServerSide && !forces(d.Options())
	return patches && x.Unchanged && o.Custom()
}

// Custom reports whether the object is a custom resource, or of another kind that is not built in. If Helm does not
// apply it server-side, it patches it by the difference of two manifests, and does not see the live object.
func (o *Object) Custom() bool { return compare.Custom(o.GroupVersionKind()) }

// WrongType returns a field of the desired object whose type its kind does not accept, as a sentence; empty if there is
// none, or if that is not known.
func (d *BundleDeployment) WrongType(o *Object) string {
	return compare.TypeError(o.GroupVersionKind(), d.Desired[o.index].Raw)
}

// ChangedOnWrite reports whether Fleet's agent wrote all fields that differ last: an admission webhook, or the API
// server itself, may have changed what it sent. Of a custom resource, the agent may have sent no new value, and Helm
// itself changes its label.
func (o *Object) ChangedOnWrite() bool {
	other := func(d Difference) bool { return !d.ByAgent() || d.HelmWrites() }
	return len(o.Differences) > 0 && !o.Custom() && !slices.ContainsFunc(o.Differences, other)
}

// AcceptsHelmsLabel reports whether the comparePatches of its bundle exclude the label that Helm writes into an object.
func AcceptsHelmsLabel(d *desired.BundleDeployment, o *desired.Object) bool {
	rules := d.ComparePatches()
	if !compare.Applies(rules, o.Ref) {
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
	desired, desiredErr := compare.ApplyDesired(rules, o.Ref, desired)
	live, liveErr := compare.Apply(rules, o.Ref, live)
	return errors.Join(desiredErr, liveErr) == nil && len(compare.Objects(desired, live, o.GroupVersionKind())) == 0
}

// AcceptsMissing reports whether the comparePatches of its bundle exclude an object that is missing.
func AcceptsMissing(d *desired.BundleDeployment, o *desired.Object) bool {
	return compare.Ignored(d.ComparePatches(), o.Ref)
}

// HelmWrites reports whether a difference is in the label that Helm itself writes at each deploy: no deploy removes it.
func (x Difference) HelmWrites() bool {
	return x.Path == ".metadata.labels."+fleet.ManagedByLabel && x.Live.Reveal() == fleet.ManagedByHelm
}

// notIn returns the paths of the differences in all that are not in some.
func notIn(some, all []compare.Difference) []string {
	known := map[string]bool{}
	for _, d := range some {
		known[d.Path.String()] = true
	}
	var out []string
	for _, d := range all {
		if path := d.Path.String(); !known[path] {
			out = append(out, path)
		}
	}
	return out
}

// live returns the properties of the live object, except its ownership metadata.
func (l *liveObject) live() *Live {
	m := l.meta.Metadata
	return &Live{
		UID: m.UID, ResourceVersion: m.ResourceVersion, Deleting: m.DeletionTimestamp != "",
		Controller: l.meta.Controller(), Keep: m.Annotations[fleet.ResourcePolicyAnnotation] == "keep",
	}
}

// leftBehind returns the fields that the last-applied annotation and the object have and the manifest does not. Fleet
// reports the object as modified until they are removed (docs/fleet-behavior.md, 3.2).
func (c *cell) leftBehind(applied string) []string {
	last, _, err := object.Decode([]byte(applied))
	if applied == "" || err != nil {
		return nil
	}
	gone := compare.Objects(last, c.content, c.desired.GroupVersionKind())
	unstated := compare.Objects(last, c.manifest, c.desired.GroupVersionKind())
	return notIn(absent(gone), absent(unstated))
}

// absent returns the differences of fields that only the first of two objects has.
func absent(all []compare.Difference) []compare.Difference {
	return slices.DeleteFunc(all, func(d compare.Difference) bool { return d.LiveSet })
}
