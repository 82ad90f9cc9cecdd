// SPDX-License-Identifier: Apache-2.0

// Package collect reads a source: Fleet's own objects into a state.Fleet, agents and release records into a
// state.Cluster, rendered bundles, and live objects. It passes each live object to an evaluate.Evaluator and does not
// keep it. It returns what could not be read as gaps.
package collect

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var (
	configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	namespaceKind = corev1.SchemeGroupVersion.WithKind(state.Namespace)
	secretKind    = corev1.SchemeGroupVersion.WithKind("Secret")
)

// SystemNamespaces are the default namespaces of Fleet's agents. They are read for users who may not list Secrets in
// all namespaces.
var SystemNamespaces = []string{"cattle-fleet-system", "cattle-fleet-local-system"}

// Reader reads one source.
type Reader struct {
	Source      source.Source
	Description source.Description
	Kinds       *source.Kinds
	// Secrets are the values of Secrets that were read. They must not be shown. The readers of one run share them.
	Secrets *secret.Values
	// Before is what was read of the source before; the zero value is nothing.
	Before Before

	progress Meter
	answered answers
	uid      atomic.Pointer[string] // of the Namespace kube-system
}

// answers are the answers to all lookups on a cluster: each is read once for all bundles.
type answers struct {
	mu   sync.Mutex // guards the fields below
	read map[render.Lookup]func() render.Found
	size int
}

// Open prepares reading a source. The values of Secrets are added to secrets. report receives the progress from several
// goroutines; it may be nil.
func Open(ctx context.Context, src source.Source, secrets *secret.Values, report func(Progress)) (*Reader, error) {
	r := &Reader{Source: src, Secrets: secrets}
	r.progress.Report = report
	var err error
	// The first request is alone: it may run a credential plugin, which may ask the user.
	if r.Description, err = src.Describe(ctx); err != nil {
		return nil, err
	}
	r.Kinds, err = src.Kinds(ctx)
	return r, err
}

// list lists objects and counts them as progress. An error of decode means that an object could not be decoded. Any
// object may be that one, so nothing is covered then.
func (r *Reader) list(ctx context.Context, q source.Query, decode func(source.Object) error) (source.Coverage, error) {
	bad := 0
	cover, err := r.Source.List(ctx, q, func(o source.Object) error {
		r.progress.Object()
		r.identify(o)
		if decode(o) != nil {
			bad++
		}
		return nil
	})
	if bad > 0 {
		cover = source.NotCovered(source.Failure{Reason: source.ReadFailed, Detail: strconv.Itoa(bad) +
			" of the objects could not be decoded"})
	}
	return cover, err
}

// listMetadata lists the metadata of objects.
func (r *Reader) listMetadata(ctx context.Context, q source.Query, add func(*object.Meta)) (source.Coverage, error) {
	q.MetadataOnly = true
	return r.list(ctx, q, func(o source.Object) error {
		m, err := o.ReadMeta()
		if err == nil {
			add(m)
		}
		return err
	})
}

// identify keeps the uid that identifies the cluster. It is not read for itself: it is known if the Namespaces are
// read.
func (r *Reader) identify(o source.Object) {
	if o.Kind != namespaceKind {
		return
	}
	if m, err := o.ReadMeta(); err == nil && m.Metadata.Name == metav1.NamespaceSystem {
		r.uid.Store(&m.Metadata.UID)
	}
}

// Described returns the description, with the uid of the cluster if it was read.
func (r *Reader) Described() source.Description {
	d := r.Description
	if uid := r.uid.Load(); uid != nil {
		d.ClusterUID = *uid
	}
	return d
}

// Before is what was read of a source before. What has still the same version is not read again.
type Before struct {
	Fleet *state.Fleet
	// Records are release records in brief.
	Records map[release.Name]*state.Record
	// Secrets are the values that must not be shown.
	Secrets *secret.Values
}

// known are the kinds of which there are many objects, and whose objects do not change after they were read.
var known = []string{state.BundleDeployment, state.Bundle}

// objects returns the objects of a kind that are known by "namespace/name".
func (b Before) objects(kind state.Kind) map[string]v1alpha1.Object {
	out := map[string]v1alpha1.Object{}
	if b.Fleet == nil || !slices.Contains(known, kind.Name) {
		return out
	}
	for _, o := range kind.List(b.Fleet) {
		out[o.GetNamespace()+"/"+o.GetName()] = o
	}
	return out
}

