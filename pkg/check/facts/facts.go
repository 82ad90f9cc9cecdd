// SPDX-License-Identifier: Apache-2.0

// Package facts has what several checks need to know of a result. It is computed once, before the checks, and never
// changes. The package is pure.
package facts

import (
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Facts are a result and what several checks need to know of it. They never change.
type Facts struct {
	Result *evaluate.Result
	// Quotations collects the texts of Fleet and Helm that findings quote.
	Quotations *secret.Quotations

	// objects are Fleet's objects that were read.
	objects map[object.Ref]v1alpha1.Object
	// clusters are by the namespace of their BundleDeployments. Two Clusters cannot share one: then the value is nil.
	clusters map[string]*v1alpha1.Cluster
	// bundlesOf are the Bundles of each GitRepo and HelmOp.
	bundlesOf map[object.Ref][]*v1alpha1.Bundle
	// deploymentsOf is the number of bundle deployments of each bundle.
	deploymentsOf map[object.Ref]int

	// What not every verb needs is computed at its first use, once.
	matching func() *targeting.Fleet
	targets  map[object.Ref]func() *targeting.Bundle
	agents   func() []evaluate.Agent
	agentOf  func() map[string]evaluate.Agent // by the namespace of the BundleDeployments of their Cluster
	views    func() map[object.DeploymentID]*View

	answers settle.Answers
	// due is what Due returns. The facts after Settled share it.
	due *time.Time
}

// Named returns the reference of an object of Fleet with a key ("namespace/name").
func Named(kind, key string) object.Ref {
	namespace, name, _ := strings.Cut(key, "/")
	return Ref(kind, namespace, name)
}

// find returns the object of Fleet with a key ("namespace/name"); nil if it was not read.
func find[T v1alpha1.Object](f *Facts, kind, key string) T {
	o, _ := f.objects[Named(kind, key)].(T)
	return o
}

// Bundle returns the Bundle of a key ("namespace/name"); nil if it was not read.
func (f *Facts) Bundle(key string) *v1alpha1.Bundle {
	return find[*v1alpha1.Bundle](f, state.Bundle, key)
}

// BundleDeployment returns the BundleDeployment of a key ("namespace/name"); nil if it does not exist.
func (f *Facts) BundleDeployment(key string) *v1alpha1.BundleDeployment {
	return find[*v1alpha1.BundleDeployment](f, state.BundleDeployment, key)
}

// GitRepo returns the GitRepo of a key ("namespace/name"); nil if it was not read.
func (f *Facts) GitRepo(key string) *v1alpha1.GitRepo {
	return find[*v1alpha1.GitRepo](f, state.GitRepo, key)
}

// Cluster returns the Cluster of a key ("namespace/name"); nil if it was not read.
func (f *Facts) Cluster(key string) *v1alpha1.Cluster {
	return find[*v1alpha1.Cluster](f, state.ClusterKind, key)
}

// Object returns an object of Fleet; nil if it was not read.
func (f *Facts) Object(o object.Ref) v1alpha1.Object { return f.objects[o] }

// ClusterIn returns the Cluster whose BundleDeployments are in a namespace; nil if it is not known, or if there are
// several.
func (f *Facts) ClusterIn(namespace string) *v1alpha1.Cluster { return f.clusters[namespace] }

// OfCluster reports whether a namespace has the BundleDeployments of a Cluster.
func (f *Facts) OfCluster(namespace string) bool {
	_, found := f.clusters[namespace]
	return found
}

// BundlesOf returns the Bundles of a GitRepo or HelmOp.
func (f *Facts) BundlesOf(repo object.Ref) []*v1alpha1.Bundle { return f.bundlesOf[repo] }

// DeploymentsOf returns the number of bundle deployments of a bundle ("namespace/name").
func (f *Facts) DeploymentsOf(bundle string) int { return f.deploymentsOf[Named(state.Bundle, bundle)] }

// Targets returns the targets of a bundle, prepared for matching.
func (f *Facts) Targets(b *v1alpha1.Bundle) *targeting.Bundle { return f.targets[RefTo(b)]() }

// Matching prepares the targets of a bundle that does not exist.
func (f *Facts) Matching(b *v1alpha1.Bundle) *targeting.Bundle { return f.matching().Bundle(b) }

// Agents returns the agents of all Clusters.
func (f *Facts) Agents() []evaluate.Agent { return f.agents() }

// AgentOf returns the agent of the Cluster whose BundleDeployments are in a namespace; known is false without such a
// Cluster.
func (f *Facts) AgentOf(namespace string) (a evaluate.Agent, known bool) {
	a, known = f.agentOf()[namespace]
	return a, known
}

// View is a bundle deployment in Fleet's own terms: as its status reports it, and as it is.
type View struct {
	// Reported and actual are the bundle deployment as Fleet counts it.
	Reported, Actual fleet.Member
	// ReportedKnown and known are true if the object counts of reported and actual are known.
	ReportedKnown, Known bool
	// Live is true if actual follows from the live objects. Otherwise it is the same as reported.
	Live bool
	// Claim is what the status says about objects that are not all ready, such as "the state Ready"; empty if its
	// counts show the difference.
	Claim string
	// Why explains why the counts or the claim are wrong; zero if they are not.
	Why Explanation
}

// View returns a bundle deployment in Fleet's own terms.
func (f *Facts) View(d *evaluate.BundleDeployment) *View { return f.views()[d.ID()] }

// Cause is why a number in a status of Fleet is not the recomputed one.
type Cause string

// The causes. Lag is also the cause if the times do not show how old the difference is: only a difference that is
// proved to be older than Fleet's usual delays is Unexplained.
const (
	Lag              Cause = "Lag"
	StaleAgent       Cause = "StaleAgent"            // the agent has not reported for a long time
	Paused           Cause = "Paused"                // the bundle or the cluster is paused
	OffSchedule      Cause = "OffSchedule"           // it is outside its schedule
	PendingRollout   Cause = "PendingRollout"        // targets that the rollout has not reached are not counted
	Truncated        Cause = "Truncated"             // the numbers come from lists that are truncated at ten entries
	StickyIncomplete Cause = "StickyIncompleteState" // incompleteState is set although the lists are complete
	// a leftover last-applied annotation makes Fleet report objects as modified
	LastApplied Cause = "LeftoverLastApplied"
	KnownBug    Cause = "KnownBug" // a known bug of the version that runs
	Unexplained Cause = "Unexplained"
)

// Explanation is a cause in words. It is zero if there is nothing to explain.
type Explanation struct {
	Cause Cause
	Words string
}

// OfBug returns the explanation by a bug of the version that a tag names.
func OfBug(b *fleet.Bug, who, tag string) Explanation {
	return Explanation{KnownBug, "known bug " + b.Issue + " of " + who + " " + tag + ": " + b.What}
}

// SilentWords returns the explanation by the agent of a Cluster, which does not report.
func SilentWords(c *v1alpha1.Cluster) Explanation {
	if c.Status.Agent.LastSeen == "" {
		return Explanation{StaleAgent, "the agent has never reported"}
	}
	return Explanation{StaleAgent, "the agent has not reported since " + c.Status.Agent.LastSeen}
}

// Reimported reports whether a restart of the controller imports an agent again.
func Reimported(a evaluate.Agent) bool { return a.Now.Result == agentconfig.ReImport }

// Stopped reports whether an agent that has reported does not report any more.
func Stopped(a evaluate.Agent) bool {
	return a.Heartbeat.State == agentconfig.Stale && a.Cluster.DeletionTimestamp.IsZero()
}

// IdleOf is why an agent does not run, as a sentence; empty if it runs, or if its cluster is not read.
func IdleOf(a evaluate.Agent) string {
	if a.Idle == "" || a.Stuck.Runs {
		return ""
	}
	name := a.Workload + " " + fleet.AgentName + " of its cluster"
	if a.Stuck.Why == "" {
		return name + " may not run: " + a.Idle
	}
	return name + " does not run: " + a.Idle + ": " + a.Stuck.Why
}

// Broken reports whether an agent that has reported does not run any more.
func Broken(a evaluate.Agent) bool {
	return a.Broken && a.Heartbeat.State != agentconfig.Never && a.Cluster.DeletionTimestamp.IsZero()
}

// silentAfter is the age of the last heartbeat from which an agent is silent if its interval was not read: three times
// the default interval.
const silentAfter = 3 * agentconfig.DefaultInterval

// IsSilent reports whether an agent is silent: its heartbeat is stale or, if its interval was not read, older than
// three default intervals, or it has never reported although it should have.
func IsSilent(a evaluate.Agent) bool {
	h := a.Heartbeat
	if a.Silent || h.State == agentconfig.Stale {
		return true
	}
	return h.State == agentconfig.Alive && h.Interval == 0 && h.Age > silentAfter
}

// Silent reports whether the agent of a cluster has not reported for a long time. It is false if that is not known.
func (f *Facts) Silent(c *v1alpha1.Cluster) bool {
	if c == nil {
		return false
	}
	a, known := f.AgentOf(c.Status.Namespace)
	return known && IsSilent(a)
}

const (
	// Settled is the time after which a difference is no lag: many times the delays of seconds that Fleet has
	// (docs/fleet-behavior.md, 4.4).
	Settled = 5 * time.Minute
)

// Settling is the time in which the controller may not yet have created or deleted what belongs to a new object. It is
// short, because the status of a Bundle shows what the controller has processed.
const Settling = 5 * time.Second

// LongAgo reports whether a known time is so long before the data was read that nothing can still be on its way.
func (f *Facts) LongAgo(t time.Time) bool { return f.Passed(t, Settled) }

// Passed reports whether more than a duration has passed between a known time and the time when the data was read.
func (f *Facts) Passed(t time.Time, d time.Duration) bool {
	return !t.IsZero() && !f.Result.Now().IsZero() && f.Result.Now().Sub(t) > d
}

// Young reports whether an object was created so recently that the controller may not have acted on it yet.
func (f *Facts) Young(o v1alpha1.Object) bool {
	return f.YoungSince(o.GetCreationTimestamp().Time)
}

// YoungSince is Young for an object that was created at a time; zero if that is not known.
func (f *Facts) YoungSince(created time.Time) bool {
	end := created.Add(Settling)
	young := !created.IsZero() && f.Result.Now().Before(end)
	if young && (f.due.IsZero() || end.Before(*f.due)) {
		*f.due = end
	}
	return young
}

// Due is the earliest time at which an object that counted as Young does not any more; zero if none did.
func (f *Facts) Due() time.Time { return *f.due }

// NewerThan reports whether an object was created more recently than an age.
func (f *Facts) NewerThan(o v1alpha1.Object, age time.Duration) bool {
	created := o.GetCreationTimestamp()
	return !created.IsZero() && f.Result.Now().Sub(created.Time) < age
}

// sourceOf returns the source of the objects of a cluster.
func (f *Facts) sourceOf(c object.ClusterID) evaluate.ClusterSource {
	for _, other := range f.Result.Clusters {
		if other.ClusterID == c {
			return other
		}
	}
	return evaluate.ClusterSource{Source: f.Result.Source}
}

// ReadAt returns the time for which the objects of a cluster and those of the management cluster are known: the earlier
// one of two captures.
func (f *Facts) ReadAt(c object.ClusterID) time.Time {
	if when := f.sourceOf(c).Source.TakenAt; !when.IsZero() && when.Before(f.Result.Now()) {
		return when
	}
	return f.Result.Now()
}

// Settled returns the facts after questions were answered. What the answers contradict is not a fact.
func (f *Facts) Settled(answers settle.Answers) *Facts {
	out := f.With(f.Result.WithGaps(answers.Gaps))
	out.answers = answers
	return out
}

// With returns the facts of the same result with other gaps. No fact depends on them.
func (f *Facts) With(r *evaluate.Result) *Facts {
	out := *f
	out.Result = r
	return &out
}

// Holds reports whether no answer contradicts what depends on questions.
func (f *Facts) Holds(questions []settle.Question) bool { return f.answers.Hold(questions) }

// Unchanged asks whether some of Fleet's objects, present or absent, are as they were. The controller updates a
// BundleDeployment all the time, so only its identity counts.
func (f *Facts) Unchanged(refs ...object.Ref) []settle.Question {
	var out []settle.Question
	for _, ref := range refs {
		aspect := settle.Spec
		if ref.Kind == state.BundleDeployment {
			aspect = settle.Identity
		}
		out = append(out, f.same(aspect, ref))
	}
	return out
}

// SameNumbers asks whether the numbers of some of Fleet's objects are as they were.
func (f *Facts) SameNumbers(refs ...object.Ref) []settle.Question {
	var out []settle.Question
	for _, ref := range refs {
		out = append(out, f.same(settle.Numbers, ref))
	}
	return out
}

// SameValues asks whether a values Secret and what its owner states are as they were.
func (f *Facts) SameValues(key state.ValuesKey, owner object.Ref) []settle.Question {
	secret := settle.Absent(object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: key.Namespace, Name: key.Name})
	if s := f.Result.Desired.Values.Of(key); s != nil {
		secret.Aspect, secret.Was = settle.Version, settle.VersionOf(s.Version)
	}
	secret.Type = key.Type
	return []settle.Question{f.same(settle.Spec, owner), secret}
}

// SameContent asks whether a BundleDeployment still needs a Content that does not exist.
func (f *Facts) SameContent(bd *v1alpha1.BundleDeployment) []settle.Question {
	return append(f.StillStaged(bd), settle.Absent(Ref(state.Content, "", state.ContentID(bd))))
}

// StillStaged asks whether the spec of a BundleDeployment is as it was.
func (f *Facts) StillStaged(bd *v1alpha1.BundleDeployment) []settle.Question {
	return []settle.Question{f.same(settle.Spec, Ref(state.BundleDeployment, bd.Namespace, bd.Name))}
}

func (f *Facts) same(aspect settle.Aspect, ref object.Ref) settle.Question {
	if o, exists := f.objects[ref]; exists {
		return aspect.Same(ref, o)
	}
	return settle.Absent(ref)
}
