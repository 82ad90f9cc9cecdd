// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// BundleDeployment is one bundle on one cluster, with its desired objects.
type BundleDeployment struct {
	directory.Deployment

	// Desired are the distinct objects of the manifest in its order. Of duplicates, the last one counts. From is their
	// source.
	Desired []*Object
	From    Provenance
	// Kept is true if they are those of an earlier state.
	Kept bool
	// OtherVersions is true if duplicates are in different versions of a kind. Fleet counts each version.
	OtherVersions bool
	// Twice are the duplicates in the same version whose manifests differ.
	Twice []object.Ref
	// Rendering is the result of rendering the bundle; zero if it was not rendered.
	Rendering Rendering
	// Account is the ServiceAccount with which its agent deploys it; zero if it was not read.
	Account Account
	// Recorded are the objects in the release record as JSON, if Desired comes from another source.
	Recorded map[object.Key][]byte
	// Removed are the objects of the release, if Desired comes from another source: a deploy deletes those that are no
	// longer desired, unless they are kept.
	Removed []*Object
	// Earlier are the objects of the earlier revisions that are still recorded, Hooks those of the release's hooks.
	Earlier, Hooks map[KindName]bool
	// Replaced are the objects of the Rendering that are of another release.
	Replaced []*Object
	// Newest are the objects of the newest revision, if the revision that the status names is not recorded.
	Newest []object.Ref
	// Next are the hashes of the manifests of the newest revision, if it is newer than that of the Desired objects; nil
	// if they are not known.
	Next map[object.Key][sha256.Size]byte
	// EarlierKnown is true if the previous revision was read or does not exist.
	EarlierKnown bool

	// claimed are the objects of its record if they are not in Desired.
	claimed []*Object
}

// Claimed returns the desired objects, and those of its record if the desired ones are not known.
func (d *BundleDeployment) Claimed() []*Object { return slices.Concat(d.claimed, d.Desired) }

// Desires implements desired.Claimant. The bundle deployment is on a cluster that is read.
func (d *BundleDeployment) Desires(yield func(Key, *Object) bool) {
	for _, o := range d.Claimed() {
		if !yield(KeyOf(object.ID{Cluster: d.ClusterID, Key: o.Key()}), o) {
			return
		}
	}
}

// OwnSet implements desired.Claimant.
func (d *BundleDeployment) OwnSet() Set {
	return Set{Cluster: d.ClusterID, Hash: d.Ownership.Hash}
}

// inOrder compares bundle deployments by namespace, name and release.
func inOrder(a, b *BundleDeployment) int { return a.Compare(&b.Deployment) }

// Object is one desired object of one bundle deployment.
type Object struct {
	object.Ref
	// Deployment is the bundle deployment that desires it.
	Deployment object.DeploymentID
	// Raw is the object's JSON in the manifest; nil after DropManifests.
	Raw []byte
	// Namespaced reports whether the kind has namespaces.
	Namespaced bool
	// IndexState is its index in the deployment's Desired.
	Index int
	// Document and Alone are those of the release.Object.
	Document int
	Alone    bool
	// Unstable are JSON pointers of fields that differ each time the bundle is rendered.
	Unstable []string
}

// Cell identifies the object.
func (o *Object) Cell() object.CellID {
	return object.CellID{Deployment: o.Deployment, Object: o.Key()}
}

// Kept reports whether the manifest tells Helm to keep the object when its release no longer needs it.
func (o *Object) Kept() bool {
	m, err := object.ReadMeta(o.Raw)
	return err == nil && m.Metadata.Annotations[fleet.ResourcePolicyAnnotation] == "keep"
}

func objectsInOrder(a, b *Object) int { return a.Deployment.Compare(b.Deployment) }

// HasHook reports whether an object is a hook in the release of the deployment, or in a pending revision of it.
func (d *BundleDeployment) HasHook(r object.Ref) bool {
	awaited := func(p directory.RecordProblem) bool {
		return slices.ContainsFunc(p.Hooks, func(h release.Hook) bool { return h.Kind == r.Kind && h.Name == r.Name })
	}
	return d.Hooks[KindName{r.Kind, r.Name}] || slices.ContainsFunc(d.RecordProblems, awaited)
}

// KindName identifies an object of an earlier revision. Fleet compares nothing else (docs/fleet-behavior.md, 3.5).
type KindName struct{ Kind, Name string }

// Provenance is the source of the desired objects of a bundle deployment. The values are those of desiredFrom in the
// report.
type Provenance string

