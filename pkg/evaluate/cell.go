// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// cell is a live object while it is compared with one desired object.
type cell struct {
	*liveObject
	desired    *desired.Object
	deployment *desired.BundleDeployment // that desires it
	// rules are those of the bundle, and one that ignores the fields that differ each time it is rendered.
	rules []compare.Rule
	// manifest is the content of the desired object, once it was decoded.
	manifest object.Content
}

// liveObject is one live object, decoded at most once.
type liveObject struct {
	*Evaluator
	source  source.Object
	meta    *object.Meta
	content object.Content
	managed []byte
}

func (l *liveObject) decode() (err error) {
	if l.content == nil {
		if l.content, l.managed, err = l.source.Decode(); err == nil {
			// API servers omit them in the items of a list, and readiness depends on the kind.
			l.content["apiVersion"], l.content["kind"] = l.meta.APIVersion, l.meta.Kind
		}
	}
	return err
}

// differences compares with rules.
func (c *cell) differences(rules []compare.Rule) []compare.Difference {
	if slices.Contains(c.desired.Unstable, "") {
		return nil
	}
	desired, live := applied(compare.ApplyDesired, rules, c.desired.Ref, c.manifest, c.content)
	return compare.Objects(desired, live, c.desired.GroupVersionKind())
}

// stable returns the rules, and one that ignores the fields that differ each time the bundle is rendered.
func stable(rules []compare.Rule, o *desired.Object) []compare.Rule {
	if len(o.Unstable) == 0 {
		return rules
	}
	return append(slices.Clone(rules), compare.Rule{APIVersion: o.APIVersion, Kind: o.Kind, JSONPointers: o.Unstable})
}

// applied applies a bundle's rules to two states of an object, with the function `first` to the first one. It returns
// them unchanged if a rule cannot be applied to one of them.
func applied(first func([]compare.Rule, object.Ref, map[string]any) (map[string]any, error), rules []compare.Rule,
	ref object.Ref, a, b object.Content) (object.Content, object.Content) {
	if !compare.Applies(rules, ref) {
		return a, b
	}
	x, xErr := first(rules, ref, a)
	y, yErr := compare.Apply(rules, ref, b)
	if xErr != nil || yErr != nil {
		return a, b
	}
	return x, y
}

// attributed returns the differences with their field managers, and with the value of the release record if the bundle
// has another one.
func (c *cell) attributed(o *Object, diffs []compare.Difference) []Difference {
	managers, err := compare.ReadManagers(c.managed, c.content)
	if err != nil {
		managers = &compare.Managers{} // the managers could not be read
	}
	agents := agentsOf(managers)
	if o.Live != nil {
		o.Live.Restored = managers.LastWrite(fleet.AgentManager, ownership.FieldManager)
	}
	o.addedByOthers = map[string]bool{}
	recorded, known := c.recordedFields()
	value := valuesOf(o.Ref, c.manifest, c.content)
	out := make([]Difference, 0, len(diffs))
	for _, d := range diffs {
		x := difference(d, managers, value)
		if x.Manager != "" && !slices.Contains(agents, x.Manager) {
			o.addedByOthers[x.Path] = true
		}
		if r, other := recorded[x.Path]; other && r.LiveSet {
			x.Release = value(d, r.Live)
		}
		if known {
			x.Changed = concerns(recorded, d.Path)
			x.Unchanged = !x.Changed
		}
		if o.Live != nil && compare.Fixed(o.GroupVersionKind().GroupKind(), d, c.content) {
			o.Live.Fixed = append(o.Live.Fixed, x.Path)
		}
		out = append(out, x)
	}
	return out
}

// agentsOf returns the managers that wrote the ownership metadata of the object: Fleet's agent, and Helm before it.
func agentsOf(managers *compare.Managers) []string {
	var out []string
	for _, field := range [][]string{{"labels", fleet.HashLabel}, {"annotations", fleet.ReleaseNameAnnotation}} {
		path := fieldpath.MakePathOrDie("metadata", field[0], field[1])
		if m := managers.Of(compare.Difference{Path: path, Live: "", LiveSet: true}); m != nil {
			out = append(out, m.Name)
		}
	}
	return out
}

// concerns reports whether one of the differences is in a field, in a part of it, or in what has it as a part.
func concerns(differences map[string]compare.Difference, path fieldpath.Path) bool {
	for _, d := range differences {
		n := min(len(d.Path), len(path))
		if d.Path[:n].Equals(path[:n]) {
			return true
		}
	}
	return false
}

// recordedFields returns the fields in which the release record and the bundle differ, by path. known is false if the
// record does not have the object.
func (c *cell) recordedFields() (fields map[string]compare.Difference, known bool) {
	raw, ok := c.deployment.Recorded[c.desired.Key()]
	if !ok {
		return nil, false
	}
	recorded, _, err := object.Decode(raw)
	if err != nil {
		return nil, false // the record itself is reported as damaged
	}
	out := map[string]compare.Difference{}
	for _, d := range compare.Objects(c.manifest, recorded, c.desired.GroupVersionKind()) {
		out[d.Path.String()] = d
	}
	return out, true
}

func difference(d compare.Difference, managers *compare.Managers, value valueOf) Difference {
	out := Difference{Path: d.Path.String(), Steps: stepsOf(d.Path)}
	if d.DesiredSet {
		out.Desired = value(d, d.Desired)
	}
	if d.LiveSet {
		out.Live = value(d, d.Live)
	}
	if d.Order {
		out.Note = "the order differs"
	}
	if m := managers.Of(d); m != nil {
		out.Manager, out.Operation, out.Subresource = m.Name, m.Operation, m.Subresource
		if !m.Time.IsZero() {
			out.Time = m.Time.Format(time.RFC3339)
		}
		if owners := managers.Owners(d); len(owners) > 1 {
			out.Owners = owners
		}
	}
	out.AtAdmission = managers.Unclaimed(d)
	return out
}

// Writer describes the last writer of a field and the time, if the object records them.
func Writer(d compare.Difference, managers *compare.Managers) string {
	return difference(d, managers, plain).Who()
}

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
