// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Removals reads again what decides that garbage collection removes releases of a cluster: a BundleDeployment may have
// been created, or the release removed, since the first read. It returns those that are still removed, and whether that
// is confirmed. It also counts the custom resources of the CustomResourceDefinitions that are deleted. management reads
// Fleet's own objects.
func (r *Reader) Removals(ctx context.Context, management *Reader, removals []*resolve.Removal) ([]*resolve.Removal,
	error) {
	if len(removals) == 0 {
		return nil, nil
	}
	r.progress.start("reading releases that will be uninstalled")
	captured := r.Description.Partial()
	again, custom := rereads{Reader: r, management: management}, counter{Reader: r, counts: map[schema.GroupKind]int{}}
	if !captured {
		if err := again.read(ctx, removals); err != nil {
			return nil, err
		}
	}
	var out []*resolve.Removal
	for _, before := range removals {
		x := *before
		undone := false
		if x.Confirmed = captured; !captured {
			x.Confirmed, undone = again.confirm(before)
		}
		if undone {
			continue
		}
		var err error
		if x.CustomResources, err = custom.ofKinds(ctx, x.CustomKinds); err != nil {
			return nil, err
		}
		out = append(out, &x)
	}
	return out, nil
}

// rereads is what a second read of BundleDeployments and release records showed.
type rereads struct {
	*Reader
	management           *Reader
	deployments, records names
}

// names are the names of the objects in some namespaces.
type names struct {
	found    map[[2]string]bool
	coverage source.Coverage
}

func (n names) of(namespace, name string) (found, known bool) {
	_, known = n.coverage.Of(namespace)
	return n.found[[2]string{namespace, name}], known
}

func (r *Reader) names(ctx context.Context, q source.Query) (names, error) {
	return r.namesWith(ctx, q, func([]byte) {})
}

// namesWith also passes each object, as JSON with its metadata, to a function.
func (r *Reader) namesWith(ctx context.Context, q source.Query, each func(raw []byte)) (names, error) {
	out := names{found: map[[2]string]bool{}}
	var err error
	q.MetadataOnly = true
	out.coverage, err = r.list(ctx, q, func(o source.Object) error {
		m, err := o.ReadMeta()
		if err == nil {
			out.found[[2]string{m.Metadata.Namespace, m.Metadata.Name}] = true
			each(o.Raw)
		}
		return err
	})
	return out, err
}

func (a *rereads) read(ctx context.Context, removals []*resolve.Removal) error {
	var watched, released []string
	for _, x := range removals {
		watched, released = append(watched, x.Watched), append(released, x.Record.Namespace)
	}
	var err error
	// The records first: an agent that deploys a new BundleDeployment writes the record after the BundleDeployment.
	if a.records, err = a.names(ctx, source.Query{Kind: secretKind, FieldSelector: "type=" + release.SecretType,
		Namespaces: distinct(released)}); err != nil {
		return err
	}
	a.deployments, err = a.management.names(ctx, source.Query{Kind: v1alpha1.Kind(state.BundleDeployment),
		Namespaces: distinct(watched)})
	return err
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// confirm reports whether the second read shows the removal again, or shows that the release is not removed.
func (a *rereads) confirm(x *resolve.Removal) (confirmed, undone bool) {
	recorded, known := a.records.of(x.Record.Namespace, x.Record.SecretName())
	if known && !recorded {
		return false, true
	}
	exists, read := a.deployments.of(x.Watched, x.Record.BundleID)
	if read && exists != (x.Expects != nil) {
		return false, true
	}
	return known && read, false
}
