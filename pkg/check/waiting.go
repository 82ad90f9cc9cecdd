// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
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
			own := b.Labels[fleet.CommitLabel]
			return own == "" || own == commit
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
		switch commit := b.Labels[fleet.CommitLabel]; {
		case commit == g.Status.Commit:
			written = true
		case commit != "" && !facts.Deleting(b):
			out = append(out, b.Name+" (commit "+commit+")")
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

// reportedNotReady reports each object that the status of a bundle deployment lists, if only the status is known. FD604
// reports what is not applied.
func (in *Input) reportedNotReady(out *found, d *evaluate.BundleDeployment) {
	if d.BD == nil || facts.Deleting(d.BD) || !in.onlyReported(d) {
		return
	}
	s := fleet.ReportedState(d.BD)
	if s != fleet.Modified && s != fleet.NotReady {
		return
	}
	next := remedy.Advise("audit the clusters too, each alone or together with the management cluster, with the " +
		"right to read release records")
	listed := in.listed(&d.Deployment)
	if len(listed) == 0 && statesNotReady(d.BD) {
		f := onDeployment(d, "Fleet reports %s as %s", d.Key(), s)
		f.Message += in.Facts.SaidOf(&d.Deployment, "Ready")
		out.report(f, next)
	}
	redeploy := in.redeploysListed(d, next)
	for _, o := range listed {
		f := about(d, o.Ref, "%s", o.Message+o.Said)
		f.Aspect, f.AsOf = string(o.State), d.BD.Reported().AsOf
		if lists := in.truncation(d); lists != "" {
			f.Message += "; it " + lists
		}
		if o.State == evaluate.NotReady {
			out.report(f, next)
			continue
		}
		out.report(f, redeploy...)
	}
}

// redeploysListed are the ways to proceed if a cluster that is not read has other objects than its bundle: its agent
// deploys the bundle again. next is to read the cluster.
func (in *Input) redeploysListed(d *evaluate.BundleDeployment, next remedy.Remedy) []remedy.Remedy {
	notRead := !in.Result.StatusOnly && d.Problem == directory.ClusterNotRead
	if left, _ := in.Facts.LeftOver(d); left || !notRead || !facts.Applied(d) {
		return only(next)
	}
	return []remedy.Remedy{in.Steps.Redeploy(d)[0], next}
}

// statesNotReady reports whether a status that lists no object states that it is not ready: an empty one states
// nothing, and FD604 has the reason of a refused installation.
func statesNotReady(bd *v1alpha1.BundleDeployment) bool {
	ready := v1alpha1.ConditionOf(bd.Status.Conditions, "Ready").Status
	states := bd.Status.Display.State != "" || ready == "False"
	return states && v1alpha1.ConditionOf(bd.Status.Conditions, "Installed").Status != "False"
}

// onlyReported reports whether only the status of a bundle deployment is known.
func (in *Input) onlyReported(d *evaluate.BundleDeployment) bool {
	return in.Result.StatusOnly || d.Problem == directory.ClusterNotRead || d.Problem == directory.RecordsForbidden
}

// waitsForPause reports what a pause keeps from being deployed, once for each object that is paused.
func (in *Input) waitsForPause(out *found) {
	causes := in.Causes()
	var all []Finding
	waiting, what := map[int][]string{}, map[int]string{}
	for _, d := range in.Result.Deployments {
		steps := causes.Blocked(&d.Deployment)
		if len(steps) == 0 || steps[0].Kind != StepPaused {
			continue
		}
		root := steps[len(steps)-1]
		if root.Deployment != nil { // what pauses it is not known
			continue
		}
		i := slices.IndexFunc(all, func(f Finding) bool { return f.Object == root.Object })
		if i < 0 {
			i = len(all)
			all = append(all, Finding{Object: root.Object, Cluster: root.Cluster, AsOf: root.AsOf, Remedies: root.Next,
				Message: strings.ToLower(root.Object.Kind) + " " + root.key() + " is paused"})
		}
		waiting[i] = append(waiting[i], d.Key())
		if spec := &d.BD.Spec; spec.DeploymentID != spec.StagedDeploymentID {
			what[i] = "newer "
		}
	}
	for i, f := range all {
		slices.Sort(waiting[i])
		f.Message += ", and a " + what[i] + "deployment waits in " +
			facts.Count(len(waiting[i]), "bundle deployment") + ": " + facts.List(waiting[i])
		out.report(f)
	}
}
