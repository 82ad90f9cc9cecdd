// SPDX-License-Identifier: Apache-2.0

// Package source is the interface through which objects are read from a cluster or from a captured snapshot. A source
// yields objects one by one. A failed read is data and not an error, so that it never counts as an empty cluster.
package source

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Source is a cluster, or a snapshot of a cluster. Its methods are safe for concurrent use.
type Source interface {
	// Describe returns the origin of the data. An error means that nothing can be read.
	Describe(ctx context.Context) (Description, error)
	// Kinds lists the kinds that can be read.
	Kinds(ctx context.Context) (*Kinds, error)
	// List yields each object of one kind once, in no particular order. The coverage is the set of namespaces of which
	// all objects were yielded. If a page fails, the objects of the pages before it were yielded. The error is that of
	// yield or of the context.
	List(ctx context.Context, q Query, yield func(Object) error) (Coverage, error)
}

// Origin is the type of a source.
type Origin string

// The two origins.
const (
	OriginCluster  Origin = "cluster"
	OriginSnapshot Origin = "snapshot"
)

// Description is the origin and the time of the data.
type Description struct {
	Origin            Origin
	Context, Server   string   // of a cluster: the context of the kubeconfig and the address of the server
	Paths             []string // of a snapshot
	KubernetesVersion string   // as the server states it, "" if unknown
	ClusterUID        string   // the uid of the Namespace kube-system, which identifies the cluster, "" if unknown
	TakenAt           time.Time
	Earliest          bool     // TakenAt is the newest time in the data, which may have been taken later
	Notes             []string // information that is not a gap, for example duplicate objects
	Gaps              []Gap    // data that could not be read when the source was opened
	// Complete is true for a snapshot whose manifest states what was read of a live cluster, and what could not be
	// read.
	Complete bool
	// Unmasked has the results that masking the values of Secrets would change; nil if no value is masked.
	Unmasked *Unmasked
}

// Live reports whether the data is that of a live cluster at the time TakenAt: a cluster, or a complete snapshot.
func (d Description) Live() bool { return d.Origin == OriginCluster || d.Complete }

// Partial reports whether the source is a snapshot that may lack objects without stating it.
func (d Description) Partial() bool { return d.Origin == OriginSnapshot && !d.Complete }

// Gap is data that could not be read, and the effect on the result.
type Gap struct {
	// Cluster is the name of the cluster; empty for the source itself.
	Cluster string `json:"cluster,omitempty"`
	What    string `json:"what"`
	// Reason is the reason of a Failure, or a sentence. Detail is the message of the server, "" without one.
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
	Effect string `json:"effect,omitempty"`
	// Optional is true if no result needs the data: neither the state of a desired object, nor a number, nor a check of
	// one of Fleet's objects. Without the data, an audit can still end without findings.
	Optional bool `json:"optional,omitempty"`
}

// AsOptional returns gaps of data that no result needs.
func AsOptional(gaps []Gap) []Gap {
	for i := range gaps {
		gaps[i].Optional = true
	}
	return gaps
}

// NewGap makes a gap from a failure.
func NewGap(what string, f Failure, effect string) Gap {
	return Gap{What: what, Reason: string(f.Reason), Detail: f.Detail, Effect: effect}
}

// Why is the reason with its detail.
func (g Gap) Why() string {
	if g.Detail == "" {
		return g.Reason
	}
	return g.Reason + ": " + g.Detail
}

// CoverageGaps returns the gaps of a list. A namespace with the same reason as all other namespaces ("*") has no gap of
// its own.
func CoverageGaps(what string, c Coverage, effect string) []Gap {
	var out []Gap
	failures := c.Failures()
	for _, ns := range slices.Sorted(maps.Keys(failures)) {
		if ns != "*" && failures[ns].Reason == failures["*"].Reason {
			continue
		}
		where := ""
		if ns != "*" && ns != "" {
			where = " in namespace " + ns
		}
		out = append(out, NewGap(what+where, failures[ns], effect))
	}
	return out
}

// Object is one object of a List. It is valid until yield returns.
type Object struct {
	// Item has no metadata if the source has not read them. Its Raw may have managedFields. API servers omit the kind
	// in the items of a list, so Raw may lack it.
	object.Item
	// Kind is the kind in the version in which the object was read.
	Kind schema.GroupVersionKind
	// Partial is true if a snapshot has only its metadata, and those other fields that an audit of the cluster reads.
	Partial bool
	// Remembered is true if the object is yielded without content: it has only a namespace, a name and a
	// resourceVersion.
	Remembered bool
}