// The sources; empty if the desired objects are not known.
const (
	FromRelease Provenance = "release"
	FromBundle  Provenance = "bundle"
	FromFiles   Provenance = "files"
)

// NotInSnapshot is why the objects of a release that is not Fleet's are not known in a snapshot.
const NotInSnapshot = "a snapshot does not have its manifest"

// Rendering is the result of rendering the bundle of a bundle deployment.
type Rendering struct {
	// Deployment is the bundle deployment that it is rendered for.
	Deployment object.DeploymentID
	// Masked is true if it is the result that a snapshot recorded, in which values are masked as in live objects.
	Masked bool
	// CompetitorOnly is true if the bundle deployment is not audited: only the identities of its desired objects
	// matter.
	CompetitorOnly bool

	ReleaseName, ReleaseNamespace string
	Objects                       []release.Object
	// Secrets are the Secrets among the hooks, as JSON: their values must not be shown.
	Secrets [][]byte
	// Unstable are the JSON pointers of fields that differ each time, by rendered object. They are not compared.
	Unstable map[object.Ref][]string
	// RecordSize is the approximate size of the release record in its Secret, in bytes; 0 if it is not known or far
	// below the limit of a Secret.
	RecordSize int

	// Replaced are the objects of another release of that name, which the first deploy of the bundle upgrades, with
	// their metadata. ReplacedUnread is why they could not be read.
	Replaced       []release.Object
	ReplacedUnread string

	// Refused is the reason why Fleet's agent would not deploy the bundle. OverLimit is the reason why it could not be
	// rendered here. Both are empty if it was rendered.
	Refused, OverLimit string
	// ContentDamage is what is wrong with the Content of the bundle; empty if nothing is, or if it was not read.
	ContentDamage string
	// ClusterScoped are the cluster-scoped objects because of which the agent would refuse a bundle with a
	// targetNamespace.
	ClusterScoped []object.Ref
	// Defines are the kinds that Helm defines before it applies the objects: those in crds/ of the chart.
	Defines []schema.GroupKind
	// Unresolved are the inputs that could not be resolved. If there are any, the agent may render other objects.
	Unresolved []string
	// ValuesMissing are the names of the values sources that a deploy would not find.
	ValuesMissing []string
	Notes         []string
	// Gaps are the same for the report, with their effects.
	Gaps []source.Gap
}

// defaultAccount is the name of the ServiceAccount with which an agent deploys a bundle that names none, if it exists.
const defaultAccount = "fleet-default"

// Account is the ServiceAccount with which the agent deploys a bundle, in the namespace of the agent. Its name is empty
// for the agent's own.
type Account struct {
	types.NamespacedName
	// Missing is true if it does not exist. Unread is why that is not known; empty if it is.
	Missing bool
	Unread  string
}

// User is the name with which the API server knows the ServiceAccount; empty if the agent's own rights count.
func (a Account) User() string {
	if a.Name == "" || a.Missing || a.Unread != "" {
		return ""
	}
	return "system:serviceaccount:" + a.Namespace + ":" + a.Name
}

// AccountOf returns the ServiceAccount of a bundle. found are those of the agents' namespaces that cover says were
// read. Source: docs/fleet-behavior.md, 4.9.
func AccountOf(d *directory.Deployment, found map[types.NamespacedName]bool, cover source.Coverage) Account {
	named, agent := d.Options().ServiceAccount, d.AgentNamespace()
	a := Account{NamespacedName: types.NamespacedName{Namespace: agent, Name: cmp.Or(named, defaultAccount)}}
	why, read := cover.Of(agent)
	switch {
	case agent == "" || named == "" && !found[a.NamespacedName]:
		return Account{}
	case found[a.NamespacedName]:
	case read:
		a.Missing = true
	default:
		a.Unread = cmp.Or(why.Detail, string(why.Reason))
	}
	return a
}

// OnCluster is what is desired on one cluster.
type OnCluster struct {
	*directory.Cluster
	deployments map[object.DeploymentID]*BundleDeployment
	claims      *Claims[*Object, *BundleDeployment]
	evidence    map[object.DeploymentID]ownership.Evidence
}

// Deployment returns a bundle deployment; nil if it does not exist.
func (c OnCluster) Deployment(id object.DeploymentID) *BundleDeployment { return c.deployments[id] }

// Of returns the desired objects with an identity, ordered by bundle deployment, also those of release records that are
// not confirmed.
func (c OnCluster) Of(key object.Key) []*Object {
	return c.claims.Of(object.ID{Cluster: c.ID, Key: key})
}

