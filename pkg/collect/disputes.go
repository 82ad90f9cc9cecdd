// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Carriers counts, for each dispute on a cluster that no running agent settles, the live objects that have one of its
// two sets. It lists only the metadata of objects that have a set. c is the state of the cluster.
func (r *Reader) Carriers(ctx context.Context, d *directory.Directory,
	c *state.Cluster) (map[directory.DisputeKey]directory.Carriers, error) {
	out := map[directory.DisputeKey]directory.Carriers{}
	for _, x := range d.Cluster(object.ClusterID(c.Name)).Disputes {
		if x.Used.Proven() {
			continue
		}
		counted, err := r.carriers(ctx, disputed(d, c, x))
		if err != nil {
			return nil, err
		}
		out[x.Key()] = counted
	}
	return out, nil
}

// sets are the hashes of the two sets that a dispute is about.
type sets struct{ used, declared string }

// disputedObjects are the desired objects of a dispute: their namespaces by kind, and the sets that each may have.
type disputedObjects struct {
	namespaces map[schema.GroupVersionKind][]string
	sets       map[object.Key][]sets
}

func disputed(d *directory.Directory, c *state.Cluster, x *directory.Dispute) disputedObjects {
	out := disputedObjects{namespaces: map[schema.GroupVersionKind][]string{}, sets: map[object.Key][]sets{}}
	histories := c.Histories()
	for _, bd := range d.Deployments {
		if !slices.Contains(x.Deployments, bd.ID()) {
			continue
		}
		both := sets{used: bd.Ownership.Hash, declared: fleet.Hash(x.DeclaredSet(bd.Name))}
		for _, o := range desired.Recorded(bd, c, histories[bd.Release.Release()]) {
			gvk, key := o.GroupVersionKind(), o.Key()
			out.namespaces[gvk] = append(out.namespaces[gvk], o.Namespace)
			out.sets[key] = append(out.sets[key], both)
		}
	}
	return out
}

func (r *Reader) carriers(ctx context.Context, objects disputedObjects) (directory.Carriers, error) {
	out := directory.Carriers{Complete: true}
	var mu sync.Mutex // guards out
	count := func(o source.Object) error {
		m, err := o.ReadMeta()
		if err != nil {
			return nil // it counts for neither set
		}
		mu.Lock()
		defer mu.Unlock()
		hash := m.Metadata.Labels[fleet.HashLabel]
		for _, s := range objects.sets[m.Ref().Key()] {
			switch hash {
			case s.used:
				out.Used++
			case s.declared:
				out.Declared++
			}
		}
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	for gvk, namespaces := range objects.namespaces {
		if _, _, ok := r.Kinds.Lookup(gvk); !ok {
			continue // such objects are Unknown and cannot be listed
		}
		g.Go(func() error {
			namespaces := distinct(namespaces)
			q := source.Query{Kind: gvk, LabelSelector: fleet.HashLabel, MetadataOnly: true, Fallback: namespaces}
			cover, err := r.Source.List(ctx, q, count)
			mu.Lock()
			defer mu.Unlock()
			for _, ns := range namespaces {
				_, covered := cover.Of(ns)
				out.Complete = out.Complete && covered
			}
			return err
		})
	}
	err := g.Wait()
	return out, err
}
