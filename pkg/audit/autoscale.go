// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

const replicasPath = ".spec.replicas"

// scaler is a HorizontalPodAutoscaler: what it scales, and between what.
type scaler struct {
	target object.Key
	bounds compare.Range
}

// scales says whether an object is the scaler's target. A target need not say its group.
func (s scaler) scales(k object.Key) bool {
	if s.target.Group == "" {
		k.Group = ""
	}
	return s.target == k
}

var scalerKind = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}

func isScaler(gvk schema.GroupVersionKind) bool { return gvk.GroupKind() == scalerKind }

func (l *live) addScaler(raw []byte) {
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
		return // an autoscaler that cannot be read explains nothing
	}
	s := scaler{bounds: compare.Range{Min: 1, Max: h.Spec.MaxReplicas}}
	if h.Spec.MinReplicas != nil {
		s.bounds.Min = *h.Spec.MinReplicas
	}
	t := h.Spec.ScaleTargetRef
	s.target = object.Ref{APIVersion: t.APIVersion, Kind: t.Kind, Namespace: h.Metadata.Namespace, Name: t.Name}.Key()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scalers = append(l.scalers, s)
}

// autoscaled takes back the differences in replicas that an autoscaler accounts for, of the bundle or not. Autoscalers are only listed
// where something differs that they may account for.
func (l *live) autoscaled(ctx context.Context) error {
	if len(l.scaled) == 0 {
		return nil
	}
	if k, ok := l.kinds.Preferred(scalerKind); ok && !l.scalersRead {
		q := source.Query{Kind: k.GroupVersionKind}
		for _, s := range l.scaled {
			q.Fallback = append(q.Fallback, s.object.Namespace)
		}
		slices.Sort(q.Fallback)
		q.Fallback = slices.Compact(q.Fallback)
		cover, err := l.src.List(ctx, q, func(o source.Object) error {
			l.addScaler(o.Raw)
			return nil
		})
		if err != nil {
			return err
		}
		l.scalersUnread(cover)
	}
	for _, s := range l.scaled {
		for _, h := range l.scalers {
			if h.scales(s.object.Key()) {
				l.dropReplicas(s.object, h.bounds)
			}
		}
	}
	return nil
}

// scalersUnread says, beside each number of replicas that differs, that an autoscaler may account for it: they could not all be read.
func (l *live) scalersUnread(cover source.Coverage) {
	if len(cover.Failures()) == 0 {
		return
	}
	l.coverageGaps("listing HorizontalPodAutoscalers", cover, "a number of replicas that one of them has set shows as modified")
	for _, s := range l.scaled {
		for i := range s.object.Differences {
			if d := &s.object.Differences[i]; d.Path == replicasPath {
				d.Note = "an autoscaler may have set it: they could not be read"
			}
		}
	}
}

// dropReplicas removes the difference in replicas if the live number is within bounds.
func (l *live) dropReplicas(o *check.Object, bounds compare.Range) {
	o.Differences = slices.DeleteFunc(o.Differences, func(d report.Difference) bool {
		n, ok := d.Live.Shown().(int64)
		return d.Path == replicasPath && ok && bounds.Holds(n)
	})
	if len(o.Differences) == 0 {
		o.Differences, o.State = nil, report.Ready
		if o.NotReady {
			o.State = report.NotReady
		}
	}
}
