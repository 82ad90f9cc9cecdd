// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// ValuesKey identifies a values Secret: the type that it should have, its namespace and its name.
type ValuesKey struct{ Type, Namespace, Name string }

// Values has what is known of the values Secrets of a management cluster. It has no value.
type Values struct {
	// Secrets are those that exist. A Secret of another type is here only if it has the name of one that is needed.
	Secrets map[ValuesKey]*values.Secret
	// Captured is true if they are from a capture.
	Captured bool
	// Coverage reports, by type, which of them were read.
	Coverage map[string]source.Coverage
}

// DeploymentKey and BundleKey identify the values Secret of a BundleDeployment or Bundle.
func DeploymentKey(bd *v1alpha1.BundleDeployment) ValuesKey {
	return ValuesKey{values.DeploymentType, bd.Namespace, bd.Name}
}

// BundleKey identifies the values Secret of a Bundle.
func BundleKey(b *v1alpha1.Bundle) ValuesKey {
	return ValuesKey{values.BundleType, b.Namespace, b.Name}
}

// Of returns the Secret of a key that has the right type; nil if it does not exist, or if the Secrets were not read.
func (v *Values) Of(k ValuesKey) *values.Secret {
	if v == nil || v.Secrets[k] == nil || v.Secrets[k].Type != k.Type {
		return nil
	}
	return v.Secrets[k]
}

// Facts returns the facts of a values Secret with its owner.
func (v *Values) Facts(k ValuesKey, owner values.Owner) values.Facts {
	if v == nil {
		return values.Facts{Type: k.Type, Owner: owner}
	}
	s := v.Secrets[k]
	_, read := v.Coverage[k.Type].Of(k.Namespace)
	return values.Facts{Type: k.Type, Owner: owner, Secret: s, Read: read || s != nil, Captured: v.Captured}
}

// DeploymentOwner returns what a BundleDeployment states about its values Secret. bundle is nil if it is not known.
func DeploymentOwner(bd *v1alpha1.BundleDeployment, bundle *v1alpha1.Bundle) values.Owner {
	out := ownerOf(BundleDeployment, bd, bd.ManagedFields)
	out.Hash, out.Waiting = bd.Spec.ValuesHash, bd.Spec.WaitingForValues
	out.Current = bd.Spec.DeploymentID != "" && bd.Spec.DeploymentID == bd.Spec.StagedDeploymentID
	out.Behind = bundle != nil && behind(bundle) && !refused(bundle)
	if out.Current && bd.Spec.DeploymentID == bd.Status.AppliedDeploymentID {
		for _, c := range bd.Status.Conditions {
			if c.Type == "Deployed" && c.Status == "True" {
				out.Used = parseTime(c.LastUpdateTime)
			}
		}
	}
	return out
}

// behind reports whether the controller has processed an earlier generation of a Bundle.
func behind(b *v1alpha1.Bundle) bool {
	return b.Status.ObservedGeneration > 0 && b.Status.ObservedGeneration < b.Generation
}

// refused reports whether the controller has processed a Bundle with an error. The observed generation then stays, for
// example because a values Secret has another hash (docs/fleet-behavior.md, 6.3).
func refused(b *v1alpha1.Bundle) bool {
	return slices.ContainsFunc(b.Status.Conditions, func(c v1alpha1.Condition) bool {
		return c.Type == "Ready" && c.Status == "False" && c.Reason == "Error"
	})
}

// BundleOwner returns what a Bundle states about its values Secret.
func BundleOwner(b *v1alpha1.Bundle) values.Owner {
	out := ownerOf(Bundle, b, b.ManagedFields)
	out.Hash = b.Spec.ValuesHash
	if b.Generation > 0 && b.Status.ObservedGeneration == b.Generation {
		for _, m := range b.ManagedFields {
			if m.Subresource == "status" && m.Time != nil && m.Time.After(out.Used) {
				out.Used = m.Time.Time
			}
		}
	}
	return out
}

func ownerOf(kind string, o metav1.Object, managed []metav1.ManagedFieldsEntry) values.Owner {
	out := values.Owner{Kind: kind, UID: string(o.GetUID()), Deleting: o.GetDeletionTimestamp() != nil,
		Changed: LastChange(managed)}
	if out.Changed.IsZero() && o.GetGeneration() == 1 {
		out.Changed = o.GetCreationTimestamp().Time // its spec has never changed
	}
	return out
}

// LastChange returns the time of the last change of an object without its status; zero if it is not recorded.
func LastChange(managed []metav1.ManagedFieldsEntry) time.Time {
	var last time.Time
	for _, m := range managed {
		if m.Subresource != "status" && m.Time != nil && m.Time.After(last) {
			last = m.Time.Time
		}
	}
	return last
}

// fleetManager is the beginning of the names of Fleet's field managers: fleetcontroller, fleetcli, fleetagent.
const fleetManager = "fleet"

// LastEditor returns the field manager that changed the data of a Secret last, and when. It is empty if that was Fleet,
// or is not recorded.
func LastEditor(managed []metav1.ManagedFieldsEntry) (string, time.Time) {
	var last metav1.ManagedFieldsEntry
	for _, m := range managed {
		if m.Time == nil || m.FieldsV1 == nil || !strings.Contains(m.FieldsV1.GetRawString(), `"f:data"`) {
			continue
		}
		fleets := m.Time.Equal(last.Time) && strings.HasPrefix(m.Manager, fleetManager)
		if last.Time == nil || m.Time.After(last.Time.Time) || fleets {
			last = m
		}
	}
	if last.Time == nil || strings.HasPrefix(last.Manager, fleetManager) {
		return "", time.Time{}
	}
	return last.Manager, last.Time.Time
}

func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
