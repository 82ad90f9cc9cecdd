// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// waitsAfter is how long a dependency may take before a bundle that waits for it is reported.
const waitsAfter = 15 * time.Minute

// reportedElsewhere are the kinds of first steps about what is wanted, or what a finding about the Bundle reports.
var reportedElsewhere = []StepKind{StepPaused, StepSchedule, StepTargetError, StepBundleValues, StepNotProcessed,
	StepChartVersion, StepBundlePending}

// otherValue finds what an object states of its release, in these words.
var otherValue = regexp.MustCompile(`key "meta\.helm\.sh/release-(name|namespace)" must equal "[^"]*": ` +
	`current value is "([^"]*)"`)

// adoptable reports whether Helm refuses to deploy over an object that no release on the cluster has. The object names
// none, or one that is gone, as after a deletion with keepResources. The plan of the adoption also reads the records in
// ConfigMaps.
func (in *Input) adoptable(d *directory.Deployment, words string) bool {
	others := otherValue.FindAllStringSubmatch(words, -1)
	if !strings.Contains(words, invalidOwnership) || len(others) != strings.Count(words, "current value is") {
		return false
	}
	if len(others) == 0 {
		return true
	}
	if !d.Placed || !in.Result.Desired.Cluster(d.ClusterID).SetsComplete {
		return false
	}
	namespace, name, _ := strings.Cut(desired.ExpectedRelease(d.BD, true), "/")
	for _, m := range others {
		if m[1] == "name" {
			name = m[2]
		} else {
			namespace = m[2]
		}
	}
	return in.Result.Desired.On(d.ClusterID).Release(namespace+"/"+name, d.AsOwner()) != ownership.Exists
}

func (in *Input) notApplied(out *found) {
	causes := in.Causes()
	for _, d := range in.Result.Deployments {
		steps := causes.Blocked(&d.Deployment)
		if len(steps) == 0 || slices.Contains(reportedElsewhere, steps[0].Kind) || in.mayPass(d, steps) {
			continue
		}
		if steps[0].Kind == StepRollout {
			in.heldBack(out, d, steps)
			continue
		}
		root := steps[len(steps)-1]
		f := onDeployment(d, "%s is not applied: %s", d.Key(), reasonOf(root))
		if !root.isAbout(&d.Deployment) {
			f = onDeployment(d, "%s is not applied because of %s: %s", d.Key(), root.nameOf(), reasonOf(root))
		}
		f.Settle, f.Pauses, f.Follows = root.Settle, root.Pauses, originsOfWait(d, root)
		for _, s := range steps[:len(steps)-1] {
			f.Evidence = append(f.Evidence, s.nameOf()+": "+s.Message+s.Said)
		}
		if root.Kind == StepAgent || root.Kind == StepFailed {
			f.Evidence = append(f.Evidence, root.Evidence...)
		}
		out.report(f, in.afterWait(d, root)...)
	}
	in.neverCreated(out, causes)
}

// neverCreated reports the targets of bundles for which the rollout creates no BundleDeployment, and that nothing ends.
func (in *Input) neverCreated(out *found, causes *Causes) {
	for _, b := range in.Facts.Candidates() {
		for r := range in.Facts.Targets(b).Results() {
			expected := r.Outcome == targeting.Expected && in.Facts.DeploymentInScope(b, r.Cluster.Key())
			if !expected || !in.lacks(b, r.Cluster.Cluster) {
				continue
			}
			steps := causes.NotCreated(b, r).Steps
			if !steps[0].heldForEver() {
				continue
			}
			f := in.absentDeployment(b, r)
			f.Code, f.Remedies = "", nil
			f.Message = fmt.Sprintf("bundle %s is not deployed to cluster %s: %s", facts.Key(b), r.Cluster.Key(),
				steps[0].Message)
			out.report(f, steps[0].Next...)
		}
	}
}

// mayPass reports whether what a bundle deployment waits for may happen soon.
func (in *Input) mayPass(d *evaluate.BundleDeployment, steps []Step) bool {
	step, root := steps[0], steps[len(steps)-1]
	if step.Kind == StepDependency && root.Kind != StepCycle {
		return !in.Facts.Passed(facts.Parsed(d.BD.Reported().AsOf), waitsAfter)
	}
	if root.Kind == StepAgent {
		return in.mayReport(root.Deployment.Namespace)
	}
	if step.heldForEver() {
		return false
	}
	bundle := in.Facts.Bundle(d.Bundle)
	if step.Kind != StepRollout || root.Kind == StepFailed || bundle == nil {
		return false
	}
	return !in.Facts.Passed(facts.Parsed(bundle.Reported().AsOf), waitsAfter)
}

