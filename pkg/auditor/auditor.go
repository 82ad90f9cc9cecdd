// SPDX-License-Identifier: Apache-2.0

// Package auditor keeps the result of an audit current. It watches what an audit reads, and evaluates what changed. It
// decides nothing: each result is that of package audit.
//
// A Server runs an Auditor in a cluster. It passes each result to its sinks, which publish it. Only the replica with
// the Lease writes to the cluster.
package auditor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/watched"
)

// Result is the result of one evaluation.
type Result struct {
	// Audit is nil if nothing could be evaluated, and for a cluster without anything of Fleet. Err is the reason.
	Audit *audit.Audit
	Err   error
	// At is the time of the evaluation, Took how long it took. Since is the time of the first change that it includes;
	// zero without a change.
	Evaluated, Since time.Time
	Took             time.Duration
	// Everything is true if everything was evaluated, and not only what changed.
	Everything bool
	// Waiting are the changed objects that are not in the result yet. Watches are open, Restarts of them ended.
	Waiting, Watches int
	Restarts         int64
}

// Nothing reports whether the cluster has nothing of Fleet.
func (r *Result) Nothing() bool { return errors.Is(r.Err, collect.ErrNoFleet) }

// Options of an Auditor.
type Options struct {
	// Audit are the options of an audit of everything. Its Pause and its Memory are replaced.
	Audit audit.Options
	// Publish receives each result. The next evaluation begins when it returns.
	Publish func(context.Context, Result)
	// Hold is how long a finding is held that asks for one pause; zero means audit.PauseLength.
	Hold time.Duration
	// Watched are the options of the watches. Its Changed is replaced.
	Watched watched.Options
	Now     func() time.Time
}

// Auditor keeps the audit of one cluster current.
type Auditor struct {
	options  Options
	cluster  *cluster.Cluster
	inbox    *inbox
	source   *watched.Source
	standing *audit.Standing // nil if everything must be evaluated
	held     held
	// look is when to evaluate again without a change, rediscover when to read the kinds again; zero for never.
	look, rediscover time.Time
	took             time.Duration // the last evaluation of what changed
	// began is when the last evaluation began, credit the time for which the auditor may evaluate without a rest.
	began    time.Time
	credit   time.Duration
	progress progress
}

// Stuck returns a *StuckError if an evaluation does not end. An API server that does not answer is no reason: requests
// and evaluations that wait for it end.
func (a *Auditor) Stuck() error { return a.progress.stuck(a.options.Now()) }

// CurrentAt returns the time until which the state that was published last has all changes. ok is false before the
// first state. A state in which objects are Unknown, because they could not be read, is current too.
func (a *Auditor) CurrentAt() (when time.Time, ok bool) {
	when, ok = a.progress.current(a.options.Now())
	if !ok {
		return when, false
	}
	return earliest(earliest(when, a.inbox.lacks()), a.source.CurrentAt()), true
}

// New makes an Auditor. It makes no request.
func New(c *cluster.Cluster, o Options) *Auditor {
	o.Audit.Pause = func(context.Context) error { return nil } // findings are held instead
	o.Audit.Memory = audit.NewMemory()
	o.Hold = cmp.Or(o.Hold, audit.PauseLength)
	return &Auditor{options: o, cluster: c, inbox: newInbox(o.Now), held: held{pause: o.Hold}}
}

const (
	// coalesce is how long changes are collected before they are evaluated.
	coalesce = 100 * time.Millisecond
	// An auditor may use share of its time to evaluate, and as much as burst in addition after it has rested. Otherwise
	// it would use a core while something changes all the time.
	share, burst = 0.5, 20 * time.Second
	// debt is how much more it may use: an evaluation that waited for the API server must not delay the next one for
	// long.
	debt = time.Second
	// idleAfter is how long nothing changes before unused memory is given back.
	idleAfter = 5 * time.Second
	// leastPeriod, periodFactor and longestPeriod determine how often to evaluate again although nothing changes.
	leastPeriod, periodFactor, longestPeriod = time.Minute, 100, 5 * time.Minute
	// retry is when to evaluate again after an error.
	retry = 5 * time.Second
	// rediscovery is when to read the kinds again after a definition of one changed: a new kind is served with a delay.
	rediscovery = 3 * time.Second
)

