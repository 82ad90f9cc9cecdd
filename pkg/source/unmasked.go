// SPDX-License-Identifier: Apache-2.0

package source

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Unmasked has results that were computed before a snapshot left out payloads and masked the values of Secrets, because
// what it has would yield other results. It has no value of a Secret. Objects are named NAMESPACE/NAME. The methods
// accept nil.
type Unmasked struct {
	// ValuesSecrets are the results of the Secrets with Helm values. The key is the type that the Secret should have, a
	// space and its name.
	ValuesSecrets map[string]ValuesResult `json:"valuesSecrets,omitempty"`
	// Contents are the Contents that could not be read, or of which files are left out, by their names. Another Content
	// was intact.
	Contents map[string]Unreadable `json:"contents,omitempty"`
	// Records are the release records that could not be read, by the names of their Secrets.
	Records map[string]Unreadable `json:"records,omitempty"`
	// Bundles are the results of the files of Bundles.
	Bundles map[string]BundleResult `json:"bundles,omitempty"`
	// Copies are sums of the data of Secrets and ConfigMaps that Fleet copies, by "Kind namespace/name". Those of an
	// original and of a copy are equal if their data are. The key of the sums is not known.
	Copies map[string]string `json:"copies,omitempty"`
	// Renderings are the results of rendering bundles, by the keys of their bundle deployments. They are documents of
	// their own.
	Renderings map[string]*Rendering `json:"-"`
}

// Rendering is the result of rendering the bundle of a bundle deployment.
type Rendering struct {
	ReleaseName      string `json:"releaseName,omitempty"`
	ReleaseNamespace string `json:"releaseNamespace,omitempty"`
	// Objects are the rendered objects.
	Objects []RenderedObject `json:"objects,omitempty"`
	// RecordSize is the approximate size of the release record, in bytes.
	RecordSize int `json:"recordSize,omitempty"`
	// Refused is why Fleet's agent would not deploy the bundle, OverLimit why it could not be rendered, ContentDamage
	// what is wrong with its Content.
	Refused       string `json:"refused,omitempty"`
	OverLimit     string `json:"overLimit,omitempty"`
	ContentDamage string `json:"contentDamage,omitempty"`
	// ClusterScoped are the objects because of which the agent would refuse it.
	ClusterScoped []object.Ref `json:"clusterScoped,omitempty"`
	// Unresolved are the inputs that could not be resolved, ValuesMissing the values sources that a deploy would not
	// find.
	Unresolved    []string `json:"unresolved,omitempty"`
	ValuesMissing []string `json:"valuesMissing,omitempty"`
	Notes         []string `json:"notes,omitempty"`
}

// RenderedObject is an object of a rendered bundle.
type RenderedObject struct {
	object.Ref
	Object jsontext.Value `json:"object"`
	// Unstable are the JSON pointers of fields that differ each time.
	Unstable []string `json:"unstable,omitempty"`
}

// ValuesResult is the result of a Secret with Helm values.
type ValuesResult struct {
	// Hash is the valuesHash of the data if the owner of the Secret states the same hash. It is empty if the owner
	// states another one.
	Hash string `json:"hash,omitempty"`
	// Emptied is true if the Secret has staged values and no current ones.
	Emptied bool `json:"emptied,omitempty"`
}

// Unreadable is a release record or a Content that could not be read.
type Unreadable struct {
	// Damaged is the reason why it could not be decoded, Manifest the reason why the manifest of a record could not be
	// read.
	Damaged  string `json:"damaged,omitempty"`
	Manifest string `json:"manifest,omitempty"`
	// Limit is the limit that it exceeds, or the reason why not all of it is in the snapshot. Then it is not known to
	// be damaged.
	Limit string `json:"limit,omitempty"`
}

// BundleResult is the result of the files of a Bundle.
type BundleResult struct {
	// Size is the size of the Bundle as compact JSON, in bytes.
	Size int `json:"size"`
	// Content is the name of the Content with the same files.
	Content string `json:"content,omitempty"`
}

// orNone returns u, or no results for nil.
func (u *Unmasked) orNone() Unmasked {
	if u == nil {
		return Unmasked{}
	}
	return *u
}

// Values returns the result of a Secret with Helm values.
func (u *Unmasked) Values(secretType, namespace, name string) (ValuesResult, bool) {
	v, ok := u.orNone().ValuesSecrets[ValuesName(secretType, namespace, name)]
	return v, ok
}

// ValuesName is the key of a Secret in ValuesSecrets.
func ValuesName(secretType, namespace, name string) string {
	return secretType + " " + namespace + "/" + name
}

// Content returns why a Content could not be read.
func (u *Unmasked) Content(name string) (Unreadable, bool) {
	v, ok := u.orNone().Contents[name]
	return v, ok
}

// Record returns the result of a release record that could not be read.
func (u *Unmasked) Record(namespace, secret string) (Unreadable, bool) {
	v, ok := u.orNone().Records[namespace+"/"+secret]
	return v, ok
}

// Bundle returns the result of the files of a Bundle.
func (u *Unmasked) Bundle(namespace, name string) (BundleResult, bool) {
	v, ok := u.orNone().Bundles[namespace+"/"+name]
	return v, ok
}

// Copy returns the sum of the data of a Secret or ConfigMap that Fleet copies.
func (u *Unmasked) Copy(ref object.Ref) (string, bool) {
	v, ok := u.orNone().Copies[CopyName(ref)]
	return v, ok
}

// CopyName is the key of an object in Copies.
func CopyName(ref object.Ref) string { return ref.Kind + " " + ref.Namespace + "/" + ref.Name }

// Rendering returns the result of rendering the bundle of a bundle deployment; nil if it is not known.
func (u *Unmasked) Rendering(key string) *Rendering { return u.orNone().Renderings[key] }