// mayReport reports whether the first agent of a cluster may still report: the Cluster is new, and has what an agent
// needs.
func (in *Input) mayReport(namespace string) bool {
	a, known := in.Facts.AgentOf(namespace)
	if !known || a.Heartbeat.State != agentconfig.Never {
		return false
	}
	c := a.Cluster
	if in.Facts.RegistrationOf(c).Elsewhere(a) {
		return false
	}
	return (c.Spec.KubeConfigSecret != "" || c.Spec.ClientID != "") && !in.Facts.LongAgo(c.CreationTimestamp.Time)
}

// heldBack reports that a rollout does not update a bundle deployment.
func (in *Input) heldBack(out *found, d *evaluate.BundleDeployment, steps []Step) {
	step := steps[0]
	if !step.Holds() || d.BD.Spec.DeploymentID == "" {
		return // the limits are not known, or the controller updates it with its next run
	}
	f := onDeployment(d, "%s is not updated: %s", d.Key(), step.Message)
	if len(step.Clusters) > 0 {
		f.Message += ": " + facts.List(step.Clusters)
	}
	for _, s := range steps[1:] {
		f.say("%s: %s%s%s", cmp.Or(s.Cluster, s.nameOf()), s.Message, since(s.Since), s.Said)
	}
	f.Settle = in.Facts.StillStaged(d.BD)
	if step.Limit == targeting.BundleLimit {
		out.report(f, step.Next...)
		return
	}
	out.report(f, in.Steps.Commands.ShowCauses(&d.Deployment))
}

// reasonOf is why a bundle deployment is not applied. What Fleet or Helm said comes first.
func reasonOf(root Step) string {
	reason := root.Message + since(root.Since)
	if said, found := strings.CutPrefix(root.Said, ": "); found {
		return said + "; " + reason
	}
	return reason + root.Said
}

// afterWait returns the ways to proceed for a bundle deployment that is not applied because of a root cause.
func (in *Input) afterWait(d *evaluate.BundleDeployment, root Step) []remedy.Remedy {
	switch root.Kind {
	case StepFailed:
		return in.afterFailure(d, root)
	case StepAgent:
		return root.Next
	}
	return only(in.Steps.Commands.ShowCauses(&d.Deployment))
}

// afterFailure returns the ways to proceed if the agent could not install or deploy a bundle because of which d is
// not applied.
func (in *Input) afterFailure(d *evaluate.BundleDeployment, root Step) []remedy.Remedy {
	var out []remedy.Remedy
	own := root.isAbout(&d.Deployment)
	words := v1alpha1.ConditionOf(root.Deployment.BD.Status.Conditions, root.Condition).Message
	if fix, ok := in.ByHand(d, words); own && ok {
		if root.Condition == "Deployed" && awaited.MatchString(words) { // the agent tries it again and again
			return only(fix)
		}
		if takes, ok := takeFields(d, words); ok {
			return []remedy.Remedy{takes, in.Retry(d, root.Condition), fix}
		}
		return []remedy.Remedy{fix, in.Retry(d, root.Condition).ByHand()}
	}
	retry := in.Steps.TryNow(root.Deployment)
	if own {
		retry = in.Retry(d, root.Condition)
	}
	adopt := remedy.Step{Kind: remedy.StepAdopt, Object: root.Deployment.Ref()}
	switch {
	case in.adopted(root.Deployment, words):
	case in.adoptable(root.Deployment, words): // a deploy is refused until the objects are adopted
		return append(out, remedy.Make(adopt, "adopts the objects that exist already"), retry, takesOwnership(d))
	case root.Deployment.Placed && strings.Contains(words, invalidOwnership):
		// a person decides: another release has them
		return append(out, in.Steps.Commands.Predict(root.Deployment), remedy.Remedy{}.With(adopt), retry)
	case root.Deployment.Placed:
		out, retry = append(out, in.Steps.Commands.Predict(root.Deployment)), retry.ByHand()
	default:
		retry = retry.ByHand()
	}
	return append(out, retry)
}

// takesOwnership is how Helm itself takes the objects over.
func takesOwnership(d *evaluate.BundleDeployment) remedy.Remedy {
	where := "fleet.yaml"
	if d.HelmOp != "" {
		where = "the HelmOp"
	}
	return remedy.Advise("or set helm.takeOwnership: true in %s: Helm then takes the objects over with the deploy",
		where)
}

// originsOfWait returns the findings about the root cause for which a bundle deployment waits.
func originsOfWait(d *evaluate.BundleDeployment, root Step) []Origin {
	var out []Origin
	if root.isAbout(&d.Deployment) {
		return slices.DeleteFunc(slices.Clone(root.Findings), func(o Origin) bool { return o.Code == codes.NotApplied })
	}
	if root.Deployment != nil {
		out = originsAt(root.Deployment, codes.NotApplied)
	}
	if root.Quoted != "" {
		out = append(out, Origin{Code: root.Quoted, Cluster: root.Cluster, Object: root.Object})
	}
	return append(out, root.Findings...)
}
