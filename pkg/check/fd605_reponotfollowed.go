// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"time"

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
	// jobInProgress is the gitJobStatus while a Job runs.
	jobInProgress = "InProgress"
	// jobFailed is the gitJobStatus after a Job that failed.
	jobFailed = "Failed"
)

var repoNotFollowed = Check{
	Code: "FD605", Name: "RepoNotFollowed", Severity: Warning,
	Title: "a GitRepo is not followed",
	run: func(in *Input, report func(Finding)) {
		if in.Now().IsZero() {
			return
		}
		var commits map[string]*repoCommits
		for a := range in.Aggregates(state.GitRepo) {
			g, ok := a.Object.(*v1alpha1.GitRepo)
			if !ok || !followed(g) {
				continue
			}
			if commits == nil {
				commits = in.commits()
			}
			ref := facts.Ref(state.GitRepo, g.Namespace, g.Name)
			if since, failed := in.pollingFails(g); failed {
				report(Finding{
					Object: ref, AsOf: g.Reported().AsOf,
					Message: fmt.Sprintf("GitRepo %s cannot be polled since %s%s", facts.Key(g),
						since.UTC().Format(time.RFC3339),
						in.Said(g, "GitPolling")),
					Remedies: []remedy.Remedy{in.Commands.Describe(ref)}, Aspect: "polling",
				})
				continue
			}
			for _, x := range in.behind(g, commits[facts.Key(g)]) {
				report(Finding{
					Object: ref, Message: x.message, Aspect: x.aspect, AsOf: g.Reported().AsOf, Evidence: in.refused(g),
					Remedies: []remedy.Remedy{in.StartJob(facts.Key(g), g.Spec.ForceSyncGeneration+1)},
				})
			}
		}
	},
}

// followed reports whether Fleet should follow a GitRepo.
func followed(g *v1alpha1.GitRepo) bool {
	return !g.Spec.Paused && g.DeletionTimestamp == nil && g.Spec.Repo != ""
}

// repoCommits are the commits of the Bundles of a GitRepo.
type repoCommits struct {
	of      map[string]bool
	without bool // a Bundle has no commit
}

func (in *Input) commits() map[string]*repoCommits {
	out := map[string]*repoCommits{}
	for _, b := range in.Desired.Bundles {
		name := b.Labels[fleet.RepoLabel]
		if name == "" {
			continue
		}
		key := b.Namespace + "/" + name
		if out[key] == nil {
			out[key] = &repoCommits{of: map[string]bool{}}
		}
		commit := b.Labels[fleet.CommitLabel]
		out[key].of[commit] = true
		out[key].without = out[key].without || commit == ""
	}
	return out
}

// lag is one thing in which a GitRepo is behind.
type lag struct{ aspect, message string }

// behind returns in what a GitRepo is behind.
func (in *Input) behind(g *v1alpha1.GitRepo, bundles *repoCommits) []lag {
	var out []lag
	name, s := facts.Key(g), &g.Status
	if last, late := in.polledLate(g); late {
		out = append(out, lag{"poll", fmt.Sprintf("GitRepo %s was polled last at %s", name,
			last.UTC().Format(time.RFC3339))})
	}
	if settled := !g.SpecWritten.IsZero() && in.late(g.SpecWritten, behindAfter); settled {
		switch {
		case s.ObservedGeneration < g.Generation:
			out = append(out, lag{"generation",
				fmt.Sprintf("Fleet has not followed generation %d of GitRepo %s since %s: it observed %d",
					g.Generation, name, g.SpecWritten.UTC().Format(time.RFC3339), s.ObservedGeneration)})
		case s.UpdateGeneration != g.Spec.ForceSyncGeneration && s.GitJobStatus != jobInProgress:
			out = append(out, lag{"forceSync",
				fmt.Sprintf("Fleet has not followed forceSyncGeneration %d of GitRepo %s since %s: it updated for %d",
					g.Spec.ForceSyncGeneration, name, g.SpecWritten.UTC().Format(time.RFC3339), s.UpdateGeneration)})
		}
	}
	if bundles == nil || bundles.without || !in.Read(state.Bundle, g.Namespace) {
		return out
	}
	if s.Commit == "" || bundles.of[s.Commit] || s.GitJobStatus == jobInProgress {
		return out
	}
	if changed, err := time.Parse(time.RFC3339, g.Reported().AsOf); err == nil && in.late(changed, behindAfter) {
		out = append(out, lag{"commit", fmt.Sprintf("no Bundle of GitRepo %s has commit %s of its status, and no "+
			"Job for it is in progress", name, s.Commit)})
	}
	return out
}

// polledLate returns the time of the last poll, and whether it is too long ago.
func (in *Input) polledLate(g *v1alpha1.GitRepo) (time.Time, bool) {
	last, err := time.Parse(time.RFC3339, g.Status.LastPollingTriggered)
	if g.Spec.DisablePolling || err != nil {
		return last, false // older versions do not write it
	}
	interval, err := time.ParseDuration(g.Spec.PollingInterval)
	if err != nil || interval <= 0 {
		interval = defaultPolling
	}
	return last, in.Now().Sub(last)/3 > max(interval, behindAfter/3) // 3*interval can exceed the range of a duration
}

// pollingFails returns since when the repository cannot be polled, and whether that is too long.
func (in *Input) pollingFails(g *v1alpha1.GitRepo) (time.Time, bool) {
	since, failed := failedSince(g, "GitPolling")
	interval, err := time.ParseDuration(g.Spec.PollingInterval)
	if err != nil {
		interval = 0
	}
	return since, failed && !g.Spec.DisablePolling && in.late(since, max(3*interval, behindAfter))
}

// refused returns why no Job starts, or why the last one failed, if the GitRepo has a condition about that.
func (in *Input) refused(g *v1alpha1.GitRepo) []string {
	var out []string
	if since, failed := failedSince(g, "Accepted"); failed {
		out = append(out, "resolve this first: its condition Accepted has an error since "+
			since.UTC().Format(time.RFC3339)+in.Said(g, "Accepted"))
	}
	if g.Status.GitJobStatus == jobFailed {
		out = append(out, "the last Job failed"+in.Said(g, "Stalled"))
	}
	return out
}

// failedSince returns the time of a condition with an error.
func failedSince(g *v1alpha1.GitRepo, condition string) (time.Time, bool) {
	for _, c := range g.Status.Conditions {
		failed := c.Status == "False" && c.Reason == "Error"
		if since, err := time.Parse(time.RFC3339, c.LastUpdateTime); err == nil && failed && c.Type == condition {
			return since, true
		}
	}
	return time.Time{}, false
}

// late reports whether a time is longer ago.
func (in *Input) late(t time.Time, than time.Duration) bool { return in.Now().Sub(t) > than }
