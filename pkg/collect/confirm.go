// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// manyNamespaces is the number of namespaces from which one list of all namespaces is cheaper than a list of each.
const manyNamespaces = 10

// identity is what is compared of an object that is read twice. The zero value is an object that does not exist.
type identity struct {
	exists     bool
	uid        types.UID
	deleting   bool
	generation int64
	labels     map[string]string
	version    string // is not compared by equal: the controller updates a status all the time
}

func (a identity) equal(b identity) bool {
	labels := maps.Equal(a.labels, b.labels)
	a.version, a.labels, b.version, b.labels = "", nil, "", nil
	return labels && reflect.DeepEqual(a, b)
}

// identityOf returns the identity of an object. The controller updates a BundleDeployment all the time, so only its
// existence counts.
func identityOf(kind string, m metav1.Object) identity {
	out := identity{exists: true, uid: m.GetUID(), deleting: m.GetDeletionTimestamp() != nil,
		version: m.GetResourceVersion()}
	if kind != state.BundleDeployment {
		out.generation, out.labels = m.GetGeneration(), m.GetLabels()
	}
	return out
}

// Changed reads the metadata of some of Fleet's objects again, and returns those that are not as they were, or that
// could not be read. An object that does not exist must still not exist.
func (r *Reader) Changed(ctx context.Context, f *state.Fleet, refs []object.Ref) (map[object.Ref]bool, error) {
	out := map[object.Ref]bool{}
	byKind := map[string]map[object.Ref]bool{}
	for _, ref := range refs {
		if byKind[ref.Kind] == nil {
			byKind[ref.Kind] = map[object.Ref]bool{}
		}
		byKind[ref.Kind][ref] = true
	}
	for _, kind := range state.Kinds {
		wanted := byKind[kind.Name]
		if len(wanted) == 0 {
			continue
		}
		before := map[object.Ref]identity{}
		for _, o := range kind.Of(f) {
			if ref := refTo(kind.Name, o.GetNamespace(), o.GetName()); wanted[ref] {
				before[ref] = identityOf(kind.Name, o)
			}
		}
		now, cover, err := r.identities(ctx, kind.Name, wanted)
		if err != nil {
			return nil, err
		}
		for ref := range wanted {
			if _, read := cover.Of(ref.Namespace); !read || !before[ref].equal(now[ref]) {
				out[ref] = true
			}
		}
	}
	return out, r.namespacesChanged(ctx, byKind[state.Namespace], out)
}

// namespacesChanged adds the namespaces of clusters that do not exist any more, or are being deleted.
func (r *Reader) namespacesChanged(ctx context.Context, wanted, out map[object.Ref]bool) error {
	if len(wanted) == 0 {
		return nil
	}
	now, _, err := r.clusterNamespaces(ctx)
	for ref := range wanted {
		if _, exists := now[ref.Name]; !exists {
			out[ref] = true
		}
	}
	return err
}

// identities lists the objects of a kind in the namespaces of some of them.
func (r *Reader) identities(ctx context.Context, kind string, wanted map[object.Ref]bool) (map[object.Ref]identity,
	source.Coverage, error) {
	q := listOf(kind, wanted)
	q.MetadataOnly = true
	out := map[object.Ref]identity{}
	cover, err := r.list(ctx, q, func(o source.Object) error {
		var m struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := object.Into(o.Raw, &m); err != nil {
			return err
		}
		if ref := refTo(kind, m.Metadata.Namespace, m.Metadata.Name); wanted[ref] {
			out[ref] = identityOf(kind, &m.Metadata)
		}
		return nil
	})
	return out, cover, err
}

func refTo(kind, namespace, name string) object.Ref {
	return object.Ref{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: namespace, Name: name}
}
