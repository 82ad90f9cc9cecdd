// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
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
)

// followed reports whether Fleet should follow a GitRepo. FD610 reports why it does not, if Fleet says that.
func (in *Input) followed(g *v1alpha1.GitRepo) bool {
	if facts.Deleting(g) || in.Result.Now().IsZero() || len(facts.Refusals(g)) > 0 {
		return false
	}
	return g.Spec.Repo != "" && !g.Spec.Paused
}

// awaitsBundles reports whether it is certain that no Bundle of a GitRepo has the commit of its status.
func (in *Input) awaitsBundles(g *v1alpha1.GitRepo) bool {
	commit := g.Status.Commit
	return commit != "" && in.Facts.Read(state.Bundle, g.Namespace) &&
		!slices.ContainsFunc(in.Facts.BundlesOf(facts.RefTo(g)), func(b *v1alpha1.Bundle) bool {
			of := b.Labels[fleet.CommitLabel]
			return of == "" || of == commit
		})
}

// leftBehind returns the Bundles of a GitRepo that its last Job neither wrote nor deleted, although it succeeded: they
// have another commit than the status of the GitRepo, which others have.
func (in *Input) leftBehind(g *v1alpha1.GitRepo) []string {
	if g.Status.Commit == "" || g.Status.GitJobStatus != facts.JobSucceeded {
		return nil
	}
	written := false
	var out []string
	for _, b := range in.Facts.BundlesOf(facts.RefTo(g)) {
		switch of := b.Labels[fleet.CommitLabel]; {
		case of == g.Status.Commit:
			written = true
		case of != "" && !facts.Deleting(b):
			out = append(out, b.Name+" (commit "+of+")")
		}
	}
	if !written || !in.Facts.Passed(facts.Parsed(g.Reported().AsOf), behindAfter) {
		return nil
	}
	slices.Sort(out)
	return out
}

// NotFollowed returns the findings about what in a GitRepo Fleet does not follow.
func (in *Input) NotFollowed(o v1alpha1.Object) []Finding {
	g, ok := o.(*v1alpha1.GitRepo)
	if !ok || !in.followed(g) {
		return nil
	}
	var out []Finding
	add := func(aspect string, next remedy.Remedy, format string, args ...any) {
		out = append(out, Finding{Code: codes.RepoNotFollowed, Object: facts.RefTo(g), AsOf: g.Reported().AsOf,
			Aspect: aspect, Message: fmt.Sprintf(format, args...), Remedies: []remedy.Remedy{next}})
	}
	name, s, written, logs := facts.Key(g), &g.Status, facts.Time(g.SpecWritten), in.Steps.LogsOf(fleet.GitJobName)
	if last, late := in.polledLate(g); late {
		add("poll", logs, "GitRepo %s was polled last at %s", name, facts.Time(last))
	}
	settled := in.Facts.Passed(g.SpecWritten, behindAfter)
	switch {
	case settled && s.ObservedGeneration < g.Generation:
		add("generation", logs, "Fleet has not followed generation %d of GitRepo %s since %s: it observed %d",
			g.Generation, name, written, s.ObservedGeneration)
	case settled && s.UpdateGeneration != g.Spec.ForceSyncGeneration && s.GitJobStatus != facts.JobInProgress:
		add("forceSync", logs, "Fleet has not followed forceSyncGeneration %d of GitRepo %s since %s: it updated for "+
			"%d", g.Spec.ForceSyncGeneration, name, written, s.UpdateGeneration)
	}
	late := in.Facts.Passed(facts.Parsed(g.Reported().AsOf), behindAfter)
	if late && s.GitJobStatus != facts.JobInProgress && in.awaitsBundles(g) {
		add("commit", in.Steps.StartJob(name, g.Spec.ForceSyncGeneration+1),
			"no Bundle of GitRepo %s has commit %s of its status, and no Job for it is in progress", name, s.Commit)
	}
	if left := in.leftBehind(g); len(left) > 0 {
		add("leftBehind", in.Steps.StartJob(name, g.Spec.ForceSyncGeneration+1),
			"the last Job of GitRepo %s, for commit %s, succeeded, and neither wrote nor deleted %s of it: %s", name,
			s.Commit, facts.Count(len(left), "Bundle"), facts.List(left))
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
	// 3*interval can exceed the range of a duration.
	return last, in.Result.Now().Sub(last)/3 > max(interval, behindAfter/3)
}