// Confirmed returns the desired objects with an identity, without those of release records that are not confirmed. An
// object that several bundle deployments desire is contested.
func (c OnCluster) Confirmed(key object.Key) []*Object {
	return slices.DeleteFunc(slices.Clone(c.Of(key)), func(o *Object) bool {
		return !c.evidenceOf(c.Deployment(o.Deployment)).Confirms(key)
	})
}

// evidenceOf returns the evidence for the record of a bundle deployment. That of live objects is known if the bundle
// deployment was evaluated.
func (c OnCluster) evidenceOf(d *BundleDeployment) ownership.Evidence {
	if e, evaluated := c.evidence[d.ID()]; evaluated {
		return e
	}
	return d.Evidence()
}

// BySet returns the bundle deployments that have the set of a hash. Several share a hash if two agents without a scope
// deploy bundles of the same name. All bundles whose name begins with fleet-agent share one.
func (c OnCluster) BySet(hash string) []*BundleDeployment {
	return c.claims.BySet(Set{Cluster: c.ID, Hash: hash})
}

// MayHave returns the bundle deployments with the set of a hash that may have an undesired object with that set. The
// release record of any other does not count for the object.
func (c OnCluster) MayHave(hash string, key object.Key, have ownership.Metadata) []*BundleDeployment {
	return slices.DeleteFunc(slices.Clone(c.BySet(hash)), func(d *BundleDeployment) bool {
		return !c.evidenceOf(d).Confirms(key) && d.Release.Release() != have.Release()
	})
}

// Kinds returns the kinds of all desired objects, in no order.
func (c OnCluster) Kinds() map[schema.GroupKind]bool { return c.claims.Kinds(c.ID) }

// Owners finds the other owners of an object that d desires and that has this ownership metadata.
func (c OnCluster) Owners(d *directory.Deployment, key object.Key, have ownership.Metadata) ownership.Result {
	claim := ownership.Claim{Object: key, Have: have, Bundle: d.AsOwner()}
	for _, o := range c.Confirmed(key) {
		if o.Deployment != d.ID() {
			claim.DesiredBy = append(claim.DesiredBy, c.Deployment(o.Deployment).AsOwner())
		}
	}
	return ownership.Evaluate(c, claim)
}

// OwnerOf finds the bundle deployment of this cluster that has the set in the metadata. It returns nil if there is
// none, or if several share the set and the Helm annotations do not name the release of one of them.
func (c OnCluster) OwnerOf(m ownership.Metadata) *BundleDeployment {
	owners := ownership.BundlesOf(c, m)
	if len(owners) != 1 {
		return nil
	}
	for _, d := range c.BySet(owners[0].Desired.Hash) {
		if d.AsOwner() == owners[0] {
			return d
		}
	}
	return nil
}

// BundlesOf implements ownership.Facts.
func (c OnCluster) BundlesOf(hash string) []ownership.Bundle {
	var out []ownership.Bundle
	for _, d := range c.BySet(hash) {
		out = append(out, d.AsOwner())
	}
	return out
}

// Release implements ownership.Facts.
func (c OnCluster) Release(name string, bundle ownership.Bundle) ownership.Existence {
	last, own := c.State.Latest[name], name == bundle.Desired.Release()
	if own && last != nil {
		bundleID := bundle.Deployment[strings.LastIndexByte(bundle.Deployment, '/')+1:]
		switch {
		case last.Damaged != "":
			return ownership.NotDecided
		case last.BundleID == bundleID:
			return ownership.Own
		}
		return ownership.Exists
	}
	switch {
	case c.State.Releases[name]:
		return ownership.Exists
	case own: // it is not installed yet
		return ownership.Own
	case c.ReleasesComplete:
		return ownership.Absent
	}
	return ownership.NotDecided
}

// SetsKnown implements ownership.Facts.
func (c OnCluster) SetsKnown(k object.Key) bool { return c.SetsKnownIn(k.Namespace) }

// DropManifests drops the JSON of the desired objects, unless something else needs it.
func (d *BundleDeployment) DropManifests() {
	for _, o := range d.Claimed() {
		d.DropManifest(o)
	}
}

// DropManifest drops the JSON of a desired object, unless something else needs it.
func (d *BundleDeployment) DropManifest(o *Object) {
	if len(d.ComparePatches()) == 0 && d.Next == nil {
		o.Raw = nil
	}
}
