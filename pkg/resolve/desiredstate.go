// SPDX-License-Identifier: Apache-2.0

// Package resolve computes the desired state: which bundle desires which objects on which cluster (GitRepo or HelmOp, Bundle, BundleDeployment,
// release, object). It is a pure function of the data that was read, without live objects.
package resolve

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Problem is the reason why the desired objects of a bundle deployment are not known. The values are reasons of the state Unknown in the report.
type Problem string

// The problems; the zero value is none.
const (
	ClusterNotRead    Problem = "ClusterNotRead"   // the objects of its cluster are not read
	NoReleaseRecord   Problem = "NoReleaseRecord"  // nothing is installed, or the named revision is gone
	RecordUnreadable  Problem = "RecordUnreadable" // the record or its manifest is damaged
	RecordNotCaptured Problem = "NotInSnapshot"    // the snapshot does not have it
	RecordsForbidden  Problem = "Forbidden"        // reading the Secrets of the records is not allowed
	RecordsFailed     Problem = "ReadFailed"       // reading them failed
)

// DesiredState is everything that is desired on the clusters of one management cluster.
type DesiredState struct {
	*state.Fleet
	// Deployments are all bundle deployments, ordered by namespace, name and release.
	Deployments []*BundleDeployment
	// Clusters are the clusters with objects that are read, in the order of their states.
	Clusters []*Cluster
}

// Cluster is the desired state of one cluster with objects that are read.
type Cluster struct {
	// State is the data that was read from it, without release records.
	State *state.Cluster
	// Claims have the desired objects, ordered by bundle deployment, and the bundle deployments by the hash of their set, also those that are only
	// known by their release. An object that several bundle deployments desire is contested. Several share a hash if two agents without a scope
	// deploy bundles of the same name. All bundles whose name begins with fleet-agent share one.
	Claims *desired.Claims[*Object, *BundleDeployment]
	// SetsComplete is true if every release record of the cluster could be read, so that no set is unknown.
	SetsComplete bool
	// ReleasesComplete is true if all release records of other tools could be read too, so that a release that is not in State.Releases does not exist.
	// Releases that Helm keeps in an SQL database are never read.
	ReleasesComplete bool
	// Leftovers are releases with Fleet's annotations that are not among the known BundleDeployments of their agent.
	Leftovers []*state.Record
	// Removals are the releases that the garbage collection of an agent uninstalls, in the order of the collection. Some of them are Leftovers.
	Removals []*Removal
	// Unreadable are damaged records that no BundleDeployment names: it is not known which bundle they are of.
	Unreadable []*state.Record
	// OverBound are the records that exceed a size limit: their objects are not known.
	OverBound []*state.Record
	// Disputes are the scopes that specs declare and that the agents' workloads or releases contradict.
	Disputes []*Dispute
	// Scopes are the scopes of the agents of which the cluster shows a trace, by the namespace of the agent.
	Scopes map[string]AgentScope
	// Notes are information for the reader that is neither a finding nor a gap.
	Notes []string

	// secrets are the Secrets in recorded or rendered manifests, as JSON. Resolve returns them, and the cluster does not keep them.
	secrets [][]byte
	// watches maps the namespace of an agent to that of the BundleDeployments that the agent watches.
	watches map[string]string
	stated  *string
	fleet   *state.Fleet
}

// BundleDeployment is one bundle on one cluster.
type BundleDeployment struct {
	// Namespace and Name are those of the BundleDeployment. On a downstream cluster, only its release is known: then the name is the bundle id and
	// the namespace is empty.
	Namespace, Name string
	// BD is nil if only the release is known.
	BD *v1alpha1.BundleDeployment
	// On is the cluster that it is deployed to; nil if the objects of that cluster are not read.
	On *Cluster
	// Cluster, Bundle, GitRepo and HelmOp are "namespace/name"; empty if not known.
	Cluster, Bundle, GitRepo, HelmOp string
	// Release is the revision that Fleet's agent calls desired; its zero value means that there is none.
	Release release.Name
	// KeepResources and Commit are from the release record: whether an uninstall keeps the objects, and the Git commit of the release.
	KeepResources bool
	Commit        string
	// Deployed is the time of the deployment in the release record; zero if it has none.
	Deployed time.Time
	// Ownership is the ownership metadata that its objects should have.
	Ownership ownership.Metadata
	// OnOtherCluster is true if it is deployed to a cluster that is not read. Otherwise, ClusterNotRead means only that the cluster could not be
	// determined.
	OnOtherCluster bool
	// Agent is the namespace of its agent; empty if no agent is known to deploy it.
	Agent string
	// ReleaseOwnership is the ownership metadata in the manifest of its release; empty if there is no record, or no object in it.
	ReleaseOwnership ownership.Metadata
	// Scope is the scope of its agent, from which Ownership is computed.
	Scope AgentScope
	// Disputed is true if a Cluster's spec declares another scope, and no running agent shows which of the two is right.
	Disputed bool

	// Problem is the reason why Desired is not known; Detail is the same as a sentence.
	Problem Problem
	Detail  string
	// RecordProblems are problems of the records of the release: a revision that is pending, failed or missing. The desired objects may still be
	// known.
	RecordProblems []RecordProblem

	// Desired are the distinct objects of the manifest in its order. Of duplicates, the last one counts. From is their source.
	Desired []*Object
	From    DesiredFrom
	// OtherVersions is true if duplicates are in different versions of a kind. Fleet counts each version.
	OtherVersions bool
	// Rendering is the result of rendering the bundle; zero if it was not rendered.
	Rendering Rendering
	// Recorded are the objects in the release record as JSON, if Desired comes from another source.
	Recorded map[object.Key][]byte
	// Removed are the objects of the release, if Desired comes from another source: a deploy deletes those that are no longer desired, unless they
	// are kept.
	Removed []*Object
	// Uninstalls are the releases that the agent removes with the BundleDeployment, by name. They are only computed on request.
	Uninstalls []*Uninstall
	// Earlier are the objects of the earlier revisions that are still recorded, Hooks those of the release's hooks.
	Earlier, Hooks map[KindName]bool
	// EarlierKnown is true if the previous revision was read or does not exist.
	EarlierKnown bool

	// claimed are the objects of its record if they are not in Desired.
	claimed []*Object
}

