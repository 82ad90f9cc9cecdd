// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/health"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// liveObject is one live object, decoded at most once, and compared with each desired object of its name.
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

// evaluate returns the state of a desired object that has this live object.
func (l *liveObject) evaluate(desired *resolve.Object, rules []compare.Rule) Object {
	o := Object{Object: desired}
	d := desired.Deployment
	have := ownership.MetadataOf(l.meta.Metadata.Labels, l.meta.Metadata.Annotations)
	if l.options.Predict {
		o.Live = l.live()
	}
	if f := source.NotCaptured; l.source.Partial {
		o.State, o.Reason, o.Message, o.Metadata = Unknown, string(f.Reason), f.Detail, have
		return o
	}
	class, idMismatch := ownership.Classify(have, d.Ownership)
	if class != ownership.Owned {
		o.State, o.Reason, o.Metadata, o.Owner = Unowned, string(class), have, l.owner(have, d)
		l.compareUnowned(&o, rules)
		return o
	}
	o.IDMismatch = idMismatch
	o.Metadata = d.Ownership // its strings are shared by the whole set
	if idMismatch || l.options.Predict {
		o.Metadata = have
	}
	if err := l.decode(); err != nil {
		o.State, o.Reason, o.Message = Unknown, string(source.ReadFailed), "the live object could not be decoded"
		return o
	}
	content, _, err := object.Decode(desired.Raw)
	if err != nil {
		o.State, o.Reason, o.Message = Unknown, string(directory.RecordUnreadable), "the manifest's object could not be decoded"
		return o
	}
	l.compare(&o, content, rules)
	return o
}

// compare sets the state Modified, NotReady or Ready.
func (l *liveObject) compare(o *Object, desired object.Content, rules []compare.Rule) {
	rules = stable(rules, o)
	readiness := health.Evaluate(l.content, ignored(o.Deployment), l.options.Now)
	diffs := l.differences(o, desired, rules)
	if len(diffs) > 0 && l.source.Kind != o.GroupVersionKind() {
		o.State, o.Reason, o.NotReady = Unknown, string(source.NotInSnapshot), !readiness.Ready
		o.Message = "it was captured as " + l.source.Kind.GroupVersion().String() + ", in which its fields cannot be compared"
		return
	}
	if l.options.Masked && o.Deployment.Unmasked() && slices.ContainsFunc(diffs, liveMasked) {
		o.State, o.Reason, o.NotReady = Unknown, string(source.NotInSnapshot), !readiness.Ready
		o.Message = "its values are masked in the snapshot, and cannot be compared with those of the bundle"
		return
	}
	o.setReadiness(readiness)
	if applied := l.meta.Metadata.Annotations[corev1.LastAppliedConfigAnnotation]; applied != "" && len(diffs) == 0 {
		o.LastApplied = len(leftBehind(applied, desired, l.content, o)) > 0
	}
	if len(diffs) > 0 {
		o.Differences = l.attributed(o, desired, diffs)
		for i, p := range compare.Pointers(rules, o.Ref, desired, l.content, diffs) {
			o.Differences[i].Pointer = p
		}
		o.State = Modified
	}
}

// liveMasked reports whether the live side of a difference has a mask.
func liveMasked(d compare.Difference) bool {
	masked := false
	redact.Leaves(d.Live, func(text string) {
		plain, err := base64.StdEncoding.DecodeString(text) // in a Secret
		masked = masked || strings.Contains(text, redact.MaskPrefix) || err == nil && strings.HasPrefix(string(plain), redact.MaskPrefix)
	})
	return masked
}

// setReadiness makes the object Ready or NotReady.
func (o *Object) setReadiness(v health.Readiness) {
	o.State, o.NotReady, o.Condition, o.Message = Ready, !v.Ready, "", ""
	if !v.Ready {
		o.State, o.Condition, o.Message = NotReady, v.Condition.String(), strings.Join(v.Messages, "; ")
	}
}

