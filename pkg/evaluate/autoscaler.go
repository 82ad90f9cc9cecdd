// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

const replicasPath = ".spec.replicas"

// AutoscalerKind is the kind of a HorizontalPodAutoscaler.
var AutoscalerKind = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}

// Autoscaler is a HorizontalPodAutoscaler: its target, and its minimum and maximum number of replicas.
type Autoscaler struct {
	target object.Key
	bounds compare.Range
}

// IsAutoscaler says whether a kind is that of an Autoscaler, in any version.
func IsAutoscaler(gvk schema.GroupVersionKind) bool { return gvk.GroupKind() == AutoscalerKind }

// ReadAutoscaler reads an Autoscaler, given as JSON. It returns nil if that cannot be decoded: such an autoscaler explains no difference.
func ReadAutoscaler(raw []byte) *Autoscaler {
	var h struct {
		Metadata struct {
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Spec struct {
			ScaleTargetRef struct {
				APIVersion string `json:"apiVersion"`
				Kind       string `json:"kind"`
				Name       string `json:"name"`
			} `json:"scaleTargetRef"`
			MinReplicas *int64 `json:"minReplicas"`
			MaxReplicas int64  `json:"maxReplicas"`
		} `json:"spec"`
	}
	if err := object.Into(raw, &h); err != nil {
		return nil
	}
	out := &Autoscaler{bounds: compare.Range{Min: 1, Max: h.Spec.MaxReplicas}}
	if h.Spec.MinReplicas != nil {
		out.bounds.Min = *h.Spec.MinReplicas
	}
	t := h.Spec.ScaleTargetRef
	out.target = object.Ref{APIVersion: t.APIVersion, Kind: t.Kind, Namespace: h.Metadata.Namespace, Name: t.Name}.Key()
	return out
}

// scales says whether an object is the target of the autoscaler. The group of a target is optional.
func (a Autoscaler) scales(k object.Key) bool {
	if a.target.Group == "" {
		k.Group = ""
	}
	return a.target == k
}

// AutoscalersMatter returns the sorted namespaces of the objects whose number of replicas differs. The caller lists the autoscalers of these
// namespaces. It returns nil if all autoscalers were read already.
func AutoscalersMatter(lists map[schema.GroupVersionKind]*List) []string {
	var out []string
	for gvk, l := range lists {
		if _, all := l.Coverage.Of(""); IsAutoscaler(gvk) && all && l.Whole {
			return nil
		}
		for i := range l.Objects {
			if l.Objects[i].replicasDiffer() {
				out = append(out, l.Objects[i].Namespace)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (o *Object) replicasDiffer() bool {
	return o.State == Modified && slices.ContainsFunc(o.Differences, func(d Difference) bool { return d.Path == replicasPath })
}

// explainReplicas removes the difference in replicas of an object if an autoscaler explains it, and returns whether one does. unread says that
// not all autoscalers could be read.
func (o *Object) explainReplicas(scalers []Autoscaler, unread bool) bool {
	key := o.Key()
	explained := false
	o.Differences = slices.Clone(o.Differences) // do not change the observation
	for _, a := range scalers {
		if !a.scales(key) {
			continue
		}
		o.Differences = slices.DeleteFunc(o.Differences, func(d Difference) bool {
			n, ok := d.Live.Reveal().(int64)
			within := d.Path == replicasPath && ok && a.bounds.Contains(n)
			explained = explained || within
			return within
		})
	}
	for i := range o.Differences {
		if d := &o.Differences[i]; unread && d.Path == replicasPath {
			d.Note = "an autoscaler may have set it: autoscalers could not be read"
		}
	}
	if len(o.Differences) == 0 {
		o.Differences, o.State = nil, Ready
		if o.NotReady {
			o.State = NotReady
		}
	}
	return explained
}
