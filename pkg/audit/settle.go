// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// PauseLength is the time after which objects are read again.
const PauseLength = 5 * time.Second

// Pause waits for the PauseLength. Its error is that of the context.
func Pause(ctx context.Context) error {
	timer := time.NewTimer(PauseLength)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// pause waits before objects are read again.
func (o Options) pause(ctx context.Context) error {
	if o.Pause == nil {
		return Pause(ctx)
	}
	return o.Pause(ctx)
}

// settle asks the questions of the findings, and drops the findings that the answers contradict. A snapshot cannot be
// read again. Nobody waits for the findings of predictions.
func (a *Audit) settle(ctx context.Context) error {
	if a.clusters[0].Description.Origin != source.OriginCluster {
		return nil
	}
	waits := !a.options.Predict && a.options.Files == nil
	for pause := 1; waits && a.pauses() >= pause; pause++ {
		if err := a.options.pause(ctx); err != nil {
			return err
		}
		if err := a.ask(ctx, func(f check.Finding) bool { return f.Pauses >= pause }); err != nil {
			return err
		}
	}
	err := a.ask(ctx, func(f check.Finding) bool { return f.Pauses == 0 })
	a.use(a.facts.Settled(a.answers))
	return err
}

// pauses is the number of pauses for which findings ask.
func (a *Audit) pauses() int {
	n := 0
	for _, f := range a.Findings {
		n = max(n, f.Pauses)
	}
	return n
}

// ask asks the questions of those findings that are selected.
func (a *Audit) ask(ctx context.Context, selected func(check.Finding) bool) error {
	questions := map[object.ClusterID][]settle.Question{}
	for _, f := range a.Findings {
		if !selected(f) {
			continue
		}
		for _, q := range f.Settle {
			questions[q.Cluster] = append(questions[q.Cluster], q)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(questions)) {
		i := slices.IndexFunc(a.clusters, func(c ReadCluster) bool { return object.ClusterID(c.Name) == cluster })
		answers, err := settle.Ask(ctx, a.clusters[i].Source, questions[cluster])
		if err != nil {
			return err
		}
		answers.Gaps = a.clusters[i].Named(answers.Gaps)
		a.answers = a.answers.With(answers)
	}
	a.Findings = slices.DeleteFunc(a.Findings, func(f check.Finding) bool { return !a.answers.Hold(f.Settle) })
	return nil
}
