// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Copies reads the originals on the management cluster and the copies of downstreamResources on their clusters, and
// compares their data by hash. readerOf returns the reader of a deployment's cluster.
func (r *Reader) Copies(ctx context.Context, copies []evaluate.Copy,
	readerOf func(*evaluate.Copy) *Reader) ([]source.Gap, error) {
	if len(copies) == 0 {
		return nil, nil
	}
	r.progress.Start("reading copies of downstreamResources")
	originals, live := newDigests(r), map[*Reader]*digests{}
	for i := range copies {
		reader := readerOf(&copies[i])
		if live[reader] == nil {
			live[reader] = newDigests(reader)
		}
		originals.want(copies[i].Original)
		live[reader].want(copies[i].Copied)
	}
	g, reading := errgroup.WithContext(ctx)
	g.Go(func() error { return originals.readByName(reading) })
	for _, d := range live {
		g.Go(func() error {
			if err := d.readByLabel(reading); err != nil {
				return err
			}
			return d.readByName(reading)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return copyGaps(copies, func(c *evaluate.Copy) (from, to *digest) {
		return originals.digests[c.Original], live[readerOf(c)].digests[c.Copied]
	}), nil
}

// copyGaps completes the copies with what was read, and returns the gap of those that were not read.
func copyGaps(copies []evaluate.Copy, digests func(*evaluate.Copy) (from, to *digest)) []source.Gap {
	unread := 0
	var why source.Failure
	for i := range copies {
		c := &copies[i]
		from, to := digests(c)
		for _, d := range []*digest{from, to} {
			if d.failure != (source.Failure{}) {
				why = d.failure
			}
		}
		if !from.read || from.exists && !to.read {
			unread++
			continue
		}
		c.Read, c.Exists, c.Changed = from.exists, to.exists, from.changed
		c.Equal = from.exists && to.exists && from.sum == to.sum
	}
	if unread == 0 {
		return nil
	}
	return []source.Gap{source.NewGap("reading copies of downstreamResources", why,
		fmt.Sprintf("it is not known whether %d of them exist and are current", unread))}
}

// digest is what is known of a Secret or ConfigMap: the hash of its data, and none of them.
type digest struct {
	read, exists bool
	sum          [sha256.Size]byte
	changed      time.Time
	failure      source.Failure // if it was not read
}

// digests reads Secrets and ConfigMaps.
type digests struct {
	reader  *Reader
	mu      sync.Mutex // guards digests
	digests map[object.Ref]*digest
}

func newDigests(r *Reader) *digests { return &digests{reader: r, digests: map[object.Ref]*digest{}} }

func (d *digests) want(ref object.Ref) { d.digests[ref] = &digest{} }

// readByLabel lists the copies by the label that Fleet gives them.
func (d *digests) readByLabel(ctx context.Context) error {
	kinds := map[string]bool{}
	for ref := range d.digests {
		kinds[ref.Kind] = true
	}
	g, ctx := errgroup.WithContext(ctx)
	for kind := range kinds {
		g.Go(func() error {
			_, err := d.reader.list(ctx, source.Query{Kind: secretKind.GroupVersion().WithKind(kind),
				LabelSelector: fleet.CopyLabel}, d.add)
			return err
		})
	}
	return g.Wait()
}

// readByName reads those that were not found yet.
func (d *digests) readByName(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxRequests)
	for ref, digest := range d.digests {
		if digest.exists {
			continue
		}
		g.Go(func() error {
			q := source.Query{Kind: ref.GroupVersionKind(), Namespaces: []string{ref.Namespace},
				FieldSelector: "metadata.name=" + ref.Name}
			cover, err := d.reader.list(ctx, q, d.add)
			d.mu.Lock()
			defer d.mu.Unlock()
			if f, covered := cover.Of(ref.Namespace); !digest.exists {
				digest.read, digest.failure = covered, f
			}
			return err
		})
	}
	return g.Wait()
}

// add adds an object if it is wanted. It counts as not read if its data may be masked.
func (d *digests) add(o source.Object) error {
	m, err := o.ReadMeta()
	if err != nil {
		return err
	}
	found, wanted := d.digests[m.Ref()]
	if !wanted {
		return nil
	}
	data, ok := dataOf(o.Raw, m.Kind == secretKind.Kind, d.reader.Description.Partial())
	ok = ok && (d.reader.Description.Unmasked == nil || !masks(data)) // two snapshots mask a value differently
	if before, known := d.reader.Description.Unmasked.Copy(m.Ref()); known {
		data, ok = []byte(before), true
	} else if o.Partial {
		ok = false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	*found = digest{read: ok, exists: true, sum: sha256.Sum256(data), changed: state.LastChange(managedFields(o))}
	if !ok {
		found.failure = source.Failure{Reason: source.ReadFailed, Detail: "its data are masked or damaged"}
	}
	return nil
}

// masks reports whether data, as dataOf returns them, have a mask of a snapshot.
func masks(data []byte) bool {
	inBase64 := base64.StdEncoding.EncodeToString([]byte(secret.MaskPrefix + "0"))
	// the bytes of the prefix alone
	return bytes.Contains(data, []byte(secret.MaskPrefix)) || bytes.Contains(data, []byte(inBase64[:6]))
}

// dataOf returns the data of a Secret or ConfigMap as JSON with keys in order; ok is false if they may not be the data
// on the cluster.
func dataOf(raw []byte, ofSecret, captured bool) (data []byte, ok bool) {
	var o struct {
		Data       map[string]string `json:"data"`
		BinaryData map[string][]byte `json:"binaryData"`
	}
	var s struct {
		Data map[string][]byte `json:"data"`
	}
	if ofSecret {
		if object.Into(raw, &s) != nil {
			return nil, false
		}
		for _, v := range s.Data {
			if captured && secret.Masked(v) {
				return nil, false
			}
		}
		data, err := json.Marshal(s)
		return data, err == nil && (len(s.Data) > 0 || !captured)
	}
	if object.Into(raw, &o) != nil {
		return nil, false
	}
	data, err := json.Marshal(o)
	return data, err == nil
}

var (
	deploymentKind  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	statefulSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
)

// Fleet reads Fleet's own objects. workspace is the namespace that the user names, or empty. It is read if reading all
// namespaces is forbidden.
func (r *Reader) Fleet(ctx context.Context, workspace string) (*state.Fleet, []source.Gap, error) {
	return r.fleet(ctx, workspace, slices.Concat(state.Kinds, state.OtherKinds))
}

// fleet reads objects of some of Fleet's kinds.
func (r *Reader) fleet(ctx context.Context, workspace string, kinds []state.Kind) (*state.Fleet, []source.Gap, error) {
	r.progress.Start("reading Fleet's objects")
	workspaces := []string{"fleet-default", "fleet-local"}
	if workspace != "" && !slices.Contains(workspaces, workspace) {
		workspaces = append(workspaces, workspace)
	}
	out := &state.Fleet{Coverage: map[string]source.Coverage{}}
	f := fleetReader{reader: r, out: out}
	g, lists := errgroup.WithContext(ctx)
	for _, kind := range kinds {
		q := source.Query{Kind: v1alpha1.Kind(kind.Name), Fallback: workspaces}
		g.Go(func() error { return f.list(lists, kind, q) })
	}
	g.Go(func() error {
		return r.workload(lists, deploymentKind, fleet.ControllerName, func(o source.Object) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if out.AddController(o.Raw) != nil {
				f.gaps = append(f.gaps, source.NewGap("reading workload "+fleet.ControllerName,
					source.Failure{Reason: source.ReadFailed}, "its version is not known"))
			}
			return nil
		})
	})
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	out.KeepOwnClusters()
	err := f.deploymentsOfClusters(ctx) // a Cluster can name the namespace of a user
	out.KeepOwnDeployments()
	if r.Description.Partial() {
		out.LimitCoverage()
	}
	return out, f.gaps, err
}

// errPartial is the error that a snapshot has only the metadata of one of Fleet's objects: an older version of this
// program took it, which did not read the kind.
var errPartial = errors.New(source.NotCaptured.Detail)

// fleetReader fills a state.Fleet.
type fleetReader struct {
	reader *Reader
	mu     sync.Mutex // guards out and gaps
	out    *state.Fleet
	gaps   []source.Gap
}

// list lists one of Fleet's kinds.
func (f *fleetReader) list(ctx context.Context, kind state.Kind, q source.Query) error {
	out, before := f.out, f.reader.Before.objects(kind)
	if len(before) > 0 {
		q.Remembered = func(namespace, name, version string) bool {
			o := before[namespace+"/"+name]
			return o != nil && o.GetResourceVersion() == version
		}
	}
	cover, err := f.reader.list(ctx, q, func(o source.Object) error {
		if o.Partial {
			return errPartial
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if o.Remembered {
			kind.Append(out, before[o.Meta.Metadata.Namespace+"/"+o.Meta.Metadata.Name])
			return nil
		}
		if err := kind.Add(out, o.Raw); err != nil {
			return err
		}
		switch kind.Name {
		case state.GitRepo:
			g := out.GitRepos[len(out.GitRepos)-1]
			specWritten(g, o.ManagedFields)
			g.Size = compactSize(o.Raw)
		case state.BundleDeployment:
			bd := out.BundleDeployments[len(out.BundleDeployments)-1]
			bd.ManagedFields = writes(bd.ManagedFields, o.ManagedFields)
			bd.Size = compactSize(o.Raw)
		case state.Bundle:
			b := out.Bundles[len(out.Bundles)-1]
			b.ManagedFields = writes(b.ManagedFields, o.ManagedFields)
			b.Size = compactSize(o.Raw)
			if before, known := f.reader.Description.Unmasked.Bundle(b.Namespace, b.Name); known {
				b.Size = before.Size
			}
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	out.Coverage[kind.Name] = cover
	return err
}

// sizeMatters is the size in bytes from which the exact size of a Bundle is computed.
const sizeMatters = 1 << 20

// compactSize returns the size of JSON in bytes. A snapshot may contain it with indentation, which the size does not
// include.
func compactSize(raw []byte) int {
	if len(raw) < sizeMatters {
		return len(raw)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return len(raw)
	}
	return b.Len()
}

// writes returns who wrote an object and when, without the fields. A source keeps the entries in the object, or
// separately as JSON; those that could not be decoded count as not recorded.
func writes(inObject []metav1.ManagedFieldsEntry, separate []byte) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	for _, m := range inObject {
		m.FieldsV1 = nil
		out = append(out, m)
	}
	var entries []struct {
		Manager     string       `json:"manager"`
		Subresource string       `json:"subresource"`
		Time        *metav1.Time `json:"time"`
	}
	if len(separate) == 0 || object.Into(separate, &entries) != nil {
		return out
	}
	for _, m := range entries {
		out = append(out, metav1.ManagedFieldsEntry{Manager: m.Manager, Subresource: m.Subresource, Time: m.Time})
	}
	return out
}

// specWritten sets when the spec of a GitRepo was last written. A source keeps the managedFields in the object, or
// separately as JSON.
func specWritten(g *v1alpha1.GitRepo, managedFields []byte) {
	fields := g.ManagedFields
	if len(managedFields) > 0 && json.Unmarshal(managedFields, &fields) != nil {
		fields = nil // the time is only needed to report a delay
	}
	g.SpecWritten, g.ManagedFields = v1alpha1.SpecWritten(fields), nil
}

// deploymentsOfClusters reads the BundleDeployments of each cluster for users who may not list them in all namespaces.
func (f *fleetReader) deploymentsOfClusters(ctx context.Context) error {
	namespaces := f.out.ClusterNamespaces()
	failure, all := f.out.Coverage[state.BundleDeployment].Of("")
	if all || failure.Reason != source.Forbidden || len(namespaces) == 0 {
		return nil
	}
	i := slices.IndexFunc(state.Kinds, func(k state.Kind) bool { return k.Name == state.BundleDeployment })
	return f.list(ctx, state.Kinds[i], source.Query{Kind: v1alpha1.Kind(state.BundleDeployment),
		Namespaces: namespaces})
}

// workload lists the workloads with a name. A failed read is not a gap, because the scope of an agent then follows from
// its releases.
func (r *Reader) workload(ctx context.Context, gvk schema.GroupVersionKind, name string,
	add func(source.Object) error) error {
	q := source.Query{Kind: gvk, FieldSelector: "metadata.name=" + name, Fallback: SystemNamespaces}
	_, err := r.Source.List(ctx, q, add)
	return err
}
