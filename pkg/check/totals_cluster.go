// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// wrongOfBundle returns the wrong numbers of a Bundle: it counts its targets by the state of their bundle deployments.
func (in *Input) wrongOfBundle(t *totals, _ *Finding) []number {
	p := t.parts
	if !written(t.Aggregate) || len(p.actual) == 0 {
		return nil
	}
	reported := *t.Object.Reported().Summary
	expected, actual := fleet.Summarize(p.reported), fleet.Summarize(p.actual)
	// Its targets are not its deployments if one of them is left over, absent or being deleted.
	if reported.DesiredReady-reported.Pending != actual.DesiredReady {
		if reported.Ready <= actual.Ready {
			return nil
		}
		p.quiet = false
	}
	expected.DesiredReady, actual.DesiredReady = reported.DesiredReady, reported.DesiredReady
	return wrongSummary(&reported, expected, actual)
}

// wrongOfCluster returns the wrong numbers of a Cluster: its objects, bundle deployments, GitRepos and HelmOps.
func (in *Input) wrongOfCluster(t *totals, f *Finding) []number {
	cluster, ok := t.Object.(*v1alpha1.Cluster)
	if !ok || cluster.Status.Namespace == "" || !t.parts.countsKnown {
		return nil
	}
	s, p := &cluster.Status, t.parts
	if s.Summary.DesiredReady > len(p.actual) && in.Facts.Captured() && !in.Facts.Read(state.BundleDeployment, "") {
		return nil // the capture may be limited to some bundles, as that of fleet dump --gitrepo is
	}
	f.Cluster = t.Key()
	f.Remedies = []remedy.Remedy{in.Steps.Commands.List("bundledeployments", s.Namespace,
		"lists the bundle deployments of the cluster with their states")}
	if s.Agent.LastSeen != "" {
		f.Evidence = []string{"the agent's last heartbeat was at " + s.Agent.LastSeen}
	}
	reported, actual := fleet.TotalsOfCluster(in.existing(p.reported)), fleet.TotalsOfCluster(in.existing(p.actual))
	objects := wrongCounts(&s.ResourceCounts, reported.Counts, actual.Counts, p)
	if len(objects) > 0 && objects[0].reported.desired != objects[0].expected.desired {
		objects[0].bugs = append(objects[0].bugs, &fleet.BugClusterCounts)
	}
	deployments := wrongSummary(&s.Summary, reported.Summary, actual.Summary)
	return slices.Concat(objects, deployments, in.wrongRepos(s, reported, actual, fleet.TotalsOfCluster(p.actual)))
}

// wrongRepos returns the numbers of GitRepos and HelmOps of a cluster that are wrong. Fleet counts one as ready if any
// of its bundle deployments is. left are the numbers with those that were deleted and whose bundles are left, which
// FD304 reports.
func (in *Input) wrongRepos(s *v1alpha1.ClusterStatus, reported, actual, left fleet.ClusterTotals) []number {
	var out []number
	add := func(kind, what string, desired *int, ready int, expected, actual, left share) {
		if desired == nil || !in.Result.Desired.Read(kind, "") || left == (share{ready, *desired}) {
			return
		}
		if n := of(what, share{ready, *desired}, expected, actual); n.reported != n.actual {
			out = append(out, n)
		}
	}
	add(state.GitRepo, "GitRepos ready", s.DesiredReadyGitRepos, s.ReadyGitRepos,
		share{reported.ReadyGitRepos, reported.DesiredReadyGitRepos}, share{actual.ReadyGitRepos,
			actual.DesiredReadyGitRepos}, share{left.ReadyGitRepos, left.DesiredReadyGitRepos})
	add(state.HelmOp, "HelmOps ready", s.DesiredReadyHelmOps, s.ReadyHelmOps,
		share{reported.ReadyHelmOps, reported.DesiredReadyHelmOps}, share{actual.ReadyHelmOps,
			actual.DesiredReadyHelmOps}, share{left.ReadyHelmOps, left.DesiredReadyHelmOps})
	return out
}

