// SPDX-License-Identifier: Apache-2.0

// Package inventory knows what is desired, and by whom: GitRepo or HelmOp, Bundle, BundleDeployment, release, object. It is filled with
// Fleet's objects and Helm's release records as a source yields them, does no I/O itself, and is complete before a live object is read.
package inventory

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Problem is why the desired objects of a deployment are not known. The values are reasons of the state Unknown in the report.
type Problem string

// The problems; the zero value is none.
const (
	ClusterNotRead    Problem = "ClusterNotRead"   // it is of another cluster than the one at hand
	NoReleaseRecord   Problem = "NoReleaseRecord"  // nothing is installed, or the named revision is gone
	RecordUnreadable  Problem = "RecordUnreadable" // the record or its manifest is damaged
	RecordNotCaptured Problem = "NotInSnapshot"    // the snapshot does not hold it
	RecordsForbidden  Problem = "Forbidden"        // the Secrets that hold the records may not be read
	RecordsFailed     Problem = "ReadFailed"       // reading them failed
)

// Deployment is one bundle on one cluster.
type Deployment struct {
	// Namespace and Name are the BundleDeployment's. On a downstream cluster only its release is known: then the name is the bundle id and
	// the namespace is empty.
	Namespace, Name string
	// BD is nil where only the release is known.
	BD *v1alpha1.BundleDeployment
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
	// Elsewhere says that it is established to be of another cluster than the one that was read. Without it, ClusterNotRead says only that
	// nothing shows it to be of this one.
	Elsewhere bool
	// Agent is the namespace of its agent; empty where none is known to deploy it here.
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
	// Trouble is what is wrong with the release's records though the desired objects may be known: a pending or failed revision, a missing one.
	Trouble []Trouble

	// Desired are the distinct objects of the manifest, in its order; of duplicates the last. From says where they come from.
	Desired []*Want
	From    DesiredFrom
	// Refused says why Fleet's agent would not deploy the bundle, where it was rendered and cannot be.
	Refused string
	// Scoped are the cluster-scoped objects for which it would not, under a targetNamespace.
	Scoped []object.Ref
	// ValuesMissing name the texts with values that a deploy would look for and not find.
	ValuesMissing []string
	// Lacking is what was missing while the bundle was rendered. With any, the desired objects are not surely those of the agent.
	Lacking []string
	// RecordSize is that of the Rendering which the desired objects are of.
	RecordSize int
	// Given are the options of a bundle that was taken from files; see Options.
	Given *v1alpha1.Options
	// Recorded is what the release record says of the objects where they come from elsewhere, as JSON.
	Recorded map[object.Key][]byte
	// Dropped are the objects of the release, where what is desired comes from elsewhere: of those that are desired no more, a deploy takes
	// away what is not to be kept.
	Dropped []*Want
	// Earlier are the objects of the earlier revision that is still recorded, Hooks those of the release's hooks.
	Earlier, Hooks map[KindName]bool
	// EarlierKnown says that the revision before was read, or that there was none.
	EarlierKnown bool
}

// Key is "namespace/name" of the BundleDeployment; of a release alone it is the bundle id.
func (d *Deployment) Key() string {
	if d.Namespace == "" {
		return d.Name
	}
	return d.Namespace + "/" + d.Name
}

// Options are those that the bundle is deployed with; of a release alone none are known.
func (d *Deployment) Options() *v1alpha1.Options {
	switch {
	case d.Given != nil:
		return d.Given
	case d.BD != nil:
		return &d.BD.Spec.Options
	}
	return &v1alpha1.Options{}
}

// Ref names the object that stands for the deployment in findings: its BundleDeployment, or the Secret with its release record. Of a bundle
// that is in files alone it is the Bundle that they would make.
func (d *Deployment) Ref() object.Ref {
	ref := object.Ref{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BundleDeployment", Namespace: d.Namespace, Name: d.Name}
	switch {
	case d.BD != nil:
		return ref
	case d.Release.Revision > 0:
		return SecretRef(d.Release)
	}
	ref.Kind = "Bundle"
	return ref
}

// SecretRef names the Secret that holds a release record.
func SecretRef(n release.Name) object.Ref {
	return object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: n.Namespace, Name: n.SecretName()}
}

// Want is one desired object of one deployment.
type Want struct {
	object.Ref
	Deployment *Deployment
	// Raw is the object's JSON as the manifest states it.
	Raw []byte
	// Namespaced says whether the kind has namespaces.
	Namespaced bool
	// Index is its place among the deployment's Desired.
	Index int
	// Unstable are JSON pointers of fields that come out otherwise each time the bundle is rendered.
	Unstable []string
}

// KindName is how Fleet recognises an object of an earlier revision: it looks at nothing else (Fleet's facts, drift 3.5).
type KindName struct{ Kind, Name string }

// Trouble is one thing that is wrong with the records of a release.
type Trouble struct {
	Record release.Name
	Status string // Helm's, or "pruned", "damaged"
	Detail string
}