// NotCaptured is the failure of what is not in a partial object.
var NotCaptured = Failure{Reason: NotInSnapshot, Detail: "only its metadata was captured"}

// ReadMeta returns the object's metadata with the kind in which it was read.
func (o Object) ReadMeta() (*object.Meta, error) {
	m := o.Meta
	if m == nil {
		var err error
		if m, err = object.ReadMeta(o.Raw); err != nil {
			return nil, err
		}
	}
	m.APIVersion, m.Kind = o.Kind.GroupVersion().String(), o.Kind.Kind
	return m, nil
}

// Decode decodes the object and returns its managedFields as JSON, empty if there are none.
func (o Object) Decode() (content object.Content, managedFields []byte, err error) {
	content, managedFields, err = object.Decode(o.Raw)
	if managedFields == nil {
		managedFields = o.ManagedFields
	}
	return content, managedFields, err
}

// Query selects objects of one kind.
type Query struct {
	Kind schema.GroupVersionKind
	// Namespaces restricts the query. Empty means all namespaces.
	Namespaces []string
	// Fallback lists the namespaces that are read one by one if reading all namespaces is forbidden.
	Fallback []string
	// LabelSelector and FieldSelector have the API's syntax. A snapshot supports the fields metadata.name,
	// metadata.namespace and type.
	LabelSelector, FieldSelector string
	// MetadataOnly requests apiVersion, kind and metadata only. A source may yield more.
	MetadataOnly bool
	// Remembered reports whether the reader knows all that it needs of an object in a resourceVersion. A source that
	// has the object in memory may then yield it without content. It is called from any goroutine. nil remembers
	// nothing.
	Remembered func(namespace, name, version string) bool
	// Only are the objects that the reader needs; empty stands for all. Only a source that has the objects in memory
	// leaves out the others.
	Only []types.NamespacedName
}

// Method is how a manifest is written. Helm creates an object, and merges it into the live one, if it does not apply it
// server-side.
type Method string

// The methods. The zero value is ServerSide.
const (
	ServerSide     Method = ""
	Create         Method = "create"
	Merge          Method = "merge"          // of a kind of which only its definition is known
	StrategicMerge Method = "strategicMerge" // of a built-in kind: lists are merged by key
)

// Apply are the options with which a manifest is written.
type Apply struct {
	Method  Method
	Manager string
	// Force takes fields from other managers. It is only for ServerSide.
	Force bool
	// As is the user in whose name it is requested; empty for the user of the client.
	As string
	// Subresource is what a patch is for; empty for the object itself.
	Subresource string
}

// CoverageOf reads the namespaces of a query, and returns what was read. read reads all objects of one namespace, or of
// all namespaces (""); failed is the reason why it could not. If all namespaces are forbidden, those of Fallback are
// read one by one.
func CoverageOf(q Query, namespaced bool, read func(namespace string) (failed *Failure, err error)) (Coverage, error) {
	if len(q.Namespaces) > 0 && namespaced {
		return readEach(Coverage{}, q.Namespaces, read)
	}
	failed, err := read("")
	switch {
	case err != nil:
		return Coverage{}, err
	case failed == nil:
		return Covered(), nil
	case failed.Reason == Forbidden && namespaced:
		return readEach(NotCovered(*failed), q.Fallback, read)
	}
	return NotCovered(*failed), nil
}

func readEach(c Coverage, namespaces []string, read func(string) (*Failure, error)) (Coverage, error) {
	for _, ns := range namespaces {
		failed, err := read(ns)
		if err != nil {
			return c, err
		}
		c = c.With(ns, failed)
	}
	return c, nil
}

// ClusterUID returns the uid of the Namespace kube-system, which identifies a cluster; empty if it was not found, or
// not read according to the coverage.
func ClusterUID(ctx context.Context, src Source) (uid string, cover Coverage, err error) {
	q := Query{Kind: corev1.SchemeGroupVersion.WithKind("Namespace"), FieldSelector: "metadata.name=" +
		metav1.NamespaceSystem, MetadataOnly: true}
	cover, err = src.List(ctx, q, func(o Object) error {
		if m, err := o.ReadMeta(); err == nil {
			uid = m.Metadata.UID
		}
		return nil
	})
	return uid, cover, err
}

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