// existing returns members without the names of GitRepos and HelmOps that were deleted: a Cluster does not count these.
func (in *Input) existing(members []fleet.Member) []fleet.Member {
	out := slices.Clone(members)
	for i := range out {
		if in.Facts.GitRepo(out[i].GitRepo) == nil {
			out[i].GitRepo = ""
		}
		if in.Facts.Object(facts.Named(state.HelmOp, out[i].HelmOp)) == nil {
			out[i].HelmOp = ""
		}
	}
	return out
}

// clustersOf returns the parts of a ClusterGroup, which are Clusters; ok is false if it is not known which ones it
// selects.
func (in *Input) clustersOf(a *evaluate.Aggregate) (p parts, ok bool) {
	group, ok := a.Object.(*v1alpha1.ClusterGroup)
	return parts{countsKnown: true}, ok && a.InScope && in.membersKnown(group)
}

// wrongOfGroup returns the wrong numbers of a ClusterGroup: the totals of its Clusters, and the Clusters themselves.
func (in *Input) wrongOfGroup(t *totals, f *Finding) []number {
	group, ok := t.Object.(*v1alpha1.ClusterGroup)
	if !ok {
		return nil
	}
	if s := &group.Status; s.ClusterCount == nil && !written(t.Aggregate) {
		return nil
	}
	f.Remedies = []remedy.Remedy{remedy.Run(in.Steps.Commands.Kubectl+remedy.InNamespace(group.Namespace)+
		" get clusters.fleet.cattle.io --show-labels",
		"lists the Clusters that the group can select, with their labels")}
	var sum v1alpha1.ResourceCounts
	var summaries []v1alpha1.Summary
	var notReady []string
	for _, c := range t.Clusters {
		r := c.Object.Reported()
		sum, summaries = sum.Plus(*r.Counts), append(summaries, *r.Summary)
		if r.Summary.Ready != r.Summary.DesiredReady {
			notReady = append(notReady, c.Object.GetName())
		}
	}
	summary, r := fleet.SummarizeAll(summaries), t.Object.Reported()
	return slices.Concat(wrongCounts(r.Counts, sum, sum, t.parts), wrongSummary(r.Summary, summary, summary),
		wrongMembers(&group.Status, len(t.Clusters), notReady))
}

// membersKnown reports whether it is known which Clusters a group selects.
func (in *Input) membersKnown(group *v1alpha1.ClusterGroup) bool {
	if group.Spec.Selector == nil || !in.Facts.Read(state.ClusterKind, group.Namespace) {
		return false
	}
	_, err := metav1.LabelSelectorAsSelector(group.Spec.Selector)
	return err == nil // otherwise Fleet does not count
}

// wrongMembers returns the number of ready Clusters of a group if it is wrong, or if the group lists others as not
// ready. notReady are the names of those that are not.
func wrongMembers(s *v1alpha1.ClusterGroupStatus, clusters int, notReady []string) []number {
	if s.ClusterCount == nil {
		return nil
	}
	slices.Sort(notReady)
	actual := share{clusters - len(notReady), clusters}
	n := of(clustersReady, share{*s.ClusterCount - s.NonReadyClusterCount, *s.ClusterCount}, actual, actual)
	listed := notReady[:min(len(notReady), fleet.MaxListed)]
	switch {
	case n.reported != n.actual:
	case slices.Equal(s.NonReadyClusters, listed):
		return nil
	default:
		n.actualText += fmt.Sprintf(", with %s not ready instead of %s",
			cmp.Or(facts.List(listed), "none"), cmp.Or(facts.List(s.NonReadyClusters), "none"))
	}
	return []number{n}
}

