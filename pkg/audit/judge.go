// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/health"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// judged is one live object, decoded at most once, and held against each desired object of its name.
type judged struct {
	*live
	source  source.Object
	meta    *object.Meta
	content object.Content
	managed []byte
}

func (j *judged) judge(o *check.Object) {
	raw := o.Raw
	if !j.Keep {
		o.Raw = nil
	}
	want := o.Deployment.Ownership
	have := ownership.MetadataOf(j.meta.Metadata.Labels, j.meta.Metadata.Annotations)
	if isSecret(o.Ref) && j.decode() == nil {
		j.hide(j.content)
	}
	if j.Foresee {
		o.Live = j.known()
	}
	verdict := ownership.Classify(have, want)
	if verdict.Reason != ownership.Owned {
		o.State, o.Reason, o.Metadata = report.Unowned, string(verdict.Reason), have
		o.Owner = j.owner(have, o.Deployment)
		if j.Foresee {
			j.foresee(o, raw)
		}
		return
	}
	o.IDMismatch = verdict.IDMismatch
	o.Metadata = want // its strings are shared by the whole set
	if verdict.IDMismatch || j.Foresee {
		o.Metadata = have
	}
	if err := j.decode(); err != nil {
		o.State, o.Reason, o.Message = report.Unknown, string(source.ReadFailed), "the live object could not be decoded"
		return
	}
	desired, _, err := object.Decode(raw)
	if err != nil {
		o.State, o.Reason, o.Message = report.Unknown, string(inventory.RecordUnreadable), "the manifest's object could not be decoded"
		return
	}
	j.compare(o, desired, raw)
}

func (j *judged) decode() (err error) {
	if j.content == nil {
		if j.content, j.managed, err = object.Decode(j.source.Raw); err == nil {
			// API servers leave them out in the items of a list, and readiness goes by the kind.
			j.content["apiVersion"], j.content["kind"] = j.meta.APIVersion, j.meta.Kind
		}
	}
	return err
}

// compare decides between Modified, NotReady and Ready.
func (j *judged) compare(o *check.Object, desired object.Content, raw []byte) {
	verdict := health.Judge(j.content, ignored(o.Deployment), j.now)
	o.NotReady = !verdict.Ready
	diffs := j.differences(o, desired)
	if len(diffs) > 0 && j.source.Kind != o.GroupVersionKind() {
		o.State, o.Reason = report.Unknown, string(source.NotInSnapshot)
		o.Message = "it was captured as " + j.source.Kind.GroupVersion().String() + ", in which its fields cannot be compared"
		return
	}
	o.State = report.Ready
	if !verdict.Ready {
		o.State, o.Condition, o.Message = report.NotReady, verdict.Condition.String(), strings.Join(verdict.Messages, "; ")
	}
	if len(diffs) > 0 {
		j.modified(o, desired, diffs, raw)
	} else if j.ServerCheck == CheckAlways && j.Server != nil {
		j.suspect(o, raw)
	}
}

// differences compares under the bundle's own rules, and leaves out what comes out otherwise each time it is rendered.
func (j *judged) differences(o *check.Object, desired object.Content) []compare.Difference {
	have := j.content
	rules := j.rules[o.Deployment]
	if len(o.Unstable) > 0 {
		if slices.Contains(o.Unstable, "") {
			return nil
		}
		rules = append(slices.Clone(rules), compare.Rule{APIVersion: o.APIVersion, Kind: o.Kind, JSONPointers: o.Unstable})
	}
	if compare.Applies(rules, o.Ref) {
		d, dErr := compare.Apply(rules, o.Ref, desired)
		l, lErr := compare.Apply(rules, o.Ref, have)
		if dErr == nil && lErr == nil {
			desired, have = d, l
		}
	}
	return compare.Objects(desired, have, o.GroupVersionKind())
}

// attribute notes the differences with who made them, and with what the release record says where it is not what the bundle says.
func (j *judged) attribute(o *check.Object, desired object.Content, diffs []compare.Difference) {
	managers, err := compare.ReadManagers(j.managed, j.content)
	if err != nil {
		managers = &compare.Managers{} // who it was is not recorded legibly
	}
	o.Differences = o.Differences[:0]
	recorded := j.recorded(o, desired)
	value := valuesOf(o.Ref, desired, j.content)
	for _, d := range diffs {
		out := difference(d, managers, value)
		if r, other := recorded[out.Path]; other && r.LiveSet {
			out.Release = value(d, r.Live)
		}
		o.Differences = append(o.Differences, out)
	}
}

// recorded are the fields in which the release record says something else than the bundle, by path.
func (j *judged) recorded(o *check.Object, desired object.Content) map[string]compare.Difference {
	raw, ok := o.Deployment.Recorded[o.Key()]
	if !ok {
		return nil
	}
	release, _, err := object.Decode(raw)
	if err != nil {
		return nil // that is said of the record
	}
	out := map[string]compare.Difference{}
	for _, d := range compare.Objects(desired, release, o.GroupVersionKind()) {
		out[d.Path.String()] = d
	}
	return out
}

// modified notes the differences, and what may explain them still.
func (j *judged) modified(o *check.Object, desired object.Content, diffs []compare.Difference, raw []byte) {
	j.attribute(o, desired, diffs)
	if slices.ContainsFunc(diffs, func(d compare.Difference) bool { return d.Path.String() == replicasPath }) {
		j.mu.Lock()
		j.scaled = append(j.scaled, suspect{o, nil})
		j.mu.Unlock()
	}
	o.State = report.Modified
	j.suspect(o, raw)
}

func (j *judged) suspect(o *check.Object, raw []byte) {
	if j.Server == nil || j.ServerCheck == CheckNever {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.suspects = append(j.suspects, suspect{o, raw})
}

func difference(d compare.Difference, managers *compare.Managers, value valueOf) report.Difference {
	out := report.Difference{Path: d.Path.String()}
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

func isSecret(r object.Ref) bool { return r.Kind == "Secret" && object.Group(r.APIVersion) == "" }

// hide takes note of a Secret's values, so that they are hidden wherever they may turn up.
func (l *live) hide(c object.Content) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets.AddSecret(c)
}

func ignored(d *inventory.Deployment) []map[string]string {
	if o := d.Options(); o.Ignore != nil {
		return o.Ignore.Conditions
	}
	return nil
}

// owner says who holds an object that is not its bundle's; nil where nobody does.
func (l *live) owner(have ownership.Metadata, d *inventory.Deployment) *report.Owner {
	if have.Hash == "" && have.SetID == "" && (have.ReleaseName == "" || have.Release() == d.Ownership.Release()) {
		return nil
	}
	out := &report.Owner{SetID: have.SetID, Hash: have.Hash, Release: have.Release()}
	holder := l.inv.OwnerOf(have)
	if holder != nil && holder != d {
		out.BundleDeployment = holder.Key()
	}
	return out
}
