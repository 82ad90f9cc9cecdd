// SPDX-License-Identifier: Apache-2.0

package state

import (
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
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
	out.Behind = bundle != nil && bundle.Status.ObservedGeneration > 0 && behind(bundle)
	if out.Current && bd.Spec.DeploymentID == bd.Status.AppliedDeploymentID {
		if c := v1alpha1.ConditionOf(bd.Status.Conditions, "Deployed"); c.Status == "True" {
			out.Used, _ = time.Parse(time.RFC3339, c.LastUpdateTime) // zero with an error
		}
	}
	return out
}

// behind reports whether the controller has only processed an earlier generation of a Bundle, and not with an error.
// With one, the observed generation stays, for example because a values Secret has another hash
// (docs/fleet-behavior.md, 6.3).
func behind(b *v1alpha1.Bundle) bool {
	c := v1alpha1.ConditionOf(b.Status.Conditions, "Ready")
	refused := c.Status == "False" && c.Reason == "Error"
	return b.Status.ObservedGeneration < b.Generation && !refused
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

// Deleting is one of Fleet's objects that is being deleted.
type Deleting struct {
	Kind, Namespace, Name string
	Since                 time.Time
	Finalizers            []string
	// Shard names the controllers that process the object; empty for those without a shard.
	Shard string
}

// sharded returns the Deployment of a controller for a shard; without a shard, that for objects without one.
func sharded(name, shard string) string {
	if shard == "" {
		return name
	}
	return name + "-shard-" + shard
}

// RemoverOf returns the Deployment in Fleet's system namespace that removes a finalizer of an object; empty if it is
// not one of Fleet.
func (d *Deleting) RemoverOf(finalizer string) string {
	switch finalizer {
	case "fleet.cattle.io/gitrepo-finalizer":
		return sharded(fleet.GitJobName, d.Shard)
	case "fleet.cattle.io/helmop-finalizer":
		return sharded(fleet.HelmOpsName, d.Shard)
	case "fleet.cattle.io/bundle-finalizer", "fleet.cattle.io/bundle-deployment-finalizer",
		"fleet.cattle.io/cluster-finalizer":
		return sharded(fleet.ControllerName, d.Shard)
	}
	if d.Kind == Content { // up to 0.14.0, it has one for each BundleDeployment
		return sharded(fleet.ControllerName, d.Shard)
	}
	return ""
}

// The names of the kinds.
const (
	BundleDeployment = "BundleDeployment"
	Bundle           = "Bundle"
	GitRepo          = "GitRepo"
	HelmOp           = "HelmOp"
	ClusterKind      = "Cluster"
	ClusterGroup     = "ClusterGroup"
)

// The names of two kinds on which only the targets of bundles depend. They are not in Kinds: the report has no row for
// them.
const (
	BundleNamespaceMapping = targeting.KindMapping
	Namespace              = targeting.KindNamespace
)

// The names of kinds that only findings need. They are not in Kinds: no bundle deployment belongs to them.
const (
	Schedule            = "Schedule"
	ImageScan           = "ImageScan"
	ClusterRegistration = "ClusterRegistration"
)

// Content is the kind of the objects with the manifests of bundles. They are not in Kinds: only their names are read.
const Content = "Content"

// Contents is what is known of the objects with the manifests of bundles.
type Contents struct {
	// Missing are the names of those that BundleDeployments need and that do not exist. It is empty if not all could be
	// read.
	Missing map[string]bool
	// Deleting are those that are being deleted.
	Deleting []Deleting
	Coverage source.Coverage
}

// contentName is the form of the name of every Content (docs/fleet-behavior.md, 2.1).
var contentName = regexp.MustCompile(`^s-[0-9a-f]{61}$`)

// ContentID returns the name of the Content that a BundleDeployment needs; empty if it needs none: its contents are in
// an OCI registry, the agent downloads a chart, or it is being deleted. Source: docs/fleet-behavior.md, 2.2 and 2.3.
func ContentID(bd *v1alpha1.BundleDeployment) string {
	if bd.Spec.OCIContents || len(bd.Spec.HelmChartOptions) > 0 || bd.DeletionTimestamp != nil {
		return ""
	}
	id, _, ok := strings.Cut(bd.Spec.DeploymentID, ":")
	if !ok || !contentName.MatchString(id) {
		return ""
	}
	return id
}