// contradictions are the findings about what is mutually exclusive in the status of a bundle deployment.
func (in *Input) contradictions(d *evaluate.BundleDeployment) []Finding {
	var out []Finding
	for _, x := range contradictions(d) {
		f := onDeployment(d, "the status of %s: %s", d.Key(), x.message)
		f.Code, f.Aspect, f.Remedies = codes.Contradiction, x.aspect, only(in.Steps.Commands.Describe(f.Object))
		if x.aspect == listed {
			o := &d.BD.Status.NonReadyStatus[0]
			f.say("%s %s/%s%s", strings.ToLower(o.Kind), o.Namespace, o.Name, in.Facts.ReportedOf(&d.Deployment, o))
		}
		out = append(out, f)
	}
	return out
}

// listed is the aspect of a list of objects that contradicts the counts. Its first object is shown.
const listed = "listed"

// contradictionAbove reports what is mutually exclusive in the status of an aggregate, or in those of a GitRepo or
// HelmOp and one of its Bundles.
func (in *Input) contradictionAbove(out *found, a *evaluate.Aggregate) {
	found := contradictionsOf(a)
	ready := v1alpha1.ConditionOf(facts.ConditionsOf(a.Object), "Ready").Status == "True"
	if b := in.failingBundle(a); b != nil && ready {
		found.add("bundle", "condition Ready is True, but its bundle %s has not been ready since %s", b.Name,
			v1alpha1.ConditionOf(b.Status.Conditions, "Ready").LastUpdateTime)
	}
	for _, x := range found {
		f := Finding{Object: facts.RefOf(a), AsOf: a.Object.Reported().AsOf, Aspect: x.aspect,
			Message: "the status of " + a.Key() + ": " + x.message}
		out.report(f, in.Steps.Commands.Describe(f.Object))
	}
}

// exclusive are facts of one status that are mutually exclusive.
type exclusive struct{ aspect, message string }

// exclusives are those of one object, each with another aspect.
type exclusives []exclusive

func (x *exclusives) add(aspect, format string, args ...any) {
	*x = append(*x, exclusive{aspect, fmt.Sprintf(format, args...)})
}

// contradictions returns what is mutually exclusive in the status of a bundle deployment. The agent writes these fields
// together, but not while the deployment is paused, or before it has applied the current deployment id.
func contradictions(d *evaluate.BundleDeployment) exclusives {
	if d.BD == nil {
		return nil
	}
	s, c := &d.BD.Status, d.BD.Status.ResourceCounts
	var out exclusives
	if c != nil && c.DesiredReady != c.Ready+c.NotReady+c.Modified+c.Missing+c.WaitApplied+c.Unknown {
		out.add("counts", "its counts do not add up: %d objects are desired, but the states of the objects are %s",
			c.DesiredReady, detailed(*c))
	}
	if whyFrozen(d) != "" || v1alpha1.ConditionOf(s.Conditions, "Installed").Status == "False" {
		return out
	}
	notReady, modified := len(s.NonReadyStatus), len(s.ModifiedStatus)
	if c != nil {
		notReady, modified = max(notReady, c.NotReady), max(modified, c.Modified+c.Missing+c.Orphaned)
	}
	lists := c != nil && !full(s) && len(s.NonReadyStatus) > c.NotReady
	switch {
	case s.Ready && notReady > 0:
		out.add("ready", "ready is true, but it counts or lists %s as not ready", facts.Count(notReady, "object"))
	case lists && c.Ready == c.DesiredReady:
		out.add(listed, "it lists %s as not ready, but it counts all of its %s as ready",
			facts.Count(len(s.NonReadyStatus), "object"), facts.Count(c.Ready, "object"))
	case s.NonModified && modified > 0:
		out.add("nonModified", "nonModified is true, but it counts or lists %s as modified, missing or extra",
			facts.Count(modified, "object"))
	}
	return out
}

