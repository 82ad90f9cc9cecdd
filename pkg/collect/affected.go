// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"cmp"
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Affected reads the live objects that the uninstall of releases affects. It returns the kinds that could not be read
// as gaps. others are objects that are deleted too, such as copies of downstreamResources.
func (r *Reader) Affected(ctx context.Context, uninstalls []*desired.Uninstall, others []object.Ref) (*state.Affected,
	[]source.Gap, error) {
	r.progress.Start("reading the objects that are deleted")
	a := affectedReader{reader: r, out: &state.Affected{CustomResources: map[schema.GroupKind]int{},
		Live:         map[object.Key]string{},
		LiveCoverage: map[schema.GroupKind]source.Coverage{}, ReclaimPolicies: map[string]string{}},
		wanted: map[object.Key]bool{}}
	counts := customResources{}
	deleted := slices.Clone(others)
	for _, x := range uninstalls {
		deleted = append(deleted, x.Deletes...)
		for _, gk := range x.CustomKinds {
			if err := counts.add(ctx, r, gk); err != nil {
				return nil, nil, err
			}
		}
	}
	maps.Copy(a.out.CustomResources, counts)
	maps.DeleteFunc(a.out.CustomResources, func(_ schema.GroupKind, n int) bool { return n < 0 })
	if err := a.live(ctx, uninstalls, deleted); err != nil {
		return nil, nil, err
	}
	err := a.claims(ctx, uninstalls, deleted)
	return a.out, a.gaps, err
}

type affectedReader struct {
	reader *Reader
	out    *state.Affected
	gaps   []source.Gap
	// wanted are the objects that are looked for.
	wanted map[object.Key]bool
}

var (
	claimKind  = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
	volumeKind = corev1.SchemeGroupVersion.WithKind("PersistentVolume")
)

// found adds a live object, if it is looked for, with the release that its annotations name.
func (a *affectedReader) found(m *object.Meta) {
	key := m.Ref().Key()
	if !a.wanted[key] {
		return
	}
	owner := ""
	annotations := m.Metadata.Annotations
	name, ns := annotations[fleet.ReleaseNameAnnotation], annotations[fleet.ReleaseNamespaceAnnotation]
	if name != "" && ns != "" {
		owner = release.Name{Namespace: ns, Name: name}.Release()
	}
	a.out.Live[key] = owner
}

// live reads which of the deleted objects exist, and of which release they are.
func (a *affectedReader) live(ctx context.Context, uninstalls []*desired.Uninstall, deleted []object.Ref) error {
	namespaces := map[schema.GroupVersionKind][]string{}
	add := func(ref object.Ref) {
		a.wanted[ref.Key()] = true
		// claims are listed with their volumes
		if k, served := a.reader.Kinds.Preferred(ref.Key().GroupKind()); served && k.GroupVersionKind != claimKind {
			namespaces[k.GroupVersionKind] = append(namespaces[k.GroupVersionKind], ref.Namespace)
		}
	}
	for _, ref := range deleted {
		add(ref)
	}
	for _, x := range uninstalls {
		for _, k := range x.Kept {
			add(k.Ref)
		}
	}
	for _, gvk := range slices.SortedFunc(maps.Keys(namespaces), source.CompareKinds) {
		q := source.Query{Kind: gvk}
		if in := distinct(namespaces[gvk]); in[0] != "" {
			q.Namespaces = in
		}
		cover, err := a.reader.listMetadata(ctx, q, a.found)
		if err != nil {
			return err
		}
		a.out.LiveCoverage[gvk.GroupKind()] = cover
		a.gap("listing "+gvk.Kind+" objects", cover, "all objects of this kind in the releases are assumed to exist")
	}
	return nil
}

// gap adds the gaps of a list. A snapshot need not contain every kind.
func (a *affectedReader) gap(what string, cover source.Coverage, effect string) {
	for _, g := range source.CoverageGaps(what, cover, effect) {
		if g.Reason != string(source.NotInSnapshot) {
			a.gaps = append(a.gaps, g)
		}
	}
}

