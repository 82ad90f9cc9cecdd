// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

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
	out := f.out
	cover, err := f.reader.list(ctx, q, func(o source.Object) error {
		if o.Partial {
			return errPartial
		}
		f.mu.Lock()
		defer f.mu.Unlock()
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
