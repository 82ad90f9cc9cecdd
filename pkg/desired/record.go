// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// WithoutObjects is the revision of a record that desires no objects, or could not be read.
func WithoutObjects(n release.Name, s Status) *Revision {
	return NewRevision(Release{Name: n, Status: s}, nil)
}

// ReadRevision reads a release record, which is the value of a Secret under release.DataKey, and keeps only a Revision
// of it. Errors do not quote the record.
func ReadRevision(value []byte) (*Revision, error) {
	unpacked := release.UnpackedSize(value) // first, because reading needs several times as much memory
	if unpacked > release.MostUnpacked(len(value)) {
		return nil, release.ErrUnpacked
	}
	r, err := release.Read(value, unpacked, func(r *release.Record) release.Part {
		if statusOf(r) == Inactive {
			return release.Nothing
		}
		return release.MetadataOnly
	})
	switch {
	case err != nil:
		return nil, err
	case r.Part == release.Nothing:
		return WithoutObjects(r.Name, Inactive), nil
	case !validNames(r):
		return nil, errInvalidName
	case r.Problem != nil:
		return nil, r.Problem
	}
	keys := keysOf(r)
	all := make([]object.Key, 0, 2*len(keys))
	for k := range keys {
		all = append(all, k)
		// A record does not state which kinds are cluster-scoped, and a chart may state a namespace for their objects
		// too. A request about a namespaced object always has a namespace, so this key matches only a cluster-scoped
		// object.
		k.Namespace = ""
		all = append(all, k)
	}
	return NewRevision(Release{Name: r.Name, Status: statusOf(&r.Record), Bundle: r.BundleID, Metadata: metadataOf(r),
		Agents: []Agent{{Namespace: r.AgentNamespace, ServiceAccount: r.ServiceAccount}}, Objects: len(keys)}, all), nil
}

// statusOf reduces Helm's status. While Helm uninstalls a release, its last deployed record has the status
// uninstalling.
func statusOf(r *release.Record) Status {
	switch {
	case r.BundleID == "":
		return Inactive
	case r.Pending():
		return Pending
	case r.Status == release.StatusDeployed:
		return Deployed
	case r.Status == release.StatusUninstalling:
		return Uninstalling
	}
	return Inactive
}

// keysOf returns the keys of objects that can exist. An object without a namespace in the manifest gets that of the
// release.
func keysOf(r *release.Contents) sets.Set[object.Key] {
	out := sets.New[object.Key]()
	for _, o := range r.Objects {
		k := o.Key()
		if !possible(k) || hasGeneratedName(o) {
			continue
		}
		k.Name = strings.Clone(k.Name) // otherwise the whole manifest stays in memory
		k.Namespace = cmp.Or(k.Namespace, r.Namespace)
		out.Insert(k)
	}
	return out
}

// possible reports whether the API server can store an object with this key. Other keys would only use memory.
func possible(k object.Key) bool {
	const label, subdomain = validation.DNS1123LabelMaxLength, validation.DNS1123SubdomainMaxLength
	return k.Name != "" && max(len(k.Name), len(k.Group)) <= subdomain && max(len(k.Kind), len(k.Namespace)) <= label
}

// hasGeneratedName reports whether an object has only a prefix, from which the API server generates the name.
func hasGeneratedName(o release.Object) bool {
	if !strings.HasSuffix(o.Name, "-") {
		return false
	}
	m, err := object.ReadMeta(o.Raw)
	return err != nil || m.Metadata.Name == ""
}

// errInvalidName is the error of a chart with a name that no object can have. It does not quote the name.
var errInvalidName = errors.New("it names a bundle, an agent's namespace or a service account that cannot exist")

// validNames reports whether the names in a chart's annotations can exist. Warnings and logs contain them.
func validNames(r *release.Contents) bool {
	for _, name := range []string{r.BundleID, r.AgentNamespace, r.ServiceAccount} {
		if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return false
		}
	}
	return true
}

// maxSetID bounds the set ids that Fleet makes (docs/fleet-behavior.md, 1.1).
const maxSetID = 63

// metadataOf returns the ownership metadata of a release's objects. Fleet's part is read from the manifest, because the
// agent writes it with its scope, which the record does not state (docs/fleet-behavior.md, 1.3).
func metadataOf(r *release.Contents) ownership.Metadata {
	out := ownership.Metadata{ManagedBy: fleet.ManagedByHelm, ReleaseName: r.Name.Name, ReleaseNamespace: r.Namespace}
	for _, o := range r.Objects {
		m, err := object.ReadMeta(o.Raw)
		if err != nil {
			continue
		}
		// An agent derives the hash from the id. Any other pair is forged, and the webhook would copy it to objects.
		stated := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
		if len(stated.SetID) <= maxSetID && stated.Hash == fleet.Hash(stated.SetID) {
			out.Hash, out.SetID = stated.Hash, stated.SetID
			break
		}
	}
	return out
}

// namespaced reports whether a kind has namespaces.
type namespaced = func(schema.GroupVersionKind) bool

