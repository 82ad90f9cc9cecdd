// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Causes is the graph of causes: from each object of Fleet to why it is not ready. Checks report its roots, and package
// why shows its steps. It is computed where it is asked for.
type Causes struct {
	in           *Input
	dependencies *facts.Dependencies
	rollout      func(*v1alpha1.Bundle) *progress
	byKey        map[string]*directory.Deployment
	byBundle     map[string][]*directory.Deployment
	evaluated    map[object.DeploymentID]*evaluate.BundleDeployment
	stuckBy      func(kind, key string) (message string, evidence []string)
}

// Causes returns the graph of causes.
func (in *Input) Causes() *Causes {
	c := &Causes{in: in, dependencies: facts.NewDependencies(in.Result.Desired.Directory), rollout: rollouts(in.Facts),
		byKey: map[string]*directory.Deployment{}, byBundle: map[string][]*directory.Deployment{},
		evaluated: map[object.DeploymentID]*evaluate.BundleDeployment{}, stuckBy: in.Stuck()}
	for _, d := range in.Result.Desired.Directory.Deployments {
		c.byKey[d.Key()] = d
		c.byBundle[d.Bundle] = append(c.byBundle[d.Bundle], d)
	}
	for _, d := range in.Result.Deployments {
		c.evaluated[d.ID()] = d
	}
	return c
}

// Deployment returns the BundleDeployment of a key ("namespace/name"); nil if it does not exist.
func (c *Causes) Deployment(key string) *directory.Deployment { return c.byKey[key] }

// stepOn returns a step about a bundle deployment.
func (c *Causes) stepOn(kind StepKind, d *directory.Deployment, message string) Step {
	s := Step{Kind: kind, Deployment: d, Object: d.Ref(), Cluster: d.Cluster, Message: message}
	if d.BD != nil {
		s.AsOf = d.BD.Reported().AsOf
	}
	return s
}

// list lists the objects of Fleet of a kind, by the plural name.
func (in *Input) list(resource, namespace string) []remedy.Remedy {
	return only(in.Steps.Commands.List(resource, namespace, "lists the "+resource+" of the namespace"))
}

// failed returns the step that a condition is False, with the error in it; nil if it is not. If the installation was
// refused, the agent does not try it again.
func (c *Causes) failed(d *directory.Deployment, condition, message string) []Step {
	found := v1alpha1.ConditionOf(d.BD.Status.Conditions, condition)
	if found.Status != "False" {
		return nil
	}
	s := c.stepOn(StepFailed, d, message)
	s.Since, s.AsOf, s.Findings = facts.Parsed(found.LastUpdateTime), "", originsAt(d, codes.NotApplied)
	s.Condition = condition
	if e := c.evaluated[d.ID()]; e != nil && e.Terminating != "" {
		s.Evidence = []string{"the namespace is being deleted: " + e.Terminating}
	}
	if repo := refusedRepo(found.Message); repo != "" && repo == d.GitRepo {
		s.Evidence = append(s.Evidence, ofOwnRepo(d))
	}
	s.Said = cmp.Or(c.in.Facts.SaidOf(d, condition), "; its condition "+condition+" has no message")
	return []Step{s}
}

// noContent returns the step that the Content of a bundle deployment does not exist; none if it does, or if that is not
// known. One that is applied cannot be deployed again.
func (c *Causes) noContent(d *directory.Deployment) []Step {
	if d.BD == nil || d.FromFiles() {
		return nil
	}
	same, id := c.in.Facts.SameContent(d.BD), state.ContentID(d.BD)
	if !c.in.Result.Desired.Contents.Missing[id] || !c.in.Facts.Holds(same) {
		return nil
	}
	s := c.stepOn(StepContent, d, "its content "+id+" does not exist")
	if d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID {
		s.Message += ": it is applied, and cannot be deployed again"
	}
	s.Settle = same
	content := Origin{Code: codes.ContentMissing, Object: facts.Ref(state.Content, "", id)}
	s.Findings = append(originsAt(d, codes.ContentMissing), content)
	return []Step{s}
}

// wrongValues returns why the values of a bundle deployment keep its agent from deploying it; nil if they do not, or if
// that is not known.
func (c *Causes) wrongValues(d *directory.Deployment) []Step {
	if !c.in.Facts.Holds(c.sameValues(d)) {
		return nil
	}
	_, result := c.in.Facts.ValuesOf(d)
	why := map[values.State]string{values.Missing: "its values Secret is missing",
		values.Mismatch: "its values Secret has other values than its BundleDeployment states"}[result.State]
	if why == "" {
		return nil
	}
	s := c.stepOn(StepValues, d, why)
	s.Since, s.Settle, s.Pauses = result.Since, c.sameValues(d), 1
	s.Findings = originsAt(d, codes.ValuesMissing, codes.ValuesMismatch)
	return []Step{s}
}

