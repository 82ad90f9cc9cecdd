// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

const replicasPath = ".spec.replicas"

// AutoscalerKind is the kind of a HorizontalPodAutoscaler.
var AutoscalerKind = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}

// Autoscaler is a HorizontalPodAutoscaler: its target, and its minimum and maximum number of replicas.
type Autoscaler struct {
	key    autoscalerKey
	target object.Key
	// minimum and maximum are the numbers of replicas between which it may choose.
	minimum, maximum int64
}

// autoscalerKey is the identity of an Autoscaler on its cluster.
type autoscalerKey struct{ namespace, name string }

// ReadAutoscaler reads an Autoscaler, given as JSON. It returns nil if that cannot be decoded: such an autoscaler
// explains no difference.
func ReadAutoscaler(raw []byte) *Autoscaler {
	var h struct {
		object.Meta
		Spec autoscalingv1.HorizontalPodAutoscalerSpec `json:"spec"` // these fields are the same in every version
	}
	if err := object.Into(raw, &h); err != nil {
		return nil
	}
	t := h.Spec.ScaleTargetRef
	return &Autoscaler{
		key: autoscalerKey{h.Metadata.Namespace, h.Metadata.Name},
		target: object.Key{Group: object.Group(t.APIVersion), Kind: t.Kind, Namespace: h.Metadata.Namespace,
			Name: t.Name},
		minimum: int64(ptr.Deref(h.Spec.MinReplicas, 1)), maximum: int64(h.Spec.MaxReplicas),
	}
}

// scales reports whether an object is the target of the autoscaler. The group of a target is optional.
func (a Autoscaler) scales(k object.Key) bool {
	if a.target.Group == "" {
		k.Group = ""
	}
	return a.target == k
}

func anyScales(all []Autoscaler, k object.Key) bool {
	return slices.ContainsFunc(all, func(a Autoscaler) bool { return a.scales(k) })
}

func (o *Object) replicasDiffer() bool {
	return o.State == Modified && slices.ContainsFunc(o.Differences, func(d Difference) bool {
		return d.Path == replicasPath
	})
}

// explainReplicas removes the difference in replicas of an object if an autoscaler explains it, and returns whether one
// does. unread is true if not all autoscalers could be read.
func (o *Object) explainReplicas(scalers map[autoscalerKey]Autoscaler, unread bool) bool {
	key := o.Key()
	explained := false
	// The copy keeps the observation unchanged.
	o.Differences = slices.DeleteFunc(slices.Clone(o.Differences), func(d Difference) bool {
		n, ok := d.Live.Reveal().(int64)
		within := ok && d.Path == replicasPath && setsReplicas(scalers, key, n)
		explained = explained || within
		return within
	})
	for i := range o.Differences {
		d := &o.Differences[i]
		if d.Path != replicasPath {
			continue
		}
		if unread {
			d.Note = "an autoscaler may have set it: autoscalers could not be read"
		}
		o.Autoscaled = unread || scaled(scalers, key)
	}
	o.Scaled = explained
	if len(o.Differences) == 0 {
		o.Differences, o.State = nil, Ready
		if o.NotReady {
			o.State = NotReady
		}
	}
	return explained
}

// scaled reports whether an autoscaler scales an object.
func scaled(scalers map[autoscalerKey]Autoscaler, key object.Key) bool {
	for _, a := range scalers {
		if a.scales(key) {
			return true
		}
	}
	return false
}

// setsReplicas reports whether an autoscaler may have set an object's number of replicas.
func setsReplicas(scalers map[autoscalerKey]Autoscaler, key object.Key, replicas int64) bool {
	for _, a := range scalers {
		if a.scales(key) && a.minimum <= replicas && replicas <= a.maximum {
			return true
		}
	}
	return false
}
