// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
)

// StepKind is the kind of a step. docs/verbs/why.md describes the kinds, and pkg/cmd/words.yaml has their meanings.
type StepKind string

// The kinds of steps about a bundle deployment that is not applied, in the order in which they are considered: what
// comes first hides what comes later.
const (
	StepPaused     StepKind = "Paused" // also of the object that pauses it
	StepSchedule   StepKind = "OffSchedule"
	StepAgent      StepKind = "AgentSilent"
	StepValues     StepKind = "Values"
	StepDependency StepKind = "Dependency"
	// StepAbsent is a dependency without a bundle deployment on the cluster.
	StepAbsent  StepKind = "DependencyAbsent"
	StepContent StepKind = "ContentMissing"
	StepRecord  StepKind = "RecordPending"
	StepFailed  StepKind = "DeployFailed"
	// StepRollout is a limit of the rollout, a partition that it has not reached, or a run of the controller that is
	// due.
	StepRollout StepKind = "Rollout"
	// StepCycle is the end of a chain that leads back to itself.
	StepCycle      StepKind = "DependencyCycle"
	StepNotApplied StepKind = "NotApplied" // nothing that was read blocks it now
)

// The kinds of other steps.
const (
	// Of a bundle deployment.
	StepDeleting    StepKind = "Deleting"    // also of any other object of Fleet
	StepNotCreated  StepKind = "Absent"      // there is no BundleDeployment
	StepNoNamespace StepKind = "NoNamespace" // the cluster has no namespace for BundleDeployments
	// deployed objects are not ready, missing, unowned, modified or left over
	StepObjects       StepKind = "Objects"
	StepNamespace     StepKind = "NamespaceMeta" // the namespace of such an object
	StepReportedState StepKind = "ReportedState" // Fleet reports a state, and lists no object
	StepStatusWrong   StepKind = "StatusWrong"   // the status is not that of the objects, which are ready
	StepUnread        StepKind = "Unread"        // what decides could not be read

	// Of any object of Fleet: a controller refuses or ignores it.
	StepNotProcessed StepKind = "NotProcessed"

	// Of a parent that does not exist, although bundle deployments name it.
	StepGone StepKind = "Gone"

	// Of a Bundle.
	StepTargetError   StepKind = "TargetError"
	StepBundleValues  StepKind = "BundleValues"
	StepChartVersion  StepKind = "ChartVersion"
	StepBundlePending StepKind = "BundlePending" // the controller has not processed the present spec
	StepOutdated      StepKind = "Outdated"      // no change arrives from its GitRepo or HelmOp

	StepNowhere StepKind = "DeployedNowhere" // no target selects a cluster; also of a GitRepo or HelmOp

	// Of a GitRepo or HelmOp.
	StepGitJob      StepKind = "GitJob" // it is in progress
	StepNotFollowed StepKind = "NotFollowed"
	StepNoBundles   StepKind = "NoBundles"

	// Of a dependency.
	StepExcluded StepKind = "Excluded" // its targets do not select the cluster
	StepNoBundle StepKind = "NoBundle" // its Bundle does not exist
)

// Step is one step of a cause: something that is not as it should be. The next step is the reason for it.
type Step struct {
	Kind StepKind
	// Of is the bundle deployment that the step is about; nil if it is about another object.
	Deployment *directory.Deployment
	Object     object.Ref
	// Cluster is "namespace/name"; empty for an object that belongs to no cluster.
	Cluster string
	// Message is a sentence about it. It has no name of an object that differs between clusters. Said is the error that
	// Fleet or Helm reported, as the end of the sentence.
	Message, Said string
	// Since is when that began; zero if it is not known. AsOf is when it was reported (RFC 3339).
	Since    time.Time
	AsOf     string
	Evidence []string
	// Resources are the deployed objects of a StepObjects.
	Resources []Resource
	// Limit is the limit of a StepRollout, and Clusters are those that use it up ("namespace/name").
	Limit    targeting.HoldReason
	Clusters []string
	// Settle are the questions whose answers decide whether the step is certain, after some Pauses.
	Settle []settle.Question
	Pauses int
	// Condition is the condition that states the error of a StepFailed: Installed if Helm refused an installation,
	// which the agent does not try again.
	Condition string
	// Findings are those about it. Quoted is the code of the finding whose message it has; empty without one.
	Findings []Origin
	Quoted   string
	// Next is what to do about it, if none of the findings is reported. If it is
	// empty, that is a look at its conditions and events.
	Next []remedy.Remedy
}

// Name is the name of what a step is about, for people: that of the bundle for a bundle deployment.
func (s *Step) Name() string {
	if s.Deployment != nil {
		return bundleName(s.Deployment)
	}
	return s.Object.Name
}

// nameOf is how a sentence of a finding names what a step is about.
func (s *Step) nameOf() string {
	if s.Deployment != nil {
		return s.Deployment.Key()
	}
	return s.Object.Kind + " " + s.key()
}

// key is "namespace/name" of what a step is about, or "name".
func (s *Step) key() string { return strings.TrimPrefix(s.Object.Namespace+"/"+s.Object.Name, "/") }

// Holds reports whether it is certain that a rollout holds back a newer deployment.
func (s *Step) Holds() bool {
	return s.Kind == StepRollout && s.Limit != "" && s.Limit != targeting.NotHeld
}

// heldForEver reports whether a rollout holds back a newer deployment, and no cluster uses up its limit: no change on a
// cluster ends that.
func (s *Step) heldForEver() bool { return s.Holds() && len(s.Clusters) == 0 }

