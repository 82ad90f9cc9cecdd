// SPDX-License-Identifier: Apache-2.0

package audit

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// foresee finds out what adopting an unowned object takes, and what would follow: its differences are those that the bundle's next deploy
// overwrites.
func (j *judged) foresee(o *check.Object, raw []byte) {
	desired, _, err := object.Decode(raw)
	if err != nil || j.decode() != nil || j.source.Kind != o.GroupVersionKind() {
		o.Message = "what the next deploy would change could not be foreseen: it is not there in the version of the manifest"
		return
	}
	if diffs := j.differences(o, desired); len(diffs) > 0 {
		j.attribute(o, desired, diffs)
	}
	o.Live.LastApplied = leftBehind(j.meta.Metadata.Annotations[corev1.LastAppliedConfigAnnotation], desired, j.content, o)
}

// known is what is known of a live object beside its marks.
func (j *judged) known() *check.Live {
	m := j.meta.Metadata
	return &check.Live{
		UID: m.UID, ResourceVersion: m.ResourceVersion, Stamps: ownership.StampsOf(m.Labels, m.Annotations), Deleting: m.DeletionTimestamp != "",
		Controller: j.meta.Controller(), Keep: m.Annotations[fleet.ResourcePolicyAnnotation] == "keep", OwnedSet: ownership.OwnedSet(m.Annotations),
	}
}

// leftBehind lists what a last-applied annotation states and the manifest does not, as far as the object has it: Fleet would have it removed,
// and calls the object modified until it is (Fleet's facts, drift 3.2).
func leftBehind(applied string, desired, live object.Content, o *check.Object) []string {
	last, _, err := object.Decode([]byte(applied))
	if applied == "" || err != nil {
		return nil
	}
	gone := map[string]bool{}
	for _, d := range compare.Objects(last, live, o.GroupVersionKind()) {
		if !d.LiveSet {
			gone[d.Path.String()] = true
		}
	}
	var out []string
	for _, d := range compare.Objects(last, desired, o.GroupVersionKind()) {
		if path := d.Path.String(); !d.LiveSet && !gone[path] {
			out = append(out, path)
		}
	}
	return out
}
