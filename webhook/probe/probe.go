// SPDX-License-Identifier: Apache-2.0

// Package probe tests whether an installed webhook answers: it sends a server-side dry run that takes Fleet's mark from an object, and judges by
// what comes back. Nothing is changed on the cluster.
package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/status"
)

// Verdict is what a test comes to.
type Verdict string

// The verdicts.
const (
	Works     Verdict = "works"
	NotCalled Verdict = "not called"
	GuardOnly Verdict = "the guard answers, the stamp does not"
	StampOnly Verdict = "the stamp answers, the guard does not"
	NoObject  Verdict = "no object to test with"
	CannotSay Verdict = "it cannot be said"
)

// Result is what a test came to.
type Result struct {
	Verdict Verdict
	// Trial is the request that the verdict is of, nil where none was sent.
	Trial *Trial
	// Guard is what the guard was found to do, nil where no request could tell.
	Guard *Guard
	// Reasons say why, where the verdict is not Works.
	Reasons []string
}

// Where no object is named, so many are read at most, and so many tried.
const (
	mostReads  = 1000
	mostTrials = 20
)

// Tester tests whether an installed webhook answers.
type Tester struct {
	// Reader reads the cluster that is tested, and what may be the matter with its webhook.
	status.Reader
	// Warnings are those of the Cluster's client.
	Warnings *Warnings
	Now      func() time.Time
}

