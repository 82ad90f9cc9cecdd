// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"maps"

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
	stated := false
	for i, c := range r.desired.Clusters {
		wanted := c.StatedNamespaces()
		if len(wanted) == 0 {
			continue
		}
		found, f, err := r.clusters[i].Namespaces(ctx, wanted)
		if err != nil {
			return err
		}
		if found == nil && f.Reason != source.NotInSnapshot {
			r.gaps = append(r.gaps, source.NewGap("listing Namespaces", f, "missing labels and annotations of namespaces (FD110) are not found"))
		}
		r.input.Clusters[i].Namespaces, stated = found, true
	}
	if stated {
		r.resolve()
	}
	return nil
}

// confirmRemovals reads again what decides about the releases that garbage collection uninstalls.
func (r *reading) confirmRemovals(ctx context.Context) error {
	all := map[resolve.RemovalKey]resolve.RemovalFacts{}
	for i, c := range r.desired.Clusters {
		facts, err := r.clusters[i].Removals(ctx, r.Reader, c)
		if err != nil {
			return err
		}
		maps.Copy(all, facts)
	}
	if len(all) > 0 {
		r.input.Removals = all
		r.resolve()
	}
	return nil
}
