// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"
	"time"

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
	for _, at := range [][]string{{"labels", fleet.HashLabel}, {"annotations", fleet.ReleaseNameAnnotation}} {
		path := fieldpath.MakePathOrDie("metadata", at[0], at[1])
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