// Run evaluates until the context ends, and returns nil then.
func (a *Auditor) Run(ctx context.Context) error {
	a.options.Watched.Changed = a.inbox.add
	src, err := watched.New(ctx, a.cluster, a.options.Watched)
	if err != nil {
		return err
	}
	a.source = src
	for ctx.Err() == nil {
		began := a.options.Now()
		var took time.Duration
		a.progress.evaluate(ctx, began, func(limited context.Context) {
			b := a.inbox.take()
			a.progress.take(b.lacks)
			r := a.evaluate(limited, b)
			took = a.options.Now().Sub(began)
			if ctx.Err() == nil {
				a.publish(limited, r, took)
			}
		})
		a.wait(ctx, a.rest(began, took))
	}
	a.source.Wait() // not deferred: after a panic, it would wait for watches that do not end
	return nil
}

// publish publishes a result.
func (a *Auditor) publish(ctx context.Context, r Result, took time.Duration) {
	r.Took, r.Waiting = took, a.inbox.waiting()
	if !r.Everything {
		a.took = took
	}
	r.Watches, r.Restarts = a.source.Watches()
	var failure error
	if !r.Nothing() {
		failure = r.Err
	}
	a.progress.publish(r.Evaluated, failure)
	a.options.Publish(ctx, r)
	if r.Everything && r.Audit != nil {
		// The first finding of a later evaluation would wait for this. That evaluation reports what cannot be read.
		_ = r.Audit.Prepare(ctx)
	}
}

// rest returns how long to rest after an evaluation: at most leastPeriod, because changes wait meanwhile.
func (a *Auditor) rest(began time.Time, took time.Duration) time.Duration {
	if a.began.IsZero() {
		a.credit = burst
	}
	rested := time.Duration(share * float64(began.Sub(a.began)))
	a.credit = max(-debt, min(burst, a.credit+rested)-took)
	a.began = began
	return max(0, min(leastPeriod, time.Duration(float64(-a.credit)/share)))
}

