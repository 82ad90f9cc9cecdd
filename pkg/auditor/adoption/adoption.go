// SPDX-License-Identifier: Apache-2.0

// Package adoption adopts unowned objects while the auditor runs: with the plan of package adopt, and with limits for a
// process that nobody watches. Receipts in ConfigMaps record each adoption before it is written, and are also the
// memory of the limits.
package adoption

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// interval is the least time between two rounds.
	interval = 5 * time.Second
	// again is when to plan again although the unowned objects are the same.
	again = time.Minute
	// failurePause is how long an object is left alone after a failed write.
	failurePause = 10 * time.Minute
	// finishTimeout limits the writes that are in progress when this replica no longer leads.
	finishTimeout = 10 * time.Second
)

// Adopter adopts unowned objects. Update is safe for concurrent use.
type Adopter struct {
	options  Options
	receipts store

	mu     sync.Mutex
	newest *view.View

	// The fields below are only used by Write. last are the unowned objects of the last round.
	last    unowned
	planned time.Time
	pruned  time.Time
	// stopped are the bundle deployments of which nothing more is adopted.
	stopped map[string]bool
	// refused are the refusals that were logged, and failed the times of failed writes, by UID.
	refused map[string]string
	failed  map[string]time.Time
}

// New makes an Adopter. It writes nothing before Write.
func New(o Options) *Adopter {
	return &Adopter{options: o, receipts: store{o.Client, o.Namespace}, stopped: map[string]bool{},
		refused: map[string]string{}, failed: map[string]time.Time{}}
}

// Update sets the newest view. It does not block.
func (a *Adopter) Update(s *view.Step) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.newest = s.After
}

// Write adopts what may be adopted now. It sends no request if the newest view has no unowned object. If the unowned
// objects are the same as in the last round, it does nothing within a minute.
func (a *Adopter) Write(ctx context.Context) error {
	a.mu.Lock()
	v := a.newest
	a.mu.Unlock()
	if v == nil {
		return nil
	}
	work, now := unownedOf(v), a.options.Now()
	a.endStops(v, work)
	since := now.Sub(a.planned)
	if same := reflect.DeepEqual(work, a.last); same && since < again || since < interval {
		return nil
	}
	a.last = work
	if len(work) == 0 {
		return nil
	}
	a.planned = now
	if err := a.adopt(ctx, work, now); err != nil {
		return fmt.Errorf("adopting objects: %w", err)
	}
	return nil
}

// endStops ends the stops of bundle deployments without an unowned object. One that could not be read stays stopped.
func (a *Adopter) endStops(v *view.View, work unowned) {
	still := map[string]bool{}
	for _, d := range v.Deployments {
		key := d.ID.String()
		if unread := d.Reason != ""; a.stopped[key] && (unread || len(work[d.ID]) > 0) {
			still[key] = true
		}
	}
	a.stopped = still
	a.options.Metrics.SetAdoptionStopped(still)
}

// adopt makes the plan for the bundle deployments with unowned objects, and applies what may be adopted now.
func (a *Adopter) adopt(ctx context.Context, work unowned, now time.Time) error {
	p, err := a.options.plan(ctx, work)
	if err != nil {
		return err
	}
	maps.DeleteFunc(a.failed, func(_ string, at time.Time) bool { return now.Sub(at) >= failurePause })
	p.leaveOut(a.failed)
	if !p.writes() {
		a.logRefusals(p)
		return nil
	}
	// The receipts are read after the plan was made: an undo marks its receipt before it restores an object.
	receipts, err := a.receipts.list(ctx)
	if err != nil {
		return err
	}
	earlier, err := pastOf(receipts, now)
	if err != nil {
		return err
	}
	d := decision{earlier, p.sizes, maps.Clone(a.stopped)}
	d.limit(p.items)
	a.stop(d.stopped, p)
	if now.Sub(a.pruned) >= time.Hour || len(receipts) >= maxReceipts {
		if err := a.receipts.prune(ctx, receipts, now); err != nil {
			return err
		}
		a.pruned = now
	}
	name, err := a.receipts.create(ctx, p.header(now), p.items, now)
	a.logRefusals(p)
	if err != nil || name == "" {
		return err
	}
	return a.write(ctx, p, name, now)
}

// stop logs and shows the bundle deployments of which nothing more is adopted.
func (a *Adopter) stop(stopped map[string]bool, p *plan) {
	for key := range stopped {
		if !a.stopped[key] {
			a.options.Log.Info("Nothing more of this bundle deployment is adopted: more than a tenth of its objects "+
				"would be adopted within an hour", "bundledeployment", key, "objects", p.sizes[key])
		}
	}
	a.stopped = stopped
	a.options.Metrics.SetAdoptionStopped(stopped)
}

// write writes the ownership metadata, and logs the outcomes. A receipt without a write is deleted.
func (a *Adopter) write(ctx context.Context, p *plan, receipt string, now time.Time) error {
	finish, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finishTimeout, cancel) })()
	err := adopt.Apply(ctx, finish, a.options.Patcher, p.items, func(int) error { return nil })
	kept := false
	for i, x := range p.shown().Objects {
		log := a.options.Log.WithValues("object", x.Key().String(), "bundledeployment", x.BundleDeployment,
			"receipt", receipt)
		switch x.Outcome {
		case report.OutcomeDone:
			kept = true
			a.options.Metrics.AddAdoptions(metrics.Adopted, 1)
			log.Info("Adopted an object", "reason", x.Reason)
		case report.OutcomeFailed:
			kept = kept || p.items[i].Unanswered
			a.failed[x.UID] = now
			a.options.Metrics.AddAdoptions(metrics.Failed, 1)
			log.Info("An object could not be adopted", "problem", x.Message)
		case report.OutcomeChanged:
			log.Info("An object was not adopted: it changed", "change", x.Message)
		}
	}
	if !kept && ctx.Err() == nil {
		return a.receipts.delete(ctx, receipt)
	}
	return err
}

// logRefusals logs and counts each refusal once.
func (a *Adopter) logRefusals(p *plan) {
	now := map[string]string{}
	for _, x := range p.shown().Objects {
		if x.Action != report.ActionRefuse {
			continue
		}
		why := joined(x.Refusals)
		now[x.UID] = why
		if a.refused[x.UID] != why {
			a.options.Metrics.AddAdoptions(metrics.Refused, 1)
			a.options.Log.Info("An object is not adopted", "object", x.Key().String(), "bundledeployment",
				x.BundleDeployment, "reason", why)
		}
	}
	a.refused = now
}