// Key is "namespace/name" of the BundleDeployment, or the bundle id if only the release is known.
func (d *BundleDeployment) Key() string {
	if d.Namespace == "" {
		return d.Name
	}
	return d.Namespace + "/" + d.Name
}

// DeploymentNamespace is the namespace of its BundleDeployment. For a bundle that has none yet, it is the namespace of
// those of its cluster; empty if that is not known.
func (d *BundleDeployment) DeploymentNamespace() string {
	if d.Namespace != "" || d.On == nil {
		return d.Namespace
	}
	if watched := d.On.Watched(); len(watched) == 1 {
		return watched[0]
	}
	return ""
}

// ClusterKey is the key of its Cluster. For a bundle that has no BundleDeployment yet, it is that of the cluster that
// is read; empty if it is not known.
func (d *BundleDeployment) ClusterKey() string {
	if d.Cluster != "" || d.On == nil {
		return d.Cluster
	}
	if of := d.On.FleetClusters(); len(of) == 1 {
		return of[0]
	}
	return ""
}

// DependsOn are the dependencies of its bundle.
func (d *BundleDeployment) DependsOn() []v1alpha1.BundleRef {
	switch {
	case d.Rendering.Directory != nil:
		return d.Rendering.Directory.DependsOn
	case d.BD != nil:
		return d.BD.Spec.DependsOn
	}
	return nil
}

// BundleLabels are the labels of its bundle that its BundleDeployment has, or will have.
func (d *BundleDeployment) BundleLabels() map[string]string {
	dir := d.Rendering.Directory
	switch {
	case d.BD != nil:
		return d.BD.Labels
	case dir == nil: // only its release is known
		return nil
	}
	out := maps.Clone(dir.Labels)
	if out == nil {
		out = map[string]string{}
	}
	out[fleet.BundleLabel], out[fleet.BundleNamespaceLabel] = d.Name, dir.Workspace
	return out
}

// Workspace is the namespace of its bundle or, if only a release is known, the namespace of the release.
func (d *BundleDeployment) Workspace() string {
	if dir := d.Rendering.Directory; d.BD == nil && dir != nil {
		return dir.Workspace
	}
	if d.BD == nil {
		return d.Release.Namespace
	}
	return d.BD.Labels[fleet.BundleNamespaceLabel]
}

// Named reports whether a name is that of the bundle deployment: its name alone, or after its namespace or its
// workspace.
func (d *BundleDeployment) Named(name string) bool {
	return name == d.Name || name == d.Key() || name == d.Workspace()+"/"+d.Name
}

// Parents are the objects of Fleet that the bundle deployment is part of: "namespace/name" by kind, without unknown ones.
func (d *BundleDeployment) Parents() map[string]string {
	out := map[string]string{state.Bundle: d.Bundle, state.GitRepo: d.GitRepo, state.HelmOp: d.HelmOp, state.ClusterKind: d.Cluster}
	maps.DeleteFunc(out, func(_, key string) bool { return key == "" })
	return out
}

// Options are the options of the deployment. They are empty if only the release is known.
func (d *BundleDeployment) Options() *v1alpha1.Options {
	switch {
	case d.FromFiles():
		return d.Rendering.FileOptions
	case d.BD != nil:
		return &d.BD.Spec.Options
	}
	return &v1alpha1.Options{}
}