// record returns a known release record of the Secret of a name in a version; nil if there is none.
func (b Before) record(namespace, secret, version string) *state.Record {
	name, err := release.ParseSecretName(namespace, secret)
	if rec := b.Records[name]; err == nil && rec != nil && rec.Version == version {
		return rec
	}
	return nil
}

// notFound is the reason for an object that does not exist.
const notFound source.Reason = "NotFound"

var undecodable = source.Failure{Reason: source.ReadFailed, Detail: "it could not be decoded"}

// get reads one object by its name into v. If it is not found or could not be read, the failure is the reason.
func (r *Reader) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string, v any) (*source.Failure,
	error) {
	q := source.Query{Kind: gvk, FieldSelector: "metadata.name=" + name}
	if namespace != "" {
		q.Namespaces = []string{namespace}
	}
	var bad *source.Failure
	found := false
	cover, err := r.Source.List(ctx, q, func(o source.Object) error {
		found = true
		switch {
		case o.Partial:
			bad = &source.NotCaptured
		case object.Into(o.Raw, v) != nil:
			bad = &undecodable
		}
		return nil
	})
	if err != nil || found {
		return bad, err
	}
	if f, covered := cover.Of(namespace); !covered {
		return &f, nil
	}
	return &source.Failure{Reason: notFound}, nil
}

// NamespaceLabels returns the labels of the Namespaces with Clusters by name, if a BundleNamespaceMapping selects a
// bundle. Otherwise no target depends on them.
func (r *Reader) NamespaceLabels(ctx context.Context, f *state.Fleet) (map[string]map[string]string, source.Coverage,
	error) {
	if !f.NeedsNamespaces() {
		return nil, source.Coverage{}, nil
	}
	out, workspaces := map[string]map[string]string{}, f.Workspaces()
	cover, err := r.listMetadata(ctx, source.Query{Kind: namespaceKind}, func(m *object.Meta) {
		if workspaces[m.Metadata.Name] {
			out[m.Metadata.Name] = m.Metadata.Labels
		}
	})
	return out, cover, err
}

// Namespaces returns the labels and annotations of those wanted Namespaces that exist. It returns nil and the reason if
// not all could be read.
func (r *Reader) Namespaces(ctx context.Context, wanted map[string]bool) (map[string]state.NamespaceMeta,
	source.Failure, error) {
	out := map[string]state.NamespaceMeta{}
	cover, err := r.listMetadata(ctx, source.Query{Kind: namespaceKind}, func(m *object.Meta) {
		if wanted[m.Metadata.Name] {
			out[m.Metadata.Name] = state.NamespaceMeta{Labels: m.Metadata.Labels, Annotations: m.Metadata.Annotations}
		}
	})
	if f, whole := cover.Of(""); err != nil || !whole {
		return nil, f, err
	}
	return out, source.Failure{}, nil
}

// Accounts sets the ServiceAccounts with which agents deploy bundles. Those that could not be read are no gap: they are
// part of the prediction.
func (r *Reader) Accounts(ctx context.Context, deployments []*desired.BundleDeployment) error {
	var namespaces []string
	for _, d := range deployments {
		if agent := d.AgentNamespace(); agent != "" && !slices.Contains(namespaces, agent) {
			namespaces = append(namespaces, agent)
		}
	}
	if len(namespaces) == 0 {
		return nil
	}
	slices.Sort(namespaces)
	found := map[types.NamespacedName]bool{}
	q := source.Query{Kind: corev1.SchemeGroupVersion.WithKind("ServiceAccount"), Namespaces: namespaces}
	cover, err := r.listMetadata(ctx, q, func(m *object.Meta) {
		found[types.NamespacedName{Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}] = true
	})
	for _, d := range deployments {
		d.Account = desired.AccountOf(&d.Deployment, found, cover)
	}
	return err
}

// Progress is the progress of reading.
type Progress struct {
	Doing   string // "reading release records"
	Objects int    // objects read so far
}

// Meter counts objects and reports the count. Several goroutines may use it.
type Meter struct {
	// Report receives the progress; nil if it is not needed.
	Report func(Progress)

	n     atomic.Int64
	doing atomic.Value // string
}

// reportEvery is the number of objects between two reports.
const reportEvery = 256

// Start reports what is done next.
func (m *Meter) Start(doing string) {
	m.doing.Store(doing)
	m.tell(m.n.Load())
}

// Object counts an object.
func (m *Meter) Object() {
	if n := m.n.Add(1); n%reportEvery == 0 {
		m.tell(n)
	}
}

func (m *Meter) tell(n int64) {
	if m.Report != nil {
		doing, _ := m.doing.Load().(string)
		m.Report(Progress{Doing: doing, Objects: int(n)})
	}
}
