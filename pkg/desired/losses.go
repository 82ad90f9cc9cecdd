// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Losses are what the uninstall of a release deletes and keeps (docs/fleet-behavior.md, 1.11).
type Losses struct {
	// Deletes are the objects of the manifest that Helm deletes by their names, in the order of the manifest.
	Deletes []object.Ref
	// Kept are those that Helm leaves.
	Kept []KeptObject
	// CustomKinds are the kinds that the deleted CustomResourceDefinitions define, by the name of the definition.
	CustomKinds map[string]schema.GroupKind
	// StatefulSets are the deleted StatefulSets with volumeClaimTemplates.
	StatefulSets []StatefulSet
	// Shared are those of the deleted objects that other releases still desire.
	Shared []*Object
}

// KeptObject is an object that Helm leaves.
type KeptObject struct {
	object.Ref
	Reason KeepReason
}

// KeepReason is the reason why an object stays.
type KeepReason string

// The reasons.
const (
	KeptByPolicy KeepReason = "ResourcePolicy" // helm.sh/resource-policy is in the manifest
	KeptAsHook   KeepReason = "Hook"           // helm.sh/hook is in the manifest
	KeptByOption KeepReason = "KeepResources"  // nothing of the release is deleted
)

// StatefulSet is a StatefulSet with the names of its volumeClaimTemplates.
type StatefulSet struct {
	Namespace, Name string
	Templates       []string
	// DeletesClaims is true if the claims are deleted with it.
	DeletesClaims bool
}

// CRDKind is the kind of CustomResourceDefinitions.
const CRDKind = "CustomResourceDefinition"

// losses finds what the uninstall of the release of a record deletes. Helm deletes by name: it also deletes an object
// that another release has taken over.
func losses(c *directory.Cluster, rec *state.Record) Losses {
	deleted := map[object.Key]bool{}
	for _, o := range rec.Objects { // one of several objects with the same name is enough
		if one := newObject(o, rec.Namespace, c.State.Namespaced); keepReason(one) == "" {
			deleted[one.Key()] = true
		}
	}
	var out Losses
	for _, o := range objectsOf(c, rec) {
		if reason := keepReason(o); reason != "" && !deleted[o.Key()] {
			out.Kept = append(out.Kept, KeptObject{o.Ref, reason})
			continue
		}
		out.Deletes = append(out.Deletes, o.Ref)
		if gk, ok := definedKind(o); ok {
			if out.CustomKinds == nil {
				out.CustomKinds = map[string]schema.GroupKind{}
			}
			out.CustomKinds[o.Name] = gk
		}
		if s, ok := claimTemplates(o); ok {
			out.StatefulSets = append(out.StatefulSets, s)
		}
	}
	return out
}

// spares returns the losses of a release of which everything is kept.
func spares(c *directory.Cluster, rec *state.Record) (out Losses) {
	for _, o := range objectsOf(c, rec) {
		out.Kept = append(out.Kept, KeptObject{o.Ref, KeptByOption})
	}
	return out
}

// keepReason returns the reason why an uninstall leaves an object; empty if it deletes the object.
func keepReason(o *Object) KeepReason {
	m, err := object.ReadMeta(o.Raw)
	if err != nil {
		return ""
	}
	if _, hook := m.Metadata.Annotations[fleet.HookAnnotation]; hook {
		return KeptAsHook
	}
	if _, policy := m.Metadata.Annotations[fleet.ResourcePolicyAnnotation]; policy {
		return KeptByPolicy
	}
	return ""
}

// definedKind returns the kind that a CustomResourceDefinition defines.
func definedKind(o *Object) (schema.GroupKind, bool) {
	var crd struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
		} `json:"spec"`
	}
	if o.Kind != CRDKind || object.Into(o.Raw, &crd) != nil || crd.Spec.Names.Kind == "" {
		return schema.GroupKind{}, false
	}
	return schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}, true
}

// claimTemplates returns the volumeClaimTemplates of a StatefulSet that has some.
func claimTemplates(o *Object) (StatefulSet, bool) {
	var set struct {
		Spec struct {
			VolumeClaimTemplates []struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			} `json:"volumeClaimTemplates"`
			Retention struct {
				WhenDeleted string `json:"whenDeleted"`
			} `json:"persistentVolumeClaimRetentionPolicy"`
		} `json:"spec"`
	}
	isSet := o.Kind == "StatefulSet" && object.Group(o.APIVersion) == "apps"
	if !isSet || object.Into(o.Raw, &set) != nil || len(set.Spec.VolumeClaimTemplates) == 0 {
		return StatefulSet{}, false
	}
	out := StatefulSet{Namespace: o.Namespace, Name: o.Name, DeletesClaims: set.Spec.Retention.WhenDeleted == "Delete"}
	for _, t := range set.Spec.VolumeClaimTemplates {
		out.Templates = append(out.Templates, t.Metadata.Name)
	}
	return out, true
}

// objectsOf returns the distinct objects of a record.
func objectsOf(c *directory.Cluster, rec *state.Record) []*Object {
	out, _ := new(BundleDeployment).distinct(rec.Namespace, rec.Objects, c.State.Namespaced)
	return out
}
