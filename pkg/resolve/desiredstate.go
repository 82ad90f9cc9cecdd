// SPDX-License-Identifier: Apache-2.0

// Package resolve finds out what is desired, by which bundle and on which cluster: GitRepo or HelmOp, Bundle, BundleDeployment, release,
// object. It is a pure function of what was read, and knows no live object.
package resolve

import (
	"maps"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Problem is why the desired objects of a bundle deployment are not known. The values are reasons of the state Unknown in the report.
type Problem string

// The problems; the zero value is none.
const (
	ClusterNotRead    Problem = "ClusterNotRead"   // the objects of its cluster are not read
	NoReleaseRecord   Problem = "NoReleaseRecord"  // nothing is installed, or the named revision is gone
	RecordUnreadable  Problem = "RecordUnreadable" // the record or its manifest is damaged
	RecordNotCaptured Problem = "NotInSnapshot"    // the snapshot does not hold it
	RecordsForbidden  Problem = "Forbidden"        // reading the Secrets that hold the records is not allowed
	RecordsFailed     Problem = "ReadFailed"       // reading them failed
)

// DesiredState is everything that is desired on the clusters of one management cluster.
type DesiredState struct {
	*state.Fleet
	// Deployments are all bundle deployments, ordered by namespace, name and release.
	Deployments []*BundleDeployment
	// Clusters are those whose objects are read, in the order of their states.
	Clusters []*Cluster
}

// Cluster is what is desired on one cluster whose objects are read.
type Cluster struct {
	// State is what was read of it, without release records.
	State *state.Cluster
	// Objects are the desired objects by key. Where more than one bundle deployment desires an object, it is contested.
	Objects map[object.Key][]*Object
	// Sets are the bundle deployments of the cluster by hash, also those that are only known by their release. Several share a hash if two agents
	// without scope deploy bundles of one name, and all of those do whose name begins with fleet-agent.
	Sets map[string][]*BundleDeployment
	// SetsComplete says that every release record of the cluster could be read, so that no bundle has a set that is not found in Sets.
	SetsComplete bool
	// ReleasesComplete says that the same holds for releases of others than Fleet, so that a release not found in Releases does not exist.
	// Releases in an SQL database are never seen.
	ReleasesComplete bool
	// Releases are the names ("namespace/name") of all Helm releases seen, Fleet's and others'.
	Releases map[string]bool
	// Latest is, by the same names, the highest revision that is recorded of each, without its objects.
	Latest map[string]*state.Record
	// Leftovers are releases with Fleet's annotations whose agent's BundleDeployments are known and do not include them.
	Leftovers []*state.Record
	// Unreadable are damaged records that no BundleDeployment names: whose they are is not known.
	Unreadable []*state.Record
	// OverBound are the records that exceed a bound, by their names: their objects are not known.
	OverBound []*state.Record
	// Secrets are the Secrets that any recorded or rendered manifest states, as JSON: what must not be shown.
	Secrets [][]byte
	// Disputes are the scopes that specs declare and that the agents' workloads or releases contradict.
	Disputes []*Dispute
	// Notes are worth saying, but neither a finding nor a gap.
	Notes []string

	// watches maps the namespace of an agent to that of the BundleDeployments that the agent watches.
	watches map[string]string
	scopes  map[string]AgentScope // by the namespace of the agent
	stated  *string
	fleet   *state.Fleet
}

// BundleDeployment is one bundle on one cluster.
type BundleDeployment struct {
	// Namespace and Name are those of the BundleDeployment. On a downstream cluster only its release is known: then the name is the bundle id and
	// the namespace is empty.
	Namespace, Name string
	// BD is nil where only the release is known.
	BD *v1alpha1.BundleDeployment
	// On is the cluster that it is deployed to; nil where the objects of that cluster are not read.
	On *Cluster
	// Cluster, Bundle, GitRepo and HelmOp are "namespace/name", empty where not known.
	Cluster, Bundle, GitRepo, HelmOp string
	// Release is the revision that Fleet's agent calls desired; its zero value means that there is none.
	Release release.Name
	// KeepResources and Commit are what the release record says: whether an uninstall leaves the objects, and what it was made from.
	KeepResources bool
	Commit        string
	// Deployed is when the release record says that this revision was deployed; zero where it does not.
	Deployed time.Time
	// Ownership is the ownership metadata that its objects should have.
	Ownership ownership.Metadata
	// OnOtherCluster says that it is established to be deployed to another cluster than those that are read. Without it, ClusterNotRead says only
	// that nothing shows on which cluster it is.
	OnOtherCluster bool
	// Agent is the namespace of its agent; empty where none is known to deploy it.
	Agent string
	// Stated is the ownership metadata that the manifest of its release states; empty where there is no record, or no object in it.
	Stated ownership.Metadata
	// Scope is that of its agent, from which Ownership is made.
	Scope AgentScope
	// Disputed says that a Cluster's spec declares another scope, and that no running agent settles which of the two is right.
	Disputed bool

	// Problem says why Desired is not known; Detail says it in a sentence.
	Problem Problem
	Detail  string
	// RecordProblems are what is wrong with the records of the release though the desired objects may be known: a pending or failed revision, a
	// missing one.
	RecordProblems []RecordProblem

	// Desired are the distinct objects of the manifest, in its order; of duplicates the last. From says where they come from.
	Desired []*Object
	From    DesiredFrom
	// Rendering is what the bundle was rendered to; its zero value means that it was not rendered.
	Rendering Rendering
	// Recorded is what the release record says of the objects where they come from elsewhere, as JSON.
	Recorded map[object.Key][]byte
	// Removed are the objects of the release, where what is desired comes from elsewhere: those that are no longer desired a deploy deletes, unless
	// they are kept.
	Removed []*Object
	// Earlier are the objects of the earlier revisions that are still recorded, Hooks those of the release's hooks.
	Earlier, Hooks map[KindName]bool
	// EarlierKnown says that the revision before was read, or that there was none.
	EarlierKnown bool

	// claimed are objects that its record claims though they are not its Desired.
	claimed []*Object
}

// Key is "namespace/name" of the BundleDeployment; of a release alone it is the bundle id.
func (d *BundleDeployment) Key() string {
	if d.Namespace == "" {
		return d.Name
	}
	return d.Namespace + "/" + d.Name
}

// Parents are the objects of Fleet that the bundle deployment is part of: "namespace/name" by kind, without those that are not known.
func (d *BundleDeployment) Parents() map[string]string {
	out := map[string]string{state.Bundle: d.Bundle, state.GitRepo: d.GitRepo, state.HelmOp: d.HelmOp, state.ClusterKind: d.Cluster}
	maps.DeleteFunc(out, func(_, key string) bool { return key == "" })
	return out
}

// Options are those that the bundle is deployed with; of a release alone none are known.
func (d *BundleDeployment) Options() *v1alpha1.Options {
	switch {
	case d.FromFiles():
		return d.Rendering.FileOptions
	case d.BD != nil:
		return &d.BD.Spec.Options
	}
	return &v1alpha1.Options{}
}

// FromFiles says whether the bundle was taken from files.
func (d *BundleDeployment) FromFiles() bool {
	return d.Rendering.FileOptions != nil
}

// Ref names the object that stands for the bundle deployment in findings: its BundleDeployment, or the Secret with its release record. Of a
// bundle that is in files alone it is the Bundle that they would make.
func (d *BundleDeployment) Ref() object.Ref {
	ref := object.Ref{APIVersion: v1alpha1.GroupVersion.String(), Kind: state.BundleDeployment, Namespace: d.Namespace, Name: d.Name}
	switch {
	case d.BD != nil:
		return ref
	case d.Release.Revision > 0:
		return SecretRef(d.Release)
	}
	ref.Kind = state.Bundle
	return ref
}

// SecretRef names the Secret that holds a release record.
func SecretRef(n release.Name) object.Ref {
	return object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: n.Namespace, Name: n.SecretName()}
}