// Test sends a server-side dry run that strips Fleet's mark from an object, and one that deletes it, and says what came back; nothing is changed. Without an object it takes
// the first one that a release of Fleet's desires and that can tell. The error is that of the context, or of reading a named object.
func (t *Tester) Test(ctx context.Context, named *object.Ref) (*Result, error) {
	r := t.reach(ctx)
	if !r.configured {
		return &Result{Verdict: NotCalled, Reasons: []string{"no webhook configuration with the label " + install.Selector + " holds " + install.StampWebhook + ": the webhook is not installed, or disabled"}}, nil
	}
	var result *Result
	var err error
	if named != nil {
		result, err = t.one(ctx, r, *named)
	} else {
		result, err = t.any(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	if result.Verdict == Works || result.Reasons == nil && (result.Verdict == NotCalled || result.Verdict == GuardOnly) {
		result.Guard = t.guard(ctx, result.Trial)
		result.Verdict = together(result.Verdict, result.Guard)
	}
	switch {
	case result.Verdict == StampOnly:
		result.Reasons = []string{result.Guard.Why}
		wrong, _, err := t.wrong(ctx)
		if err != nil {
			return result, err
		}
		result.Reasons = append(result.Reasons, wrong...)
	case result.Verdict == GuardOnly || result.Verdict == NotCalled && result.Reasons == nil:
		result.Reasons, err = t.why(ctx, r, result.Trial)
	}
	return result, errors.Join(err, ctx.Err())
}

// one tests with the object that was named.
func (t *Tester) one(ctx context.Context, r reach, ref object.Ref) (*Result, error) {
	trial, live, err := t.try(ctx, ref)
	if errors.Is(err, errUnmarked) || errors.Is(err, errDeleting) {
		return &Result{Verdict: NoObject, Reasons: []string{err.Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	result := &Result{}
	if result.judge(trial); trial.Answer != Unmarked && trial.Answer != Guarded {
		return result, nil
	}
	for _, why := range []string{r.excludes(live), t.shuts(ctx, r, live.GetNamespace())} {
		if why != "" {
			result.Reasons = append(result.Reasons, why)
		}
	}
	if result.Reasons != nil {
		result.Verdict = NotCalled
		return result, nil
	}
	return result, t.orphan(ctx, result)
}

// orphan looks whether a release desires the object: the stamp leaves one alone that none does, or none but the agent's own.
func (t *Tester) orphan(ctx context.Context, result *Result) error {
	agent := ""
	damaged, err := t.desired(ctx, func(w wanted) error {
		switch {
		case w.Key() != result.Trial.Object.Key():
			return nil
		case fleet.IsAgentBundle(w.bundle):
			agent = w.bundle
			return nil // another one may desire it too
		}
		result.Trial.Release, result.Trial.Bundle = w.release, w.bundle
		return errEnough
	})
	verdict := result.Verdict
	result.Verdict = CannotSay
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case result.Trial.Release != "":
		result.Verdict = verdict
	case err != nil:
		result.Reasons = []string{"the mark did not come back, but whether a bundle wants the object is not known: " + err.Error()}
	case damaged > 0:
		result.Reasons = []string{"the mark did not come back, but whether a bundle wants the object is not known: " + undecoded(damaged)}
	case agent != "":
		result.Verdict = NoObject
		result.Reasons = []string{"only bundle " + agent + " desires the object, Fleet's agent itself: it looks after its own, and the webhook leaves that alone"}
	default:
		result.Verdict = NoObject
		result.Reasons = []string{"no release desires the object: it is an orphan, and the webhook leaves those alone"}
	}
	return nil
}

// undecoded counts release records that were passed over.
func undecoded(damaged int) string {
	if damaged == 1 {
		return "1 release record could not be decoded"
	}
	return fmt.Sprintf("%d release records could not be decoded", damaged)
}

// any tests with the first object that can tell.
func (t *Tester) any(ctx context.Context, r reach) (*Result, error) {
	result := &Result{Verdict: NoObject}
	reads, trials := 0, 0
	shut := map[string]bool{}
	damaged, err := t.desired(ctx, func(w wanted) error {
		if fleet.IsAgentBundle(w.bundle) {
			return ctx.Err() // the stamp leaves alone what Fleet's agent itself is made of
		}
		closed, known := shut[w.Namespace]
		if !known {
			closed = t.shuts(ctx, r, w.Namespace) != ""
			shut[w.Namespace] = closed
		}
		if closed {
			return ctx.Err()
		}
		if reads++; reads > mostReads || trials == mostTrials {
			return errEnough
		}
		trial, live, err := t.try(ctx, w.Ref)
		if err != nil || !trial.answered() && r.excludes(live) != "" {
			return ctx.Err() // it is not there, not marked, being deleted, not to be read, or left alone: another one may tell
		}
		trials++
		trial.Release, trial.Bundle = w.release, w.bundle
		result.judge(trial)
		if trial.Answer == Refused {
			return ctx.Err()
		}
		return errEnough
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case result.Trial != nil:
	case err != nil:
		result.Verdict, result.Reasons = CannotSay, []string{err.Error(), "name an object that a bundle wants: KIND/NAME"}
	case damaged > 0:
		result.Verdict, result.Reasons = CannotSay, []string{undecoded(damaged) + ", and the others want no object that could be used"}
	default:
		result.Reasons = []string{"no release of Fleet's desires an object that is there, carries the mark, and is not kept from the webhook"}
	}
	return result, nil
}

// judge takes over what came back of a request about an object that a release desires, or that was named.
func (r *Result) judge(trial *Trial) {
	r.Trial, r.Reasons = trial, nil
	switch {
	case trial.answered():
		r.Verdict = Works
	case trial.Answer == Refused:
		r.Verdict, r.Reasons = CannotSay, []string{"the request was refused, and not by this webhook: " + trial.Message}
	case trial.Answer == Guarded:
		r.Verdict = GuardOnly
	default:
		r.Verdict = NotCalled
	}
}

// again sends the request once more, and says what the API server has counted of it; "" where that cannot be told. Of several API servers the
// one that counts need not be the one that was asked: what it did not count is no proof.
func (t *Tester) again(ctx context.Context, before *status.Facts, trial *Trial) string {
	if before.CallsReason != "" {
		return ""
	}
	if _, _, err := t.try(ctx, trial.Object); err != nil {
		return ""
	}
	after, err := t.Calls(ctx)
	if err != nil {
		return ""
	}
	was, is := before.Calls[install.StampWebhook], after[install.StampWebhook]
	switch {
	case is.FailedOpen+is.Failed > was.FailedOpen+was.Failed:
		return "the API server called it, and got no answer that it could use"
	case is.Total > was.Total:
		return "the API server called it, and it passed the request unchanged: as long as it has not read all release records it passes everything"
	}
	return "the API server counted no call of it for this request; one of several may have"
}

// why collects what may be the matter with a webhook that does not answer.
func (t *Tester) why(ctx context.Context, r reach, trial *Trial) ([]string, error) {
	var out []string
	if trial.Message != "" && trial.Answer != Guarded { // a guard's says nothing of the stamp
		out = append(out, trial.Message)
	}
	if r.timeout > 0 && trial.Took >= r.timeout {
		out = append(out, fmt.Sprintf("the request took %s, and the webhook's timeout is %s: it hangs, or cannot be reached", trial.Took.Round(time.Millisecond), r.timeout))
	}
	wrong, facts, err := t.wrong(ctx)
	if err != nil {
		return out, err
	}
	out = append(out, wrong...)
	if counted := t.again(ctx, facts, trial); counted != "" {
		out = append(out, counted)
	}
	if len(out) == 0 {
		out = append(out, "nothing is wrong with what could be read of the installation; a webhook that has not read all release records yet passes everything")
	}
	if slices.ContainsFunc(status.Judge(facts).Checks, func(c status.Check) bool { return judged(c) && c.State == status.Unknown }) {
		out = append(out, "not all of it could be read: `webhook status` says what")
	}
	return out, nil
}

// home is the namespace of the installation, "" where that is not known.
func (t *Tester) home(ctx context.Context) string {
	configurations, err := t.Cluster.Configurations(ctx)
	if err != nil {
		return ""
	}
	home, err := t.Cluster.Home(ctx, configurations)
	if err != nil {
		return ""
	}
	return home
}

// judged leaves out what says nothing of whether a webhook answers now.
func judged(c status.Check) bool { return c.Name != "calls" && c.Name != "namespaces" }

// wrong is what is wrong with the installation, as far as it could be read.
func (t *Tester) wrong(ctx context.Context) ([]string, *status.Facts, error) {
	facts, err := t.Gather(ctx, cmp.Or(t.home(ctx), install.Namespace), t.Now())
	if err != nil {
		return nil, nil, err
	}
	var out []string
	for _, c := range status.Judge(facts).Checks {
		if !judged(c) || c.State != status.Wrong {
			continue
		}
		if len(c.Details) == 0 {
			out = append(out, c.Name+": "+c.Message)
		}
		for _, d := range c.Details {
			out = append(out, c.Name+": "+d)
		}
	}
	return out, facts, nil
}