// ValuesSecrets returns the Secrets on its cluster that its valuesFrom names, with their namespaces.
func (d *BundleDeployment) ValuesSecrets() []v1alpha1.ValuesKey {
	o := d.Options()
	if o.Helm == nil {
		return nil
	}
	var out []v1alpha1.ValuesKey
	for _, from := range o.Helm.ValuesFrom {
		if ref := from.SecretKeyRef; ref != nil {
			out = append(out, v1alpha1.ValuesKey{Name: ref.Name, Namespace: cmp.Or(ref.Namespace, o.ReleaseNamespace()),
				Key: ref.Key})
		}
	}
	return out
}

// FromFiles reports whether the bundle was read from files.
func (d *BundleDeployment) FromFiles() bool {
	return d.Rendering.FileOptions != nil
}

// Ref is the object that represents the bundle deployment in findings: its BundleDeployment, or the Secret with its release record, or, for a
// bundle that exists only in files, the Bundle that Fleet would create.
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

// SecretRef identifies the Secret of a release record.
func SecretRef(n release.Name) object.Ref {
	return object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: n.Namespace, Name: n.SecretName()}
}

// Object is one desired object of one bundle deployment.
type Object struct {
	object.Ref
	Deployment *BundleDeployment
	// Raw is the object's JSON in the manifest.
	Raw []byte
	// Namespaced reports whether the kind has namespaces.
	Namespaced bool
	// Index is its index in the deployment's Desired.
	Index int
	// Document and Alone are those of the release.Object.
	Document int
	Alone    bool
	// Unstable are JSON pointers of fields that differ each time the bundle is rendered.
	Unstable []string
}

// Kept reports whether the manifest tells Helm to keep the object when its release no longer needs it.
func (o *Object) Kept() bool {
	m, err := object.ReadMeta(o.Raw)
	return err == nil && m.Metadata.Annotations[fleet.ResourcePolicyAnnotation] == "keep"
}

// KindName identifies an object of an earlier revision. Fleet compares nothing else (docs/fleet-behavior.md, 3.5).
type KindName struct{ Kind, Name string }

// RecordProblem is one problem of the records of a release.
type RecordProblem struct {
	Record release.Name
	Status string // Helm's, or "pruned", "damaged"
	Detail string
	// Reported is the error of Helm in the record, which may have values of Secrets.
	Reported string
	// Since is when Helm began with this revision; zero if it is not known.
	Since time.Time
	// Predecessor is true if the revision before this one is recorded.
	Predecessor bool
}

// AgentVersion returns the image tag of the agent that deploys the BundleDeployments in a namespace; empty if it is not known.
func (c *Cluster) AgentVersion(namespace string) string {
	return c.State.Workloads[c.AgentOf(namespace)].Version
}

// ClusterOfAgent returns the cluster ("namespace/name") of the agent that runs in a namespace of this cluster. It returns the namespace if the cluster
// is not known, or if it reports that its agent runs in another namespace.
func (c *Cluster) ClusterOfAgent(namespace string) string {
	for _, o := range c.fleet.Clusters {
		s := o.Status
		if s.Namespace != "" && s.Namespace == c.watches[namespace] && (s.Agent.Namespace == "" || s.Agent.Namespace == namespace) {
			return o.Namespace + "/" + o.Name
		}
	}
	return namespace
}

// Watched returns the namespaces of the BundleDeployments that are deployed to this cluster.
func (c *Cluster) Watched() []string { return slices.Sorted(maps.Values(c.watches)) }

// FleetClusters returns the Clusters ("namespace/name") of the BundleDeployments that are deployed to this cluster.
func (c *Cluster) FleetClusters() []string {
	var out []string
	for _, o := range c.fleet.Clusters {
		if s := o.Status.Namespace; s != "" && slices.Contains(c.Watched(), s) {
			out = append(out, o.Namespace+"/"+o.Name)
		}
	}
	return out
}

// AgentOf returns the namespace of the agent on this cluster that deploys the BundleDeployments in a namespace; empty if it is not known.
func (c *Cluster) AgentOf(namespace string) string {
	for _, agent := range slices.Sorted(maps.Keys(c.watches)) { // an agent that was moved may have left its Secret behind
		if c.watches[agent] == namespace {
			return agent
		}
	}
	return ""
}

// Claimed returns the desired objects, and those of its record if the desired ones are not known.
func (d *BundleDeployment) Claimed() []*Object { return slices.Concat(d.claimed, d.Desired) }

// claim adds the objects and the set of a bundle deployment to Claims.
func (c *Cluster) claim(d *BundleDeployment) {
	for _, o := range d.Claimed() {
		c.Claims.Add(o.Key(), o)
	}
	c.Claims.AddSet(d.Ownership.Hash, d)
}

// inOrder compares bundle deployments by namespace, name and release.
func inOrder(a, b *BundleDeployment) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Release.Release(), b.Release.Release()))
}

func objectsInOrder(a, b *Object) int { return inOrder(a.Deployment, b.Deployment) }
