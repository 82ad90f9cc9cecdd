// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// NotProcessed returns the finding that a controller of Fleet refuses or ignores an object, in the words of Fleet.
func (in *Input) NotProcessed(o v1alpha1.Object) (Finding, bool) {
	switch o := o.(type) {
	case *v1alpha1.Schedule:
		return in.ignoredFeature(o, &o.Status, in.Result.Desired.Scheduling, fleet.SchedulesEnv)
	case *v1alpha1.ImageScan:
		return in.ignoredScan(o)
	}
	ref := facts.RefTo(o)
	f := Finding{Code: codes.NotProcessed, Object: ref, AsOf: o.Reported().AsOf}
	if ref.Kind == state.ClusterKind {
		f.Cluster = facts.Key(o)
	}
	if in.ignored(o, &f) {
		return f, true
	}
	all := in.refusals(o)
	if len(all) == 0 {
		never := in.neverProcessed(o, &f)
		return f, never
	}
	f.Aspect = all[0].Condition
	f.Message = ref.Kind + " " + facts.Key(o) + " " + in.refusal(o, all[0])
	for _, r := range all[1:] {
		f.say("it %s", in.refusal(o, r))
	}
	f.Remedies = append(f.Remedies, in.Steps.Commands.Describe(ref))
	if g, ok := o.(*v1alpha1.GitRepo); ok {
		if f.Aspect == facts.Stalled {
			job := fleet.JobName(g.Name, g.Spec.Repo+g.Status.Commit)
			f.Remedies = []remedy.Remedy{in.Steps.Commands.LogsOfJob(g.Namespace, job)}
		}
		if strings.Contains(v1alpha1.ConditionOf(g.Status.Conditions, f.Aspect).Message, "disallowed") {
			f.Remedies = []remedy.Remedy{in.Steps.Commands.List("gitreporestrictions", g.Namespace,
				"lists the GitRepoRestrictions of the namespace, which forbid it: -o yaml shows what they allow")}
		}
		polled, deployed := g.Status.PollingCommit, g.Status.Commit
		differ := polled != "" && deployed != "" && polled != deployed
		f.sayIf(differ, "the last poll found commit "+polled+", and its bundles are those of commit "+deployed)
	}
	return f, true
}

// imageScanSince is the first minor version in which Fleet scans images only on request. Schedules always were so.
const imageScanSince = 15

// switchedOff reports objects that the controller ignores because their feature is not switched on.
func (in *Input) switchedOff(out *found) {
	for _, s := range in.Result.Desired.Schedules {
		if named, _ := in.schedules(s); named || in.Result.Includes(state.Schedule, s) {
			out.reportIf(in.NotProcessed(s))
		}
	}
	for _, s := range in.Result.Desired.ImageScans {
		ofRepo := in.Result.Scope.Names(state.GitRepo, s.Namespace+"/"+s.Spec.GitRepoName)
		if ofRepo || in.Result.Includes(state.ImageScan, s) {
			out.reportIf(in.NotProcessed(s))
		}
	}
}

// IgnoredSchedules says of the Schedules that target a Cluster of a bundle deployment that the controller ignores them.
// That is no finding about the bundle, which is deployed all the same. FD610 is one about the Cluster.
func (in *Input) IgnoredSchedules() []string {
	var out []string
	for _, s := range in.Result.Desired.Schedules {
		named, deploys := in.schedules(s)
		if f, ignored := in.NotProcessed(s); ignored && deploys && !named {
			out = append(out, f.Message)
		}
	}
	return out
}

// schedules reports whether a Schedule targets a Cluster that the scope names, and one with a bundle deployment in
// scope.
func (in *Input) schedules(s *v1alpha1.Schedule) (named, deploys bool) {
	asBundle := &v1alpha1.Bundle{}
	asBundle.Namespace = s.Namespace
	for _, t := range s.Spec.Targets.Clusters {
		asBundle.Spec.Targets = append(asBundle.Spec.Targets, v1alpha1.BundleTarget{ClusterTarget: t})
	}
	for r := range in.Facts.Matching(asBundle).Results() {
		c := r.Cluster
		if r.Outcome == targeting.Excluded || c.Namespace != s.Namespace {
			continue
		}
		named = named || in.Result.Scope.Names(state.ClusterKind, c.Key())
		deploys = deploys || slices.ContainsFunc(in.Result.Deployments, func(d *evaluate.BundleDeployment) bool {
			return d.Cluster == c.Key()
		})
	}
	return named, deploys
}

// ignoredScan is ignoredFeature for an ImageScan.
func (in *Input) ignoredScan(s *v1alpha1.ImageScan) (Finding, bool) {
	version, known := fleet.ParseVersion(in.Result.Desired.ControllerVersion)
	if known && version.Before(imageScanSince, 0) {
		return Finding{}, false
	}
	enabled := in.Result.Desired.ImageScan
	if off := enabled != nil && !*enabled; off && !known {
		enabled = nil // before that version, images are scanned without the variable
	}
	return in.ignoredFeature(s, &s.Status, enabled, fleet.ImageScanEnv)
}