// isAbout reports whether a step is about a bundle deployment.
func (s *Step) isAbout(d *directory.Deployment) bool {
	return s.Deployment != nil && s.Deployment.ID() == d.ID()
}

// bundleName is the name of a bundle deployment for people: that of its bundle.
func bundleName(d *directory.Deployment) string {
	if _, name, ok := strings.Cut(d.Bundle, "/"); ok {
		return name
	}
	return d.Name
}

// Resource is a deployed object that is not as desired, or not ready.
type Resource struct {
	object.Ref
	// State is Orphaned for an object that is left over.
	State   evaluate.State
	Reason  string
	Message string
	// Said is why Fleet reports it as not ready, as the end of the sentence.
	Said  string
	Owner *evaluate.Owner
}

// Orphaned is the state of an object that is left over from an earlier revision.
const Orphaned evaluate.State = "Orphaned"

// Cause is whether a bundle deployment is ready, and why it is not. The last of the steps is the root cause; one that
// is ready has no steps.
type Cause struct {
	State evaluate.State // Ready, NotReady or Unknown
	Steps []Step
	// FromStatus is true if it is ready only according to the status that Fleet reports.
	FromStatus bool
	// Note says that Fleet reports another state of what is ready; empty if it does not.
	Note string
}

// Root returns the root cause; nil of what is ready.
func (c *Cause) Root() *Step {
	if len(c.Steps) == 0 {
		return nil
	}
	return &c.Steps[len(c.Steps)-1]
}

// notReady returns the cause that ends with these steps.
func notReady(steps ...Step) Cause { return Cause{State: evaluate.NotReady, Steps: steps} }

// unknown returns the cause that ends with a step that could not be read.
func unknown(step Step) Cause { return Cause{State: evaluate.Unknown, Steps: []Step{step}} }

// quote returns a step that has its message from a finding about an object of Fleet.
func quote(kind StepKind, f Finding) Step {
	return Step{Kind: kind, Object: f.Object, Cluster: f.Cluster, Message: f.Message, Evidence: f.Evidence,
		AsOf: f.AsOf, Quoted: f.Code, Next: f.Remedies}
}

// only is the list of one remedy.
func only(r remedy.Remedy) []remedy.Remedy { return []remedy.Remedy{r} }

// shown is the state that Fleet reports.
func shown(bd *v1alpha1.BundleDeployment) string { return string(fleet.ShownState(bd)) }

// asOf is the time of a status as the end of a sentence.
func asOf(when string) string {
	if when == "" {
		return ""
	}
	return " as of " + when
}

// order is the order in which the states of objects decide the state of their deployment. Fleet tests readiness first
// (docs/fleet-behavior.md, 4.3).
var order = []evaluate.State{evaluate.NotReady, evaluate.Missing, evaluate.Unowned, evaluate.Modified, Orphaned}

func worstFirst(a, b Resource) int {
	return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), a.Compare(b.Ref))
}

// listed returns the objects that the status of a bundle deployment lists, the worst one first, each with what Fleet
// reports of it.
func (in *Input) listed(d *directory.Deployment) []Resource {
	var out []Resource
	add := func(k v1alpha1.ObjectKey, is evaluate.State, as, said string) {
		ref := object.Ref(k)
		out = append(out, Resource{Ref: ref, State: is, Said: said,
			Message: "Fleet reports " + ref.Key().String() + " as " + as})
	}
	status := &d.BD.Status
	if fleet.ReportedState(d.BD) == fleet.NotReady {
		for i := range status.NonReadyStatus {
			o := &status.NonReadyStatus[i]
			add(o.Key(), evaluate.NotReady, "not ready", in.Facts.ReportedOf(d, o))
		}
	}
	for i := range status.ModifiedStatus {
		o := &status.ModifiedStatus[i]
		is, as := reportedAs(o)
		add(o.Key(), is, as, "")
	}
	slices.SortStableFunc(out, worstFirst)
	return out
}

// reportedAs returns the state that Fleet reports of an object, and the words for it. They claim no more than Fleet
// does: an agent that may not read an object also reports it as not owned.
func reportedAs(o *v1alpha1.ModifiedStatus) (is evaluate.State, as string) {
	switch {
	case o.Exist:
		return evaluate.Unowned, "not owned by the bundle"
	case o.Missing:
		return evaluate.Missing, "missing"
	case o.Delete:
		return Orphaned, "extra: the bundle no longer has it"
	}
	fields := patched(o.Patch)
	if len(fields) == 0 {
		return evaluate.Modified, "modified"
	}
	return evaluate.Modified, "modified in " + facts.List(fields)
}

// patched returns the paths of the fields that a merge patch sets or removes; none of a patch that cannot be decoded.
// It leaves out the values: those of a Secret are never shown.
func patched(patch string) []string {
	var fields map[string]any
	if json.Unmarshal([]byte(patch), &fields) != nil {
		return nil
	}
	return leaves(nil, "", fields)
}

// maxPath is the length of a path at which the fields below it are not named. It bounds the memory for a status that
// somebody nested on purpose.
const maxPath = 200

// leaves adds the paths of the fields below a path.
func leaves(out []string, path string, fields map[string]any) []string {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		below, _ := fields[name].(map[string]any)
		if len(below) > 0 && len(path) < maxPath {
			out = leaves(out, path+"."+name, below)
			continue
		}
		out = append(out, path+"."+name)
	}
	return out
}