// Object is one desired object of one bundle deployment.
type Object struct {
	object.Ref
	Deployment *BundleDeployment
	// Raw is the object's JSON as the manifest states it.
	Raw []byte
	// Namespaced says whether the kind has namespaces.
	Namespaced bool
	// Index is its place among the deployment's Desired.
	Index int
	// Unstable are JSON pointers of fields that come out otherwise each time the bundle is rendered.
	Unstable []string
}

// Kept says whether the manifest states that Helm is to leave the object in place, whatever becomes of the release.
func (o *Object) Kept() bool {
	m, err := object.ReadMeta(o.Raw)
	return err == nil && m.Metadata.Annotations[fleet.ResourcePolicyAnnotation] == "keep"
}

// KindName is how Fleet recognises an object of an earlier revision: it looks at nothing else (docs/fleet-behavior.md, 3.5).
type KindName struct{ Kind, Name string }

// RecordProblem is one thing that is wrong with the records of a release.
type RecordProblem struct {
	Record release.Name
	Status string // Helm's, or "pruned", "damaged"
	Detail string
}

// Versions are the image tags of the agents of the cluster, by namespace.
func (c *Cluster) Versions() map[string]string {
	out := map[string]string{}
	for ns, w := range c.State.Workloads {
		out[ns] = w.Version
	}
	return out
}

// ClusterOfAgent names the cluster whose agent lives in a namespace here ("namespace/name"), or that namespace where it is not known, or
// where the agent of the cluster is reported to live elsewhere.
func (c *Cluster) ClusterOfAgent(namespace string) string {
	for _, o := range c.fleet.Clusters {
		s := o.Status
		if s.Namespace != "" && s.Namespace == c.watches[namespace] && (s.Agent.Namespace == "" || s.Agent.Namespace == namespace) {
			return o.Namespace + "/" + o.Name
		}
	}
	return namespace
}

// AgentOf is the namespace of the agent on this cluster that deploys a bundle deployment, empty where it is not known.
func (c *Cluster) AgentOf(d *BundleDeployment) string {
	if d.Namespace == "" {
		return ""
	}
	for _, agent := range slices.Sorted(maps.Keys(c.watches)) { // one that was moved may have left its Secret behind
		if c.watches[agent] == d.Namespace {
			return agent
		}
	}
	return ""
}

// index makes the desired objects and the set of a bundle deployment known.
func (c *Cluster) index(d *BundleDeployment) {
	for _, o := range slices.Concat(d.claimed, d.Desired) {
		c.Objects[o.Key()] = append(c.Objects[o.Key()], o)
	}
	if d.Ownership.Hash != "" {
		c.Sets[d.Ownership.Hash] = append(c.Sets[d.Ownership.Hash], d)
	}
}