// contradictionsOf returns what is mutually exclusive in the status of an aggregate.
func contradictionsOf(a *evaluate.Aggregate) exclusives {
	r, ready := a.Object.Reported(), v1alpha1.ConditionOf(facts.ConditionsOf(a.Object), "Ready")
	var out exclusives
	all := true
	if s := r.Summary; s != nil {
		all = s.Ready == s.DesiredReady
		if s.Ready > s.DesiredReady || s.Sum() > s.DesiredReady {
			out.add("summary", "its summary counts %d bundle deployments in all states, but only %d are desired",
				max(s.Ready, s.Sum()), s.DesiredReady)
		} else if ready.Status == "True" && !all {
			out.add("ready", "condition Ready is True, but only %s bundle deployments are ready", shareOfSummary(*s))
		}
	}
	if bad := fleet.BundleState(r.State).Rank() > fleet.Ready.Rank(); bad && all && ready.Status == "True" {
		out.add("state", "condition Ready is True, but the state is %s", r.State)
	}
	someReady := r.Summary != nil && r.Summary.Ready > 0
	unsaid := ready.Status == "False" && ready.Message == ""
	if unsaid && all && someReady {
		out.add("notReady", "condition Ready is False without a message, but all bundle deployments are ready")
	}
	if s := facts.StatusOf(a.Object); s != nil && s.DesiredReadyClusters != nil &&
		s.ReadyClusters > *s.DesiredReadyClusters {
		out.add("clusters", "%d clusters are ready, but only %d are desired", s.ReadyClusters, *s.DesiredReadyClusters)
	}
	if c := r.Counts; c != nil && c.Ready > c.DesiredReady {
		out.add("objects", "%d objects are ready, but only %d are desired", c.Ready, c.DesiredReady)
	}
	return out
}

// failingBundle returns the first Bundle of a GitRepo or HelmOp that has not been ready for some time; nil without one.
func (in *Input) failingBundle(a *evaluate.Aggregate) *v1alpha1.Bundle {
	for _, b := range in.Facts.BundlesOf(facts.RefOf(a)) {
		c := v1alpha1.ConditionOf(b.Status.Conditions, "Ready")
		if c.Status == "False" && !facts.Deleting(b) && in.Facts.LongAgo(facts.Parsed(c.LastUpdateTime)) {
			return b
		}
	}
	return nil
}

func (in *Input) frozen(out *found, d *evaluate.BundleDeployment) {
	if why := whyFrozen(d); why != "" {
		f := onDeployment(d, "the status of %s is not current: %s", d.Key(), why)
		f.Follows = originsAt(&d.Deployment, codes.NotApplied)
		out.report(f, in.Steps.Commands.ShowCauses(&d.Deployment))
	}
}

func whyFrozen(d *evaluate.BundleDeployment) string {
	if d.BD == nil {
		return ""
	}
	switch spec, status := d.BD.Spec, d.BD.Status; {
	case spec.Paused:
		return "it is paused"
	case spec.OffSchedule:
		return "it is outside its schedule"
	case spec.DeploymentID != status.AppliedDeploymentID && status.AppliedDeploymentID == "":
		return "the agent has applied nothing yet"
	case spec.DeploymentID != status.AppliedDeploymentID:
		return "the agent has not applied the current deployment id yet"
	}
	return ""
}

// The comparisons of FD202 to FD206.
var (
	bundleSummary = comparison{deployments, deploymentChange, (*Input).partsOf, (*Input).wrongOfBundle}
	repoResources = comparison{deployments, deploymentChange, (*Input).partsOf, (*Input).wrongOfRepo}
	repoClusters  = comparison{deployments, deploymentChange, (*Input).partsOf, (*Input).wrongClustersOfRepo}
	clusterCounts = comparison{deployments, heartbeat, (*Input).partsOf, (*Input).wrongOfCluster}
	groupCounts   = comparison{"its clusters", clusterChange, (*Input).clustersOf, (*Input).wrongOfGroup}
)

const (
	deployments      = "its bundle deployments"
	deploymentChange = "Fleet updates this number some seconds after a bundle deployment changes"
	clusterChange    = "Fleet updates this number some seconds after one of the Clusters changes"
	heartbeat        = "Fleet updates this number at the heartbeat of the agent, not when an object changes"
)
