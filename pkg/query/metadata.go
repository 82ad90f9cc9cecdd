// SPDX-License-Identifier: Apache-2.0

package query

import (
	"cmp"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// metadataExplainer explains the labels and annotations of one object.
type metadataExplainer struct {
	desired.OnCluster
	all         []*desired.BundleDeployment
	have        ownership.Metadata
	owner       *desired.BundleDeployment // nil if no bundle deployment has its hash
	namespace   string
	annotations map[string]string
}

// entries explains every label and annotation about the owner, labels first.
func (e metadataExplainer) entries(m *object.Meta) []report.MetadataEntry {
	var out []report.MetadataEntry
	for field, explain := range map[string]map[string]func(string) string{
		"label": {fleet.HashLabel: e.hash, fleet.ManagedByLabel: managedBy, fleet.PruneLabel: only("false",
			"Fleet never reports it as orphaned")},
		"annotation": {fleet.IDAnnotation: e.id, fleet.ReleaseNameAnnotation: e.release,
			fleet.ReleaseNamespaceAnnotation: releaseNamespace,
			fleet.ResourcePolicyAnnotation:   only("keep", "Helm keeps it when its release is uninstalled"),
			fleet.OwnerGVKAnnotation:         setOwner, fleet.OwnerNameAnnotation: setOwner,
			fleet.OwnerNamespaceAnnotation: setOwner},
	} {
		from := m.Metadata.Annotations
		if field == "label" {
			from = m.Metadata.Labels
		}
		for key, means := range explain {
			if value, ok := from[key]; ok {
				out = append(out, report.MetadataEntry{Field: field, Key: key, Value: value, Means: means(value)})
			}
		}
	}
	slices.SortFunc(out, func(a, b report.MetadataEntry) int {
		return cmp.Or(-cmp.Compare(a.Field, b.Field), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// addWriters adds the last writer of each label and annotation, if the managedFields of the object could be read.
func (e metadataExplainer) addWriters(entries []report.MetadataEntry, o source.Object) {
	live, managedFields, err := o.Decode()
	if err != nil || len(managedFields) == 0 {
		return
	}
	managers, err := compare.ReadManagers(managedFields, live)
	if err != nil {
		return
	}
	for i, m := range entries {
		path, err := fieldpath.MakePath("metadata", m.Field+"s", m.Key)
		if err != nil {
			return
		}
		entries[i].Who = evaluate.Writer(compare.Difference{Path: path, Live: m.Value, LiveSet: true}, managers)
	}
}

func (e metadataExplainer) hash(value string) string {
	of := "hash of a set that is not known here"
	if e.owner != nil {
		of = fmt.Sprintf("hash of set %q: bundle deployment %s", e.owner.Ownership.SetID, e.owner.Key())
	}
	gvk, name, ns := e.annotations[fleet.OwnerGVKAnnotation], e.annotations[fleet.OwnerNameAnnotation],
		e.annotations[fleet.OwnerNamespaceAnnotation]
	switch id := e.have.SetID; {
	case id == "":
		return of
	case fleet.HashOf(id, gvk, name, ns) == value:
		return of + "; the id matches it"
	}
	return of + "; the id does not match it"
}

func (e metadataExplainer) id(value string) string {
	switch owner := e.OwnerOf(ownership.Metadata{SetID: value}); {
	case owner != nil:
		return "set of bundle deployment " + owner.Key()
	case fleet.IsFleetsOwnSet(value):
		return "set of Fleet itself"
	}
	return "set that no release here has" + e.asFarAsRead()
}

func (e metadataExplainer) release(string) string {
	name := e.have.Release()
	if !e.State.Releases[name] {
		return "Helm release " + name + ", which has no record here" + e.asFarAsRead()
	}
	if d := ofRelease(e.all, e.OnCluster, name); d != nil {
		return "Helm release " + name + ": bundle deployment " + d.Key()
	}
	return "Helm release " + name + ", which is not of a bundle deployment here"
}

// ofRelease returns the bundle deployment with a Helm release on a cluster; nil if there is none.
func ofRelease(all []*desired.BundleDeployment, c desired.OnCluster, release string) *desired.BundleDeployment {
	i := slices.IndexFunc(all, func(d *desired.BundleDeployment) bool {
		return d.IsOn(c.ID) && d.Release.Release() == release
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

// asFarAsRead qualifies statements about absent records if not all records could be read.
func (e metadataExplainer) asFarAsRead() string {
	if e.SetsKnownIn(e.namespace) {
		return ""
	}
	return ", as far as records could be read"
}

func releaseNamespace(string) string { return "the namespace of that release" }

func managedBy(value string) string {
	if value == fleet.ManagedByHelm {
		return "applied by Helm; charts set it themselves, and it names no release"
	}
	return "applied by " + value + ", according to the label"
}

// only explains a label or annotation of which one value has an effect.
func only(effective, effect string) func(string) string {
	return func(value string) string {
		if value == effective {
			return effect
		}
		return "no effect: only the value " + effective + " has one"
	}
}

func setOwner(string) string { return "its set has an owner: a controller applied it, not a bundle" }