func (c *Causes) sameValues(d *directory.Deployment) []settle.Question {
	return c.in.Facts.SameValues(state.DeploymentKey(d.BD), d.Ref())
}

// NoAgent returns why no agent applies a bundle deployment; nil if one reports, or if that is not known.
func (c *Causes) NoAgent(d *directory.Deployment) []Step {
	a, known := c.in.Facts.AgentOf(d.DeploymentNamespace())
	s := c.stepOn(StepAgent, d, "the agent of its cluster has not reported")
	switch {
	case known && a.Heartbeat.State == agentconfig.Never:
		s.Message = "no agent has ever reported for its cluster"
	case known && facts.IsSilent(a):
		s.Since = a.Heartbeat.LastSeen
	case known && a.Stuck.Why != "" && facts.IdleOf(a) != "":
		s.Message = "the agent of its cluster does not run"
	default:
		return nil
	}
	return c.ofAgent(a, s)
}

// ofAgent returns a step about an agent that does not report, and why its Cluster has none.
func (c *Causes) ofAgent(a evaluate.Agent, s Step) []Step {
	s.Findings = silentOrigins(a.Cluster)
	if idle := facts.IdleOf(a); idle != "" {
		s.Evidence = append(s.Evidence, idle)
	}
	if a.Heartbeat.State == agentconfig.Never {
		r := c.in.Facts.RegistrationOf(a.Cluster)
		if why := r.Why(a.Cluster); why != "" {
			s.Message += ": " + why
		}
		s.Evidence = append(s.Evidence, r.Others(a.Cluster)...)
	}
	if f, refused := c.in.NotProcessed(a.Cluster); refused {
		return []Step{s, quote(StepNotProcessed, f)}
	}
	s.Next = only(c.in.Steps.LogsOfAgent(a))
	return []Step{s}
}

// paused returns the step about the object that pauses a bundle deployment; none if it is not known.
func (c *Causes) paused(d *directory.Deployment) []Step {
	r, ok := c.in.Facts.Pauses(d)
	if !ok {
		return nil
	}
	s := Step{Kind: StepPaused, Object: r, Message: "it is paused", Next: only(c.in.Steps.Resume(r))}
	if r.Kind == state.ClusterKind {
		s.Cluster = r.Namespace + "/" + r.Name
	}
	return []Step{s}
}

// because returns a step that waits for an object of Fleet, and why a controller does not process that.
func (c *Causes) because(r object.Ref, s Step) []Step {
	if o := c.in.Facts.Object(r); o != nil {
		if f, ok := c.in.NotProcessed(o); ok {
			return []Step{s, quote(StepNotProcessed, f)}
		}
	}
	s.Next = only(c.in.Steps.Commands.Describe(r))
	return []Step{s}
}

// stop returns why the controller updates no cluster of a Bundle; nil if it does.
func (c *Causes) stop(b *v1alpha1.Bundle) []Step {
	s := Step{Object: facts.RefTo(b), AsOf: b.Reported().AsOf}
	if f, ok := c.in.TargetError(b); ok {
		return []Step{quote(StepTargetError, f)}
	}
	if !ofHelmOp(b) { // the values of a HelmOp are in its Bundle
		if f, ok := c.in.brokenBundleValues(c.in.valuesOfBundle(b)); ok {
			return []Step{quote(StepBundleValues, f)}
		}
	}
	if f, ok := c.in.NotProcessed(b); ok {
		return []Step{quote(StepNotProcessed, f)}
	}
	switch {
	case unresolvedChart(b):
		s.Kind, s.Message = StepChartVersion, "its chart version is not an exact version: Fleet deploys it when the "+
			"HelmOp has resolved it"
		if helmOp := b.Labels[fleet.HelmOpLabel]; helmOp != "" {
			return c.because(facts.Ref(state.HelmOp, b.Namespace, helmOp), s)
		}
	case !c.in.Facts.Processed(b):
		s.Kind, s.Message = StepBundlePending, "the controller has not processed it yet"
	case b.Status.ObservedGeneration > 0 && b.Status.ObservedGeneration < b.Generation:
		s.Kind, s.Message = StepBundlePending, fmt.Sprintf("the controller has processed generation %d of %d",
			b.Status.ObservedGeneration, b.Generation)
	default:
		return nil
	}
	return []Step{s}
}

// notReadAgain adds to a step how to read the objects of its bundle deployment.
func (c *Causes) notReadAgain(s Step) Step {
	s.Findings = originsAt(s.Deployment, codes.ReleaseRecord, codes.Unread, codes.Unconfirmed)
	if s.Deployment.Problem == directory.ClusterNotRead {
		add := "--cluster NAME=KUBECONFIG"
		if c.in.Facts.Captured() {
			add = "--cluster-snapshot NAME=PATH"
		}
		s.Next = only(remedy.Advise("%s also reads its cluster", add))
	}
	if !s.Deployment.OnOtherCluster {
		s.Next = append(s.Next, c.in.Steps.ShowRole()) // something could not be read on a cluster that is read
	}
	return s
}

