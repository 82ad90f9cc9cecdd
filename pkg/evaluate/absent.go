// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Absent observes a desired object of which no live object was listed. The list of its kind is nil if it was not read.
func Absent(o *desired.Object, l *List) Object {
	out := newObject(o)
	var coverage source.Coverage
	if l != nil {
		coverage = l.Coverage
	}
	if f, covered := coverage.Of(o.Namespace); !covered {
		out.State, out.Reason, out.Message = Unknown, string(f.Reason), f.Detail
		return out
	}
	out.State, out.TTLAfterFinished, out.Dependent = Missing, TTLAfterFinished(o), dependent(o)
	return out
}

// dependent returns "kind name" of the owner that the manifest of an object states; empty if it states none.
func dependent(o *desired.Object) string {
	var m struct {
		Metadata struct {
			Owners []struct {
				Kind string `json:"kind"`
				Name string `json:"name"`
			} `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if object.Into(o.Raw, &m) != nil || len(m.Metadata.Owners) == 0 {
		return "" // a manifest that cannot be decoded sets no field
	}
	return m.Metadata.Owners[0].Kind + " " + m.Metadata.Owners[0].Name
}

// TTLAfterFinished returns spec.ttlSecondsAfterFinished of a Job's manifest; nil for any other object.
func TTLAfterFinished(o *desired.Object) *int64 {
	if o.Kind != "Job" || object.Group(o.APIVersion) != "batch" {
		return nil
	}
	var job struct {
		Spec struct {
			TTLSecondsAfterFinished *int64 `json:"ttlSecondsAfterFinished"`
		} `json:"spec"`
	}
	if object.Into(o.Raw, &job) != nil {
		return nil // a manifest that cannot be decoded sets no field
	}
	return job.Spec.TTLSecondsAfterFinished
}
