// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Change evaluates one object again that was read at a time; nil if it does not exist. All objects of its kind are
// read. The manifests of those that desire it must be there. It returns the content of a desired Secret: its values
// must not be shown. The error means that the name of the object could not be read.
func (x *Evaluation) Change(kind schema.GroupVersionKind, key object.Key, live *source.Object,
	now time.Time) (secret object.Content, err error) {
	x.Evaluator = x.At(now)
	var seen Observation
	if live != nil {
		if seen, err = x.Observe(*live, kind); err != nil {
			return nil, err
		}
	}
	for _, o := range seen.Objects {
		x.Replace(o)
	}
	if live == nil {
		x.remove(kind, key)
		x.forget(kind, key)
	}
	if _, before := x.undesired[key]; before || seen.Undesired != nil {
		x.ReplaceUndesired(key, seen.Undesired)
	}
	if kind.GroupKind() == AutoscalerKind {
		x.ReplaceAutoscaler(key.Namespace, key.Name, seen.Autoscaler)
	}
	return seen.Secret, nil
}

// ChangeUndesired evaluates the metadata of an object again that no bundle deployment desires; nil if the object does
// not exist.
func (x *Evaluation) ChangeUndesired(key object.Key, m *object.Meta) {
	if m == nil {
		x.ReplaceUndesired(key, nil)
		return
	}
	x.ReplaceUndesired(key, x.ObserveUndesired(m))
}

// remove makes the desired objects of a name absent.
func (x *Evaluation) remove(kind schema.GroupVersionKind, key object.Key) {
	for _, o := range x.cluster.Of(key) {
		if x.evaluates(o, kind) {
			x.Replace(Absent(o, &List{Coverage: source.Covered()}))
		}
	}
}

// Due returns the desired objects whose observation may have changed without an event until now, and the next time at
// which one can change; zero if none can.
func (x *Evaluation) Due(now time.Time) (due []*desired.Object, next time.Time) {
	for _, d := range x.scope {
		for i := range x.cells[d.ID()] {
			o := &x.cells[d.ID()][i]
			switch {
			case o.LookAgain.IsZero():
			case !o.LookAgain.After(now):
				due = append(due, d.Desired[o.index])
			case next.IsZero() || o.LookAgain.Before(next):
				next = o.LookAgain
			}
		}
	}
	return due, next
}

// NeedsAutoscalers reports whether an autoscaler may explain a difference, and autoscalers were not listed.
func (x *Evaluation) NeedsAutoscalers() bool {
	if x.autoscalersListed {
		return false
	}
	for _, cells := range x.cells {
		for i := range cells {
			if cells[i].replicasDiffer() {
				return true
			}
		}
	}
	return false
}
