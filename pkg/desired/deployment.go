// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"crypto/sha256"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// BundleDeployment is one bundle on one cluster, with its desired objects.
type BundleDeployment struct {
	directory.Deployment

	// Desired are the distinct objects of the manifest in its order. Of duplicates, the last one counts. From is their
	// source.
	Desired []*Object
	From    DesiredFrom
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

// DesiredFrom is the source of the desired objects of a bundle deployment. The values are those of desiredFrom in the
// report.
type DesiredFrom string

// The sources; empty if the desired objects are not known.
const (
	FromRelease DesiredFrom = "release"
	FromBundle  DesiredFrom = "bundle"
	FromFiles   DesiredFrom = "files"
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
