// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Open opens the capture as a snapshot. A case has only the kinds that it is about: the cluster does not serve the
// other kinds of Fleet and Namespaces, unless the case says that they were not captured.
func (c *Capture) Open(ctx context.Context) (source.Source, error) {
	in, err := c.Stream()
	if err != nil {
		return nil, err
	}
	s, err := snapshot.Open(ctx, []string{"-"}, in)
	if err != nil {
		return nil, err
	}
	namespaces := corev1.SchemeGroupVersion.WithKind("Namespace")
	out := serving{Source: s, absent: map[schema.GroupVersionKind]bool{namespaces: !c.has("Namespace")}}
	for _, k := range state.Kinds {
		named := v1alpha1.GroupVersion.String() + "/" + k.Name
		out.absent[v1alpha1.Kind(k.Name)] = !c.has(k.Name) && !slices.Contains(c.notCaptured, named)
	}
	return out, nil
}

// has reports whether the capture has an object or a List of a kind.
func (c *Capture) has(kind string) bool {
	return slices.ContainsFunc(c.Documents, func(d map[string]any) bool {
		return d["kind"] == kind ||
			d["kind"] == kind+"List"
	})
}

// serving is a snapshot of a cluster that does not serve some kinds.
type serving struct {
	source.Source
	absent map[schema.GroupVersionKind]bool
}

// List implements source.Source.
func (s serving) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if s.absent[q.Kind] {
		return source.NotCovered(source.Failure{Reason: source.KindNotServed}), nil
	}
	return s.Source.List(ctx, q, yield)
}