// Recorded returns the desired objects of a bundle deployment in the record of its release. c is the state of its
// cluster, history are the revisions of the release.
func Recorded(d *directory.Deployment, c *state.Cluster, history []*state.Record) []*Object {
	x := &BundleDeployment{Deployment: *d}
	x.recorded(history, c.Namespaced)
	return x.Desired
}

// Restore sets the manifests of the desired objects that DropManifests dropped, from the record of their release. It
// returns false if the record has not all of them.
func (d *BundleDeployment) Restore(rec *state.Record, namespaced namespaced) bool {
	manifests := map[object.Key][]byte{}
	for _, o := range rec.Objects {
		manifests[newObject(o, rec.Namespace, namespaced).Key()] = o.Raw
	}
	for _, o := range d.Claimed() {
		if o.Raw == nil {
			o.Raw = manifests[o.Key()]
		}
	}
	return !slices.ContainsFunc(d.Claimed(), func(o *Object) bool { return o.Raw == nil })
}

// with returns the bundle deployment with what another Directory knows of it; itself if that is the same. Its objects
// are the same.
func (d *BundleDeployment) with(facts *directory.Deployment) *BundleDeployment {
	if d.BD == facts.BD {
		return d
	}
	out := *d
	out.Deployment, out.Kept = *facts, true
	out.Desired, out.claimed = directory.Copies(d.Desired), directory.Copies(d.claimed)
	return &out
}

// recorded sets the desired objects from the record of the release, if there is no problem with it.
func (d *BundleDeployment) recorded(history []*state.Record, namespaced namespaced) {
	i := slices.IndexFunc(history, func(rec *state.Record) bool { return rec.Name == d.Release })
	if i < 0 && len(history) > 0 {
		for _, o := range history[len(history)-1].Objects {
			d.Newest = append(d.Newest, newObject(o, d.Release.Namespace, namespaced).Ref)
		}
	}
	if i < 0 || d.Problem != "" {
		return
	}
	rec := history[i]
	d.From = FromRelease
	d.Desired, d.OtherVersions = d.distinct(d.Release.Namespace, rec.Objects, namespaced)
	d.Earlier, d.Hooks = map[KindName]bool{}, map[KindName]bool{}
	d.earlier(history[:i])
	if i < len(history)-1 {
		d.Next = manifests(history[len(history)-1], namespaced)
	}
	for _, h := range rec.Hooks {
		d.Hooks[KindName{h.Kind, h.Name}] = true
	}
}

// manifests returns the hashes of the manifests of a record; nil if they are not known.
func manifests(rec *state.Record, namespaced namespaced) map[object.Key][sha256.Size]byte {
	if rec.Damaged != "" || rec.ManifestError != nil || rec.Skipped {
		return nil
	}
	out := map[object.Key][sha256.Size]byte{}
	for _, o := range rec.Objects {
		x := newObject(o, rec.Namespace, namespaced)
		out[x.Key()] = sha256.Sum256(x.Raw)
	}
	return out
}

// earlier collects the objects of earlier revisions. Fleet reports those that still have the hash as extra.
func (d *BundleDeployment) earlier(before []*state.Record) {
	d.EarlierKnown = d.Release.Revision == 1
	for _, r := range before {
		for _, h := range r.Hooks {
			d.Hooks[KindName{h.Kind, h.Name}] = true
		}
		if r.Damaged != "" || r.ManifestError != nil {
			continue
		}
		if r.Revision == d.Release.Revision-1 {
			d.EarlierKnown = true
		}
		for _, o := range r.Objects {
			d.Earlier[KindName{o.Kind, o.Name}] = true
		}
	}
}

// distinct returns the objects of a manifest without duplicates, of which the last one counts. namespace is the default
// namespace. otherVersions is true if duplicates are in different versions of a kind.
func (d *BundleDeployment) distinct(namespace string, objects []release.Object, namespaced namespaced) (out []*Object,
	otherVersions bool) {
	id, positions := d.ID(), map[object.Key]int{}
	d.Twice = nil
	for _, o := range objects {
		x := newObject(o, namespace, namespaced)
		x.Deployment = id
		i, known := positions[x.Key()]
		if known {
			if out[i].APIVersion == x.APIVersion && !bytes.Equal(out[i].Raw, x.Raw) {
				d.Twice = append(d.Twice, x.Ref)
			}
			otherVersions = otherVersions || out[i].APIVersion != x.APIVersion
			x.Index, out[i] = i, x
			continue
		}
		x.Index = len(out)
		positions[x.Key()] = x.Index
		out = append(out, x)
	}
	return out, otherVersions
}

// newObject returns an object of a manifest with its namespace. namespace is the default namespace.
func newObject(o release.Object, namespace string, namespaced namespaced) *Object {
	x := &Object{Ref: o.Ref, Raw: o.Raw, Namespaced: namespaced(o.GroupVersionKind()), Document: o.Document,
		Alone: o.Alone}
	switch {
	case !x.Namespaced:
		x.Namespace = ""
	case x.Namespace == "":
		x.Namespace = namespace
	}
	return x
}

