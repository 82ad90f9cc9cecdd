// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

const (
	// behindAfter is how long Fleet may take to follow a change. A Job needs minutes if images must be pulled or many
	// Jobs wait.
	behindAfter = 15 * time.Minute
	// defaultPolling is the polling interval of a GitRepo that states none.
	defaultPolling = 15 * time.Second
	// jobInProgress is the gitJobStatus while a Job runs.
	jobInProgress = "InProgress"
	// jobFailed is the gitJobStatus after a Job that failed.
	jobFailed = "Failed"
)

func (in *pass) repoNotFollowed(a *evaluate.Aggregate) {
	g, ok := a.Object.(*v1alpha1.GitRepo)
	if !ok || !in.followed(g) {
		return
	}
	f := Finding{Object: facts.RefTo(g), AsOf: g.Reported().AsOf}
	if since, failed := in.pollingFails(g); failed {
		f.Message = fmt.Sprintf("GitRepo %s cannot be polled since %s%s", facts.Key(g), facts.Time(since),
			in.Said(g, "GitPolling"))
		f.Aspect = "polling"
		in.report(f, in.Commands.Describe(f.Object))
		return
	}
	for _, x := range in.behind(g) {
		f.Message, f.Aspect, f.Evidence = x.message, x.aspect, in.refused(g)
		in.report(f, in.StartJob(facts.Key(g), g.Spec.ForceSyncGeneration+1))
	}
}

// followed reports whether Fleet should follow a GitRepo.
func (in *Input) followed(g *v1alpha1.GitRepo) bool {
	if facts.Deleting(g) || in.Now().IsZero() {
		return false
	}
	return g.Spec.Repo != "" && !g.Spec.Paused
}

// awaitsBundles reports whether it is certain that no Bundle of a GitRepo has the commit of its status, and that no Job
// writes them.
func (in *Input) awaitsBundles(g *v1alpha1.GitRepo) bool {
	commit, bundles := g.Status.Commit, in.BundlesOf(facts.RefTo(g))
	if commit == "" || len(bundles) == 0 || g.Status.GitJobStatus == jobInProgress {
		return false
	}
	if slices.ContainsFunc(bundles, func(b *v1alpha1.Bundle) bool {
		of := b.Labels[fleet.CommitLabel]
		return of == "" || of == commit
	}) {
		return false
	}
	return in.Passed(facts.Parsed(g.Reported().AsOf), behindAfter) && in.Read(state.Bundle, g.Namespace)
}

// lag is one thing in which a GitRepo is behind.
type lag struct{ aspect, message string }

// behind returns in what a GitRepo is behind.
func (in *Input) behind(g *v1alpha1.GitRepo) []lag {
	var out []lag
	add := func(aspect, format string, args ...any) { out = append(out, lag{aspect, fmt.Sprintf(format, args...)}) }
	name, s, written := facts.Key(g), &g.Status, facts.Time(g.SpecWritten)
	if last, late := in.polledLate(g); late {
		add("poll", "GitRepo %s was polled last at %s", name, facts.Time(last))
	}
	settled := in.Passed(g.SpecWritten, behindAfter)
	switch {
	case settled && s.ObservedGeneration < g.Generation:
		add("generation", "Fleet has not followed generation %d of GitRepo %s since %s: it observed %d", g.Generation,
			name, written, s.ObservedGeneration)
	case settled && s.UpdateGeneration != g.Spec.ForceSyncGeneration && s.GitJobStatus != jobInProgress:
		add("forceSync", "Fleet has not followed forceSyncGeneration %d of GitRepo %s since %s: it updated for %d",
			g.Spec.ForceSyncGeneration, name, written, s.UpdateGeneration)
	}
	if in.awaitsBundles(g) {
		add("commit", "no Bundle of GitRepo %s has commit %s of its status, and no Job for it is in progress", name,
			s.Commit)
	}
	return out
}

// polledLate returns the time of the last poll, and whether it is too long ago.
func (in *Input) polledLate(g *v1alpha1.GitRepo) (time.Time, bool) {
	last := facts.Parsed(g.Status.LastPollingTriggered)
	if g.Spec.DisablePolling || last.IsZero() {
		return last, false // older versions do not write it
	}
	interval, err := time.ParseDuration(g.Spec.PollingInterval)
	if err != nil || interval <= 0 {
		interval = defaultPolling
	}
	return last, in.Now().Sub(last)/3 > max(interval, behindAfter/3) // 3*interval can exceed the range of a duration
}

// pollingFails returns since when the repository cannot be polled, if that is too long.
func (in *Input) pollingFails(g *v1alpha1.GitRepo) (time.Time, bool) {
	since := failedSince(g, "GitPolling")
	interval, err := time.ParseDuration(g.Spec.PollingInterval)
	if err != nil {
		interval = 0
	}
	return since, !g.Spec.DisablePolling && in.Passed(since, max(3*interval, behindAfter))
}

// refused returns why no Job starts, or why the last one failed, if the GitRepo has a condition about that.
func (in *Input) refused(g *v1alpha1.GitRepo) []string {
	var out []string
	if since := failedSince(g, "Accepted"); !since.IsZero() {
		out = append(out, "resolve this first: its condition Accepted has an error since "+
			facts.Time(since)+in.Said(g, "Accepted"))
	}
	if g.Status.GitJobStatus == jobFailed {
		out = append(out, "the last Job failed"+in.Said(g, "Stalled"))
	}
	return out
}

// failedSince returns the time of a condition with an error; zero without an error or a time.
func failedSince(g *v1alpha1.GitRepo, condition string) time.Time {
	if c := facts.ConditionOf(g.Status.Conditions, condition); c.Status == "False" && c.Reason == "Error" {
		return facts.Parsed(c.LastUpdateTime)
	}
	return time.Time{}
}