// stable returns the rules, and one that ignores the fields that differ each time the bundle is rendered.
func stable(rules []compare.Rule, o *Object) []compare.Rule {
	if len(o.Unstable) == 0 {
		return rules
	}
	return append(slices.Clone(rules), compare.Rule{APIVersion: o.APIVersion, Kind: o.Kind, JSONPointers: o.Unstable})
}

// differences compares with the bundle's own rules.
func (l *liveObject) differences(o *Object, desired object.Content, rules []compare.Rule) []compare.Difference {
	if slices.Contains(o.Unstable, "") {
		return nil
	}
	desired, live := applied(compare.ApplyDesired, rules, o.Ref, desired, l.content)
	return compare.Objects(desired, live, o.GroupVersionKind())
}

// applied applies a bundle's rules to two states of an object, with the function `first` to the first one. It returns them unchanged if a rule cannot be
// applied to one of them.
func applied(first func([]compare.Rule, object.Ref, map[string]any) (map[string]any, error), rules []compare.Rule, ref object.Ref, a, b object.Content) (object.Content, object.Content) {
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

// attributed returns the differences with their field managers, and with the value of the release record if the bundle has another one.
func (l *liveObject) attributed(o *Object, desired object.Content, diffs []compare.Difference) []Difference {
	managers, err := compare.ReadManagers(l.managed, l.content)
	if err != nil {
		managers = &compare.Managers{} // the managers could not be read
	}
	agents := l.agents(managers)
	o.addedByOthers = map[string]bool{}
	recorded := recordedFields(o, desired)
	value := valuesOf(o.Ref, desired, l.content)
	out := make([]Difference, 0, len(diffs))
	for _, d := range diffs {
		x := difference(d, managers, value)
		if x.Manager != "" && !slices.Contains(agents, x.Manager) {
			o.addedByOthers[x.Path] = true
		}
		if r, other := recorded[x.Path]; other && r.LiveSet {
			x.Release = value(d, r.Live)
		}
		out = append(out, x)
	}
	return out
}

// agents returns the managers that wrote the ownership metadata of the object: Fleet's agent, and Helm before it.
func (l *liveObject) agents(managers *compare.Managers) []string {
	var out []string
	for _, at := range [][]string{{"labels", fleet.HashLabel}, {"annotations", fleet.ReleaseNameAnnotation}} {
		path := fieldpath.MakePathOrDie("metadata", at[0], at[1])
		if m := managers.Of(compare.Difference{Path: path, Live: "", LiveSet: true}); m != nil {
			out = append(out, m.Name)
		}
	}
	return out
}

// recordedFields returns the fields in which the release record and the bundle differ, by path.
func recordedFields(o *Object, desired object.Content) map[string]compare.Difference {
	raw, ok := o.Deployment.Recorded[o.Key()]
	if !ok {
		return nil
	}
	recorded, _, err := object.Decode(raw)
	if err != nil {
		return nil // the record itself is reported as damaged
	}
	out := map[string]compare.Difference{}
	for _, d := range compare.Objects(desired, recorded, o.GroupVersionKind()) {
		out[d.Path.String()] = d
	}
	return out
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
	}
	out.AtAdmission = managers.Unclaimed(d)
	return out
}

// Writer describes the last writer of a field and the time, if the object records them.
func Writer(d compare.Difference, managers *compare.Managers) string {
	return difference(d, managers, plain).Who()
}

func ignored(d *resolve.BundleDeployment) []map[string]string {
	if o := d.Options(); o.Ignore != nil {
		return o.Ignore.Conditions
	}
	return nil
}

// owner returns the other owner of an object that its bundle does not own; nil without another owner.
func (l *liveObject) owner(have ownership.Metadata, d *resolve.BundleDeployment) *Owner {
	if have.Hash == "" && have.SetID == "" && (have.ReleaseName == "" || have.Release() == d.Ownership.Release()) {
		return nil
	}
	out := &Owner{SetID: have.SetID, Hash: have.Hash, Release: have.Release()}
	if owner := l.desired.OwnerOf(have); owner != nil && owner != d {
		out.BundleDeployment = owner.Key()
	}
	return out
}