// render replaces the desired objects of bundle deployments by those of their rendered bundles, and returns notes for
// the reader.
func render(deployments []*BundleDeployment, renderings []*Rendering, in *directory.Directory) (notes []string) {
	byID := map[object.DeploymentID]*BundleDeployment{}
	for _, d := range deployments {
		byID[d.ID()] = d
	}
	for _, x := range renderings {
		if d := byID[x.Deployment]; d != nil {
			notes = append(notes, d.render(x, in.Cluster(d.ClusterID))...)
		}
	}
	return notes
}

// Unmasked reports whether the desired objects have values that a snapshot masks in live objects: they were rendered
// from files.
func (d *BundleDeployment) Unmasked() bool { return d.From != FromRelease && !d.Rendering.Masked }

// render replaces the desired objects of the bundle deployment, and returns notes for the reader. The objects of its
// release record are kept in Recorded.
func (d *BundleDeployment) render(x *Rendering, cluster *directory.Cluster) (notes []string) {
	d.Rendering = *x
	if d.BD == nil && d.Release.Name == "" && d.Scope.Evidence == "" {
		notes = append(notes, fmt.Sprintf("the set id of bundle %s is computed without a scope: "+
			"it is not known which agent would deploy it", d.Name))
	}
	switch {
	case x.Refused != "":
		return append(notes, d.refuse(x)...)
	case x.OverLimit != "" && d.Problem != "":
		d.Detail = "the desired objects of its bundle are not known: " + x.OverLimit
	}
	if !x.CompetitorOnly { // notes are only for audited bundles
		for _, n := range x.Notes {
			notes = append(notes, "bundle "+d.Name+": "+n)
		}
	}
	if len(x.Objects) > 0 || len(x.Unresolved) == 0 {
		d.replace(x, cluster.State.Namespaced)
		return notes
	}
	if !x.CompetitorOnly {
		d.unknown(x.Unresolved[0])
	}
	return notes
}

// unknown makes the desired objects unknown. The release record is not a substitute, because the bundle's own objects
// were requested. The record still claims its objects.
func (d *BundleDeployment) unknown(why string) {
	if d.Problem != "" {
		return
	}
	d.Problem, d.Detail = directory.RecordsFailed, "the desired objects of its bundle are not known: "+why
	d.From, d.claimed, d.Desired = "", d.Desired, nil
}

// refuse records that the bundle is not rendered, and returns notes for the reader. The objects of its release record
// are no substitute for those of files, because these were requested.
func (d *BundleDeployment) refuse(x *Rendering) (notes []string) {
	if d.Problem != "" {
		d.Detail = "its bundle cannot be rendered: " + x.Refused
	}
	if d.Files == nil {
		return nil
	}
	if d.Files.Refused+d.Files.NoTarget != "" {
		d.Detail = x.Refused
	}
	if to := d.Files.Elsewhere; len(to) > 0 {
		notes = append(notes, "bundle "+d.Name+": "+d.Files.NoTarget+"; it targets "+strings.Join(to, ", "))
	}
	d.unknown(x.Refused)
	return notes
}

func (d *BundleDeployment) replace(x *Rendering, namespaced namespaced) {
	d.Recorded = map[object.Key][]byte{}
	if d.Earlier == nil {
		d.Earlier = map[KindName]bool{}
	}
	for _, o := range d.Desired {
		d.Recorded[o.Key()] = o.Raw
		// an object that the bundle no longer has is left over from the release
		d.Earlier[KindName{o.Kind, o.Name}] = true
	}
	d.Removed = d.Desired
	d.From, d.Problem, d.Detail = FromBundle, "", ""
	if d.FromFiles() {
		d.From = FromFiles
	}
	if d.Release.Name == "" {
		d.Release = release.Name{Namespace: x.ReleaseNamespace, Name: x.ReleaseName}
	}
	d.Ownership = ownership.Desired(d.Ownership.SetID, x.ReleaseName, x.ReleaseNamespace)
	d.Desired, d.OtherVersions = d.distinct(x.ReleaseNamespace, x.Objects, namespaced)
	for _, o := range x.Replaced {
		d.Replaced = append(d.Replaced, newObject(o, x.ReleaseNamespace, namespaced))
	}
	for _, o := range d.Desired {
		for rendered, pointers := range x.Unstable {
			// An object that is in the manifest with and without its namespace has both entries.
			if o.renderedAs(rendered, x.ReleaseNamespace) {
				o.Unstable = append(o.Unstable, pointers...)
			}
		}
	}
}

// renderedAs reports whether the object is the one that was rendered with an identity. namespace is that of the
// release.
func (o *Object) renderedAs(rendered object.Ref, namespace string) bool {
	if rendered.GroupVersionKind() != o.GroupVersionKind() || rendered.Name != o.Name {
		return false
	}
	return !o.Namespaced || cmp.Or(rendered.Namespace, namespace) == o.Namespace
}