// readObject returns the next step for an object that could not be read. A role helps only if a right is missing.
func (c *Causes) readObject(o *evaluate.Object) remedy.Remedy {
	switch {
	case c.in.Result.Source.Partial(), o.Reason == string(directory.RecordsForbidden):
		return c.in.Steps.ShowRole()
	case o.NotServed():
		return remedy.Advise("install the definition of the kind: the cluster does not serve it")
	}
	return remedy.Advise("resolve what the message names, and read the object again")
}

// unreadObject says why an object is Unknown.
func unreadObject(o *evaluate.Object) string {
	if o.Reason == evaluate.Unconfirmed {
		return o.Key().String() + " is not evaluated: " + o.Message
	}
	return o.Key().String() + " could not be read: " + o.Reason
}

// progress is the rollout of a bundle.
type progress struct {
	targeting.Progress
	// known is false if it could not be computed.
	known    bool
	clusters map[string]*targeting.Cluster // by the namespace of their BundleDeployments
}

// rollouts returns a function that computes the rollout of a Bundle, once.
func rollouts(f *facts.Facts) func(*v1alpha1.Bundle) *progress {
	computed := map[string]*progress{}
	return func(b *v1alpha1.Bundle) *progress {
		key := facts.Key(b)
		if computed[key] == nil {
			computed[key] = progressOf(f, b)
		}
		return computed[key]
	}
}

func progressOf(f *facts.Facts, b *v1alpha1.Bundle) *progress {
	out := &progress{clusters: map[string]*targeting.Cluster{}}
	plan, known, err := f.Targets(b).Rollout()
	out.known = known && deploymentsRead(f, plan)
	if !out.known || err != nil {
		return out
	}
	out.Progress = plan.Progress(func(c *targeting.Cluster) *v1alpha1.BundleDeployment {
		return f.BundleDeployment(c.Status.Namespace + "/" + b.Name)
	}, func(bd *v1alpha1.BundleDeployment) bool { return facts.Contents(b, bd) })
	for _, c := range clustersOf(plan) {
		out.clusters[c.Status.Namespace] = c
	}
	return out
}

// clustersOf returns all clusters of a rollout.
func clustersOf(r targeting.Rollout) []*targeting.Cluster {
	out := slices.Clone(r.Left)
	for _, p := range r.Partitions {
		out = append(out, p.Clusters...)
	}
	return out
}

// deploymentsRead reports whether the BundleDeployments of all clusters of a rollout were read.
func deploymentsRead(f *facts.Facts, r targeting.Rollout) bool {
	return !slices.ContainsFunc(clustersOf(r), func(c *targeting.Cluster) bool {
		return c.Status.Namespace != "" && !f.Result.Desired.Read(state.BundleDeployment, c.Status.Namespace)
	})
}

// holdOf returns why the rollout does not update a BundleDeployment; ok is false if that is not known.
func (p *progress) holdOf(bd *v1alpha1.BundleDeployment) (h targeting.Hold, ok bool) {
	c := p.clusters[bd.Namespace]
	if !p.known || c == nil {
		return h, false
	}
	return p.Hold(c, bd), true
}

// held describes a hold of a BundleDeployment, which is nil if it does not exist yet.
func (p *progress) held(bd *v1alpha1.BundleDeployment, h targeting.Hold) string {
	what := "a newer deployment is staged"
	if bd == nil {
		what = "it is not created yet"
	} else if bd.Spec.DeploymentID == bd.Spec.StagedDeploymentID {
		what = "its deployment is of earlier contents"
	}
	switch h.Reason {
	case targeting.NotHeld:
		if bd == nil {
			return what + ", and no limit of the rollout holds it back"
		}
		return what + ", and no limit of the rollout holds it back: the controller updates it with its next run"
	case targeting.NoPartition:
		return what + ", and no partition of the rollout selects its cluster: Fleet never updates it"
	case targeting.EarlierPartition:
		return fmt.Sprintf("%s, and the rollout has not reached partition %q: in partition %q, %s", what, h.Partition,
			h.Before, usedUp(h))
	case targeting.PartitionLimit:
		return fmt.Sprintf("%s, and the limit of the rollout is used up: in partition %q, %s", what, h.Partition,
			usedUp(h))
	default:
		return fmt.Sprintf("%s, and the limit of the rollout is used up: of the bundle, %s", what, usedUp(h))
	}
}

// usedUp describes a limit that is used up.
func usedUp(h targeting.Hold) string {
	verb := "are"
	if len(h.By) == 1 {
		verb = "is"
	}
	out := facts.Count(h.Max, "cluster") + " may be unavailable"
	if h.Reason == targeting.EarlierPartition {
		out += " or not updated"
	}
	return fmt.Sprintf("%s, and %d %s", out, len(h.By), verb)
}