// claims reads the PersistentVolumeClaims that may be deleted or kept, and the reclaim policies of their volumes.
func (a *affectedReader) claims(ctx context.Context, uninstalls []*desired.Uninstall, deleted []object.Ref) error {
	var namespaces []string
	for _, ref := range deleted {
		switch core := object.Group(ref.APIVersion) == ""; {
		case core && ref.Kind == "PersistentVolumeClaim":
			namespaces = append(namespaces, ref.Namespace)
		case core && ref.Kind == "Namespace":
			namespaces = append(namespaces, ref.Name)
		}
	}
	for _, x := range uninstalls {
		for _, set := range x.StatefulSets {
			namespaces = append(namespaces, set.Namespace)
		}
	}
	if namespaces = distinct(namespaces); len(namespaces) == 0 {
		return nil
	}
	var err error
	a.out.ClaimsCoverage, err = a.reader.list(ctx, source.Query{Kind: claimKind, Namespaces: namespaces},
		func(o source.Object) error {
			var claim struct {
				object.Meta
				Spec struct {
					VolumeName string `json:"volumeName"`
				} `json:"spec"`
			}
			err := object.Into(o.Raw, &claim)
			if err == nil {
				claim.APIVersion, claim.Kind = "v1", claimKind.Kind
				a.found(&claim.Meta)
				a.out.Claims = append(a.out.Claims, state.VolumeClaim{Namespace: claim.Metadata.Namespace,
					Name: claim.Metadata.Name, Volume: claim.Spec.VolumeName})
			}
			return err
		})
	if err != nil {
		return err
	}
	a.out.LiveCoverage[claimKind.GroupKind()] = a.out.ClaimsCoverage
	a.gap("listing PersistentVolumeClaims", a.out.ClaimsCoverage,
		"it is not known which claims exist, and which are deleted with StatefulSets and Namespaces")
	slices.SortFunc(a.out.Claims, func(x, y state.VolumeClaim) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return a.volumes(ctx)
}

func (a *affectedReader) volumes(ctx context.Context) error {
	bound := map[string]bool{}
	for _, c := range a.out.Claims {
		if c.Volume != "" {
			bound[c.Volume] = true
		}
	}
	if len(bound) == 0 {
		return nil
	}
	cover, err := a.reader.list(ctx, source.Query{Kind: volumeKind}, func(o source.Object) error {
		var volume struct {
			object.Meta
			Spec struct {
				ReclaimPolicy string `json:"persistentVolumeReclaimPolicy"`
			} `json:"spec"`
		}
		err := object.Into(o.Raw, &volume)
		if err == nil && bound[volume.Metadata.Name] {
			a.out.ReclaimPolicies[volume.Metadata.Name] = volume.Spec.ReclaimPolicy
		}
		return err
	})
	a.gap("listing PersistentVolumes", cover, "it is not known whether the data of deleted claims is deleted")
	return err
}

// customResources are the numbers of custom resources by kind; -1 if they could not be read.
type customResources map[schema.GroupKind]int

// add counts the custom resources of a kind, once.
func (c customResources) add(ctx context.Context, r *Reader, gk schema.GroupKind) (err error) {
	if _, counted := c[gk]; counted {
		return nil
	}
	c[gk] = -1
	k, served := r.Kinds.Preferred(gk)
	if !served {
		return nil
	}
	n := 0
	q := source.Query{Kind: k.GroupVersionKind, MetadataOnly: true}
	cover, err := r.Source.List(ctx, q, func(source.Object) error {
		n++
		return nil
	})
	if cover.Whole() {
		c[gk] = n
	}
	return err
}

// lossy are the kinds whose deletion loses more than the object.
var lossy = []string{desired.CRDKind, "Namespace", "PersistentVolumeClaim", "StatefulSet"}

// Reported reads what the statuses of some BundleDeployments list, by "namespace/name".
func (r *Reader) Reported(ctx context.Context, wanted map[string]bool, namespaces []string) (map[string]*state.Reported,
	error) {
	out := map[string]*state.Reported{}
	if len(wanted) == 0 {
		return out, nil
	}
	q := source.Query{Kind: v1alpha1.Kind(state.BundleDeployment)}
	if len(namespaces) == 1 {
		q.Namespaces = namespaces
	}
	_, err := r.list(ctx, q, func(o source.Object) error {
		var bd struct {
			object.Meta
			Status struct {
				Resources       []v1alpha1.ObjectKey `json:"resources"`
				IncompleteState bool                 `json:"incompleteState"`
			} `json:"status"`
		}
		if err := object.Into(o.Raw, &bd); err != nil {
			return err
		}
		key := bd.Metadata.Namespace + "/" + bd.Metadata.Name
		if !wanted[key] {
			return nil
		}
		reported := &state.Reported{Objects: len(bd.Status.Resources), Truncated: bd.Status.IncompleteState}
		for _, k := range bd.Status.Resources {
			if slices.Contains(lossy, k.Kind) {
				reported.Listed = append(reported.Listed, k)
			}
		}
		out[key] = reported
		return nil
	})
	return out, err
}

// CountCustomResources counts the custom resources of the CustomResourceDefinitions that removals delete.
func (r *Reader) CountCustomResources(ctx context.Context, removals []*desired.Removal) error {
	counts := customResources{}
	for _, x := range removals {
		x.CustomResources = map[string]int{}
		for name, gk := range x.CustomKinds {
			if err := counts.add(ctx, r, gk); err != nil {
				return err
			}
			if n := counts[gk]; n >= 0 {
				x.CustomResources[name] = n
			}
		}
	}
	return nil
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
