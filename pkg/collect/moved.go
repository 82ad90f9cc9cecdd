// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Moved reads some of Fleet's objects again, and returns those whose numbers are not as they were, or that could not be
// read. Of BundleDeployments and Bundles, which can be large and which Fleet writes only when something changes, it
// reads only the metadata.
func (r *Reader) Moved(ctx context.Context, f *state.Fleet, refs map[object.Ref]bool) (map[object.Ref]bool, error) {
	r.progress.start("reading numbers again")
	out := map[object.Ref]bool{}
	for _, kind := range state.Kinds {
		wanted := map[object.Ref]bool{}
		for ref := range refs {
			if ref.Kind == kind.Name {
				wanted[ref] = true
			}
		}
		if len(wanted) == 0 {
			continue
		}
		before := map[object.Ref]v1alpha1.Object{}
		for _, o := range kind.Of(f) {
			if ref := refTo(kind.Name, o.GetNamespace(), o.GetName()); wanted[ref] {
				before[ref] = o
			}
		}
		same, err := r.unmoved(ctx, kind, wanted, before)
		if err != nil {
			return nil, err
		}
		for ref := range wanted {
			if !same[ref] {
				out[ref] = true
			}
		}
	}
	return out, nil
}

// unmoved returns the objects of one kind that are as they were before.
func (r *Reader) unmoved(ctx context.Context, kind state.Kind, wanted map[object.Ref]bool,
	before map[object.Ref]v1alpha1.Object) (map[object.Ref]bool, error) {
	out := map[object.Ref]bool{}
	if kind.Name == state.BundleDeployment || kind.Name == state.Bundle {
		now, _, err := r.identities(ctx, kind.Name, wanted)
		for ref, x := range now {
			o := before[ref]
			out[ref] = o != nil && x.uid == o.GetUID() && x.version == o.GetResourceVersion()
		}
		return out, err
	}
	again := &state.Fleet{}
	if _, err := r.list(ctx, listOf(kind.Name, wanted), func(o source.Object) error {
		return kind.Add(again, o.Raw)
	}); err != nil {
		return nil, err
	}
	for _, o := range kind.Of(again) {
		ref := refTo(kind.Name, o.GetNamespace(), o.GetName())
		if was := before[ref]; was != nil {
			out[ref] = was.GetUID() == o.GetUID() && reflect.DeepEqual(numbersOf(was), numbersOf(o))
		}
	}
	return out, nil
}

// numbersOf returns the part of a status that Fleet computes from the objects below. The rest, such as a heartbeat or
// the time of a poll, changes without them.
func numbersOf(o v1alpha1.Object) any {
	switch o := o.(type) {
	case *v1alpha1.Cluster:
		s := o.Status
		s.Agent, s.AgentRecord = v1alpha1.AgentStatus{}, v1alpha1.AgentRecord{}
		return s
	case *v1alpha1.GitRepo:
		return withoutConditions(o.Status.Status)
	case *v1alpha1.HelmOp:
		return withoutConditions(o.Status)
	case *v1alpha1.ClusterGroup:
		s := o.Status
		s.Status = withoutConditions(s.Status)
		return s
	}
	return o
}

func withoutConditions(s v1alpha1.Status) v1alpha1.Status {
	s.Conditions = nil
	return s
}

// listOf returns the query for a kind in the namespaces of some objects.
func listOf(kind string, wanted map[object.Ref]bool) source.Query {
	seen := map[string]bool{}
	for ref := range wanted {
		seen[ref.Namespace] = true
	}
	namespaces := slices.Sorted(maps.Keys(seen))
	q := source.Query{Kind: v1alpha1.Kind(kind), Namespaces: namespaces}
	if len(namespaces) > manyNamespaces {
		q.Namespaces, q.Fallback = nil, namespaces
	}
	return q
}