// Inventory is everything that is desired.
type Inventory struct {
	Deployments []*Deployment
	// Wants are the desired objects by key. More than one want an object: it is contested.
	Wants map[object.Key][]*Want
	// Sets are the deployments of this cluster by hash, also those that are only known by their release. More than one share a hash if
	// two agents without scope deploy bundles of one name, and all of those whose name begins with fleet-agent do.
	Sets map[string][]*Deployment
	// SetsComplete says that every release record of the cluster could be read, so that a set not found in Sets is nobody's.
	SetsComplete bool
	// ReleasesComplete says that the same holds for releases of others than Fleet, so that a release not found in Releases does not exist.
	// Releases in an SQL database are never seen.
	ReleasesComplete bool
	// Secrets are the Secrets that any recorded manifest states, as JSON: what must not be shown.
	Secrets [][]byte
	// Releases are the names ("namespace/name") of all Helm releases seen, Fleet's and others'.
	Releases map[string]bool
	// Latest is, by the same names, the highest revision that is recorded of each, without its objects.
	Latest map[string]*Record
	// Leftovers are releases with Fleet's annotations whose agent's BundleDeployments are known and do not include them.
	Leftovers []*Record
	// Unreadable are damaged records that no BundleDeployment names: whose they are cannot be said.
	Unreadable []*Record
	// OverBound are the records that exceed a bound, by their names: their objects are not known.
	OverBound []*Record

	GitRepos      []*v1alpha1.GitRepo
	HelmOps       []*v1alpha1.HelmOp
	Bundles       []*v1alpha1.Bundle
	Clusters      []*v1alpha1.Cluster
	ClusterGroups []*v1alpha1.ClusterGroup
	// Versions are the image tags of Fleet's workloads: "" for the controller's, else by agent namespace.
	Versions map[string]string
	homes    map[string]string // by agent namespace, the namespace of its BundleDeployments
	agents   map[string]AgentScope
	stated   *string // scope
	// Disputes are the scopes that specs declare and that the agents' workloads or releases contradict, by cluster.
	Disputes []*Dispute
	// namespaced says whether a kind has namespaces.
	namespaced func(schema.GroupVersionKind) bool
	// Notes are things worth saying: a scope that the manifests do not agree with.
	Notes []string
}

// Record is a release record of Fleet's.
type Record struct {
	release.Record
	// Damaged says why it could not be decoded; then only the name is known.
	Damaged string
	// OverBound says which bound the record or its manifest exceeds. That is no fault of the release: it is only not read.
	OverBound string
}

// Has counts Fleet's own objects of a kind.
func (inv *Inventory) Has(kind string) int {
	switch kind {
	case "Bundle":
		return len(inv.Bundles)
	case "GitRepo":
		return len(inv.GitRepos)
	case "HelmOp":
		return len(inv.HelmOps)
	case "Cluster":
		return len(inv.Clusters)
	case "ClusterGroup":
		return len(inv.ClusterGroups)
	}
	return len(inv.Deployments)
}

// ClusterOfAgent names the cluster whose agent lives in a namespace here ("namespace/name"), or that namespace where it is not known, or
// where the cluster's agent is reported to live elsewhere.
func (inv *Inventory) ClusterOfAgent(namespace string) string {
	for _, c := range inv.Clusters {
		s := c.Status
		if s.Namespace != "" && s.Namespace == inv.homes[namespace] && (s.Agent.Namespace == "" || s.Agent.Namespace == namespace) {
			return c.Namespace + "/" + c.Name
		}
	}
	return namespace
}

// AgentOf is the namespace of the agent on this cluster that deploys a deployment, "" where it is not known.
func (inv *Inventory) AgentOf(d *Deployment) string {
	if d.Namespace == "" {
		return ""
	}
	for _, agent := range slices.Sorted(maps.Keys(inv.homes)) { // one that was moved may have left its Secret behind
		if inv.homes[agent] == d.Namespace {
			return agent
		}
	}
	return ""
}

// OwnerOf finds the deployment of this cluster that an object belongs to by its hash, or, where it has none, by the id of its set. Of several
// deployments that share the set it is the one whose release the object names. It is nil where no deployment here has that set, and where
// several share it and none of them is named: Shared tells the two apart.
func (inv *Inventory) OwnerOf(marks ownership.Metadata) *Deployment {
	sharers := inv.sharers(marks)
	for _, d := range sharers {
		if d.Release.Release() == marks.Release() {
			return d
		}
	}
	if len(sharers) == 1 {
		return sharers[0]
	}
	return nil
}

// Shared says whether several deployments of this cluster share the set that an object carries, so that it belongs to one of them and its
// Helm annotations do not say to which.
func (inv *Inventory) Shared(marks ownership.Metadata) bool {
	return len(inv.sharers(marks)) > 1 && inv.OwnerOf(marks) == nil
}

func (inv *Inventory) sharers(marks ownership.Metadata) []*Deployment {
	hash := marks.Hash
	if hash == "" {
		hash = fleet.Hash(marks.SetID)
	}
	return inv.Sets[hash]
}
