// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"maps"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// delivery reads what only the checks of the delivery need. It does nothing for predictions, which do not run these checks.
func (r *reading) delivery(ctx context.Context) error {
	if r.options.Predict {
		return nil
	}
	if err := r.ContentNames(ctx, r.desired.Fleet); err != nil {
		return err
	}
	if f, all := r.desired.Coverage[state.Content].Of(""); !all && f.Reason != source.NotInSnapshot && f.Reason != source.KindNotServed && f != (source.Failure{}) {
		r.gaps = append(r.gaps, source.NewGap("listing Content objects", f, "missing contents (FD601) are not found"))
	}
	if err := r.Controllers(ctx, r.desired.Fleet); err != nil {
		return err
	}
	if err := r.namespaces(ctx); err != nil {
		return err
	}
	return r.confirmRemovals(ctx)
}

// namespaces reads the metadata of Namespaces if a deployment states some.
func (r *reading) namespaces(ctx context.Context) error {
	var mu sync.Mutex // guards changed and gaps
	changed := false
	if err := each(ctx, r.clusters, func(ctx context.Context, i int) error {
		stated := r.desired.Clusters[i].StatedNamespaces()
		if len(stated) == 0 {
			return nil
		}
		found, f, err := r.clusters[i].Namespaces(ctx, stated)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && found == nil && f.Reason != source.NotInSnapshot {
			gap := source.NewGap("listing Namespaces", f, "missing labels and annotations of namespaces (FD110) are not found")
			r.gaps = append(r.gaps, r.clusters[i].named([]source.Gap{gap})...)
		}
		r.input.Clusters[i].Namespaces, changed = found, true
		return err
	}); err != nil {
		return err
	}
	if changed {
		r.resolve()
	}
	return nil
}

// confirmRemovals reads again what decides about the releases that garbage collection uninstalls.
func (r *reading) confirmRemovals(ctx context.Context) error {
	all := map[resolve.RemovalKey]resolve.RemovalFacts{}
	var mu sync.Mutex // guards all
	if err := each(ctx, r.clusters, func(ctx context.Context, i int) error {
		facts, err := r.clusters[i].Removals(ctx, r.Reader, r.desired.Clusters[i])
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(all, facts)
		return err
	}); err != nil {
		return err
	}
	if len(all) > 0 {
		r.input.Removals = all
		r.resolve()
	}
	return nil
}