// ignoredFeature returns the finding about an object that the controller has never processed, unless a variable of
// fleet-controller enables that. enabled is nil if that is not known: then the age of the object decides.
func (in *Input) ignoredFeature(o v1alpha1.Object, status *v1alpha1.FeatureStatus, enabled *bool, variable string,
) (Finding, bool) {
	ref := facts.RefTo(o)
	f := Finding{Code: codes.NotProcessed, Object: ref, Aspect: "feature"}
	name := ref.Kind + " " + facts.Key(o)
	created := o.GetCreationTimestamp().Time
	switch {
	case status.Written(), enabled != nil && *enabled:
		return f, false
	case enabled != nil:
		f.Message = fmt.Sprintf("no controller processes %s: the environment of Deployment %s does not set %s to true",
			name, fleet.ControllerName, variable)
	case !in.Facts.LongAgo(created):
		return f, false
	default:
		f.Message = fmt.Sprintf("no controller has processed %s since %s: its status is empty, and it is not known "+
			"whether Deployment %s sets %s to true, which it needs", name, facts.Time(created), fleet.ControllerName,
			variable)
	}
	f.Remedies = only(remedy.Advise("set the variable %s of Fleet's controllers to true with Fleet's Helm chart, or "+
		"delete the %s, which has no effect", variable, ref.Kind))
	return f, true
}

// refusals returns why a controller does not process an object. FD306 and FD404 are about Bundles too, and FD603 about
// objects that are being deleted.
func (in *Input) refusals(o v1alpha1.Object) []facts.Refusal {
	b, ok := o.(*v1alpha1.Bundle)
	if !ok {
		return facts.Refusals(o)
	}
	if facts.Deleting(b) || !facts.Failed(b) {
		return nil
	}
	if _, target := in.TargetError(b); target {
		return nil
	}
	since := facts.Parsed(v1alpha1.ConditionOf(b.Status.Conditions, "Ready").LastUpdateTime)
	return []facts.Refusal{{Condition: "Ready", What: "cannot be processed", Since: since}}
}

// refusal is a refusal as the end of a sentence about its object.
func (in *Input) refusal(o v1alpha1.Object, r facts.Refusal) string {
	return r.What + since(r.Since) + in.Facts.Said(o, r.Condition)
}

// ignored reports whether no controller processes an object because of the shard that a label of it names.
func (in *Input) ignored(o v1alpha1.Object, f *Finding) bool {
	shard := o.GetLabels()[fleet.ShardLabel]
	if shard == "" || facts.Deleting(o) || in.sameShard(o, shard) {
		return false
	}
	name := state.ControllerOf(f.Object.Kind, shard)
	why := "does not exist"
	switch w, known := in.Result.Desired.Controller(name); {
	case !known:
		return false
	case w != nil && w.Idle == "":
		return false
	case w != nil:
		why = "does not run: " + w.Idle
	}
	f.Aspect = "shard"
	f.Message = fmt.Sprintf("no controller processes %s %s: its label %s is %q, and Deployment %s %s", f.Object.Kind,
		facts.Key(o), fleet.ShardLabel, shard, name, why)
	f.Remedies = append(f.Remedies, in.Steps.Commands.Unlabel(f.Object, fleet.ShardLabel,
		"lets the controllers without a shard process it"))
	return true
}

// neverProcessed reports whether it is certain that no controller has processed a Bundle since its creation. Nothing in
// the Bundle says why.
func (in *Input) neverProcessed(o v1alpha1.Object, f *Finding) bool {
	b, ok := o.(*v1alpha1.Bundle)
	created := o.GetCreationTimestamp().Time
	if !ok || in.Facts.Processed(b) || !in.Facts.LongAgo(created) {
		return false
	}
	f.Aspect = "never"
	f.Message = fmt.Sprintf("the controller has not processed Bundle %s since it was created at %s", facts.Key(b),
		facts.Time(created))
	f.sayIf(b.Spec.ContentsID != "", "its contents are in an OCI registry: the controller needs Secret "+
		b.Namespace+"/"+b.Spec.ContentsID+", and writes no error into the Bundle without it")
	f.Remedies = append(f.Remedies, in.Steps.LogsOf(fleet.ControllerName))
	return true
}

// sameShard reports whether an object has its shard from its GitRepo or HelmOp, which has the finding.
func (in *Input) sameShard(o v1alpha1.Object, shard string) bool {
	b, ok := o.(*v1alpha1.Bundle)
	if !ok {
		return false
	}
	repo, ok := facts.RepoOf(b)
	parent := in.Facts.Object(repo)
	return ok && parent != nil && parent.GetLabels()[fleet.ShardLabel] == shard
}