// wait waits until something changes, but at least for a rest.
func (a *Auditor) wait(ctx context.Context, rest time.Duration) {
	pause(ctx, rest)
	next, idle := time.NewTimer(a.next().Sub(a.options.Now())), time.NewTimer(idleAfter)
	defer next.Stop()
	defer idle.Stop()
	for {
		select {
		case <-idle.C:
			debug.FreeOSMemory()
			continue
		case <-ctx.Done():
		case <-next.C:
		case <-a.inbox.notify:
			pause(ctx, coalesce)
		}
		return
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// next is the time of the next evaluation if nothing changes.
func (a *Auditor) next() time.Time { return earliest(a.look, a.rediscover) }

// evaluate evaluates what changed.
func (a *Auditor) evaluate(ctx context.Context, b batch) Result {
	now := a.options.Now()
	out := Result{Evaluated: now, Since: b.since}
	due := !a.rediscover.IsZero() && !a.rediscover.After(now)
	if b.kinds || due {
		a.source.ForgetKinds()
		a.standing, a.rediscover = nil, time.Time{}
	}
	if b.kinds {
		a.rediscover = now.Add(rediscovery)
	}
	if b.everything {
		a.standing = nil
	}
	if a.standing != nil {
		if ok, err := a.follow(ctx, b, now); err != nil || !ok {
			a.standing = nil // an error is that of a read, which follows again
		}
	}
	if a.standing == nil {
		out.Everything = true
		if out.Err = a.start(ctx); out.Err != nil {
			a.look = now.Add(retry)
			return out
		}
	}
	var certain time.Time
	hold := func(found []check.Finding) (kept []check.Finding) {
		kept, certain = a.held.filter(found, now)
		return kept
	}
	if out.Audit, out.Err = a.standing.Audit(ctx, now, hold); out.Err != nil {
		a.standing, a.look = nil, now.Add(retry)
		return out
	}
	_, a.look = a.standing.Due(now)
	for _, when := range []time.Time{certain, out.Audit.Due(), now.Add(a.period())} {
		a.look = earliest(a.look, when)
	}
	return out
}

// period is when to evaluate again at the latest, because findings depend on the time: for example, how long an agent
// has been silent. It grows with the time that this takes.
func (a *Auditor) period() time.Duration {
	return min(longestPeriod, max(leastPeriod, periodFactor*a.took))
}

// start evaluates everything. Only the first time, it reads the cluster.
func (a *Auditor) start(ctx context.Context) error {
	a.source.Begin()
	defer a.source.End()
	if err := a.watchKinds(ctx); err != nil {
		return err
	}
	var err error
	a.standing, err = audit.Start(ctx, a.source, a.options.Audit)
	debug.FreeOSMemory() // reading everything needs a multiple of the memory for what is kept
	return err
}

// watchKinds watches what adds kinds to the cluster.
func (a *Auditor) watchKinds(ctx context.Context) error {
	kinds, err := a.source.Kinds(ctx)
	if err != nil {
		return err
	}
	for kind := range definesKinds {
		k, served := kinds.Preferred(kind)
		if !served {
			continue
		}
		q := source.Query{Kind: k.GroupVersionKind, MetadataOnly: true}
		if _, err := a.source.List(ctx, q, func(source.Object) error { return nil }); err != nil {
			return fmt.Errorf("watching the kinds of the cluster: %w", err)
		}
	}
	return nil
}

// follow evaluates the objects that changed, and those that are due. It returns false if everything must be evaluated.
func (a *Auditor) follow(ctx context.Context, b batch, now time.Time) (bool, error) {
	var objects []changedObject
	renews := false
	for o, asked := range b.objects {
		follows := false
		for _, q := range asked {
			switch {
			case a.standing.Follows(q):
				follows = true
			case a.standing.Renews(q):
				renews = true
			default:
				return false, nil
			}
		}
		if follows {
			objects = append(objects, o)
		}
	}
	if renews {
		if err := a.renew(ctx); a.standing == nil || err != nil {
			return false, err
		}
	}
	due, _ := a.standing.Due(now)
	for _, o := range due {
		objects = append(objects, changedObject{o.GroupVersionKind(), o.Key()})
	}
	slices.SortFunc(objects, func(x, y changedObject) int {
		return cmp.Or(cmp.Compare(a.standing.Owner(x.key), a.standing.Owner(y.key)), x.key.Compare(y.key))
	})
	for _, o := range objects {
		if ok, err := a.change(ctx, o, now); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// renew evaluates the bundle deployments again that changed. It sets standing to nil if more changed.
func (a *Auditor) renew(ctx context.Context) (err error) {
	a.source.Continue()
	defer a.source.End()
	a.standing, err = a.standing.Renew(ctx)
	return err
}

func (a *Auditor) change(ctx context.Context, o changedObject, now time.Time) (bool, error) {
	live, found, err := a.source.Object(o.kind, o.key.Namespace, o.key.Name)
	switch {
	case err != nil: // its state is not known, so it is neither changed nor gone
		return false, err
	case !found:
		return a.standing.Change(ctx, o.kind, o.key, nil, now)
	case live.Remembered: // it was evaluated in this version
		return true, nil
	}
	ok, err := a.standing.Change(ctx, o.kind, o.key, &live, now)
	if ok {
		a.source.Drop(o.kind, o.key.Namespace, o.key.Name, a.standing.Remembered(o.kind))
	}
	return ok, err
}
