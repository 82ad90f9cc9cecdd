// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// lagReadings returns how often wrong numbers of a kind are read again, each time after a pause of five seconds. A
// GitRepo follows its Bundles within about ten seconds (docs/fleet-behavior.md, 4.5).
func lagReadings(kind string) int {
	if kind == state.GitRepo {
		return 2
	}
	return 1
}

// updatedByHeartbeat reports whether the numbers of a kind follow a heartbeat of the agent, for which nobody waits.
func updatedByHeartbeat(kind string) bool {
	return kind == state.ClusterKind || kind == state.ClusterGroup
}

// settleLag removes the findings about wrong numbers that Fleet is about to correct: those of which an object changes
// while it is observed. Numbers that are wrong because of something that lasts are not read again. A snapshot cannot be
// read again.
func (a *Audit) settleLag(ctx context.Context, r *collect.Reader) error {
	if o := a.options; r.Description.Origin != source.OriginCluster || o.Predict || o.Files != nil {
		return nil
	}
	for reading := 1; ; reading++ {
		refs, soon := map[object.Ref]bool{}, false
		for _, f := range a.Findings {
			if reading > lagReadings(f.Object.Kind) {
				continue
			}
			for _, ref := range f.Compares {
				refs[ref] = true
				soon = soon || !updatedByHeartbeat(f.Object.Kind)
			}
		}
		if !soon {
			return nil
		}
		if err := a.options.pause(ctx); err != nil {
			return err
		}
		moved, err := r.Moved(ctx, a.Desired.Fleet, refs)
		if err != nil {
			return err
		}
		a.Findings = slices.DeleteFunc(a.Findings, func(f check.Finding) bool {
			return slices.ContainsFunc(f.Compares, func(ref object.Ref) bool { return moved[ref] })
		})
	}
}

// pause waits before a second reading.
func (o Options) pause(ctx context.Context) error {
	if o.Pause == nil {
		return collect.Pause(ctx)
	}
	return o.Pause(ctx)
}
