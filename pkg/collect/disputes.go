// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Carriers counts, for each dispute that no running agent settles, the live objects that have one of its two sets. It lists only the metadata
// of objects that have a set.
func (r *Reader) Carriers(ctx context.Context, c *resolve.Cluster) (map[resolve.DisputeKey]resolve.Carriers, error) {
	out := map[resolve.DisputeKey]resolve.Carriers{}
	for _, x := range c.Disputes {
		if x.Used.Proven() {
			continue
		}
		counted, err := r.carriers(ctx, c, x)
		if err != nil {
			return nil, err
		}
		out[x.Key()] = counted
	}
	return out, nil
}

func (r *Reader) carriers(ctx context.Context, c *resolve.Cluster, x *resolve.Dispute) (resolve.Carriers, error) {
	declared := map[*resolve.BundleDeployment]string{}
	desired := map[schema.GroupVersionKind][]*resolve.Object{}
	for _, d := range x.Deployments {
		declared[d] = fleet.Hash(x.DeclaredSet(d))
		for _, o := range d.Desired {
			desired[o.GroupVersionKind()] = append(desired[o.GroupVersionKind()], o)
		}
	}
	out := resolve.Carriers{Complete: true}
	var mu sync.Mutex // guards out
	g, ctx := errgroup.WithContext(ctx)
	for gvk, objects := range desired {
		if _, _, ok := r.Kinds.Lookup(gvk); !ok {
			continue // such objects are Unknown and cannot be listed
		}
		g.Go(func() error {
			namespaces := namespacesOf(objects)
			q := source.Query{Kind: gvk, LabelSelector: fleet.HashLabel, MetadataOnly: true, Fallback: namespaces}
			cover, err := r.List(ctx, q, func(o source.Object) error {
				m, err := o.ReadMeta()
				if err != nil {
					return nil // it counts for neither set
				}
				mu.Lock()
				defer mu.Unlock()
				hash := m.Metadata.Labels[fleet.HashLabel]
				for _, desired := range c.Claims.Of(m.Ref().Key()) {
					switch other, disputed := declared[desired.Deployment]; {
					case !disputed:
					case hash == desired.Deployment.Ownership.Hash:
						out.Used++
					case hash == other:
						out.Declared++
					}
				}
				return nil
			})
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
