// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// ErrScopeContradicted is returned where the user states an agent scope and a running agent shows another one.
var ErrScopeContradicted = errors.New("the running agent contradicts --agent-scope")

// ErrScopeAmbiguous is returned where the user states one scope and several agents do not show theirs.
var ErrScopeAmbiguous = errors.New("--agent-scope states one scope for several agents")

// statedScope makes sure that the scope which the user states is not one that every running agent contradicts.
func (r *run) statedScope() error {
	if r.AgentScope == nil {
		return nil
	}
	if agents := r.inv.Unshown(); len(agents) > 1 {
		return fmt.Errorf("%w: no running workload shows the scope of the agents in namespaces %s", ErrScopeAmbiguous, strings.Join(agents, ", "))
	}
	running := r.inv.Contradicts(*r.AgentScope)
	if len(running) == 0 {
		return nil
	}
	return fmt.Errorf("%w=%q: %s shows %s", ErrScopeContradicted, *r.AgentScope, running[0].Source, running[0])
}

// settleDisputes decides between the scope that a spec declares and the one that releases state, where no running agent does: what the
// releases state counts, unless no live object carries it and some carry what the spec declares. It lists only the metadata of objects that
// carry one of the two sets.
func (r *run) settleDisputes(ctx context.Context) error {
	for _, x := range r.inv.Disputes {
		if x.Used.Proven() {
			continue
		}
		if err := r.countCarriers(ctx, x); err != nil {
			return err
		}
		if x.Counted && x.CarryUsed == 0 && x.CarryDeclared > 0 {
			r.inv.UseDeclared(x)
		}
	}
	return nil
}

// countCarriers counts which of the two sets the live objects of a dispute's deployments carry.
func (r *run) countCarriers(ctx context.Context, x *inventory.Dispute) error {
	declared := map[*inventory.Deployment]string{}
	wanted := map[schema.GroupVersionKind]map[string]bool{}
	for _, d := range x.Deployments {
		declared[d] = fleet.Hash(x.DeclaredSet(d))
		for _, w := range d.Desired {
			gvk := w.GroupVersionKind()
			if wanted[gvk] == nil {
				wanted[gvk] = map[string]bool{}
			}
			wanted[gvk][w.Namespace] = true
		}
	}
	x.Counted = true
	var mu sync.Mutex // guards the dispute
	g, ctx := errgroup.WithContext(ctx)
	for gvk, namespaces := range wanted {
		if _, _, ok := r.kinds.Lookup(gvk); !ok {
			continue // such objects are Unknown, and carry nothing that could be read
		}
		g.Go(func() error {
			q := source.Query{Kind: gvk, LabelSelector: fleet.HashLabel, MetadataOnly: true, Fallback: sortedKeys(namespaces)}
			cover, err := r.src.List(ctx, q, func(o source.Object) error {
				m, err := o.ReadMeta()
				if err != nil {
					return nil // counted among what carries neither
				}
				mu.Lock()
				defer mu.Unlock()
				hash := m.Metadata.Labels[fleet.HashLabel]
				for _, w := range r.inv.Wants[m.Ref().Key()] {
					switch d := w.Deployment; {
					case !slices.Contains(x.Deployments, d):
					case hash == d.Ownership.Hash:
						x.CarryUsed++
					case hash == declared[d]:
						x.CarryDeclared++
					}
				}
				return nil
			})
			mu.Lock()
			defer mu.Unlock()
			for ns := range namespaces {
				_, covered := cover.Of(ns)
				x.Counted = x.Counted && covered
			}
			return err
		})
	}
	return g.Wait()
}
