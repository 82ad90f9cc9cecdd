// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// The webhooks, by their paths.
var (
	nobody   = []string(nil)
	stamp    = []string{"stamp"}
	guard    = []string{"guard"}
	exact    = []string{"stamp-exact"}
	guarded  = []string{"guard", "stamp"}
	everyone = []string{"guard", "stamp", "stamp-exact"}
)

func dryRun(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	return c.Create(ctx, obj, client.DryRunAll)
}

func dryDelete(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	return c.Delete(ctx, obj, client.DryRunAll)
}

func foreground(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	return c.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationForeground))
}

func collection(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	return c.DeleteAllOf(ctx, obj, client.InNamespace(obj.GetNamespace()), client.MatchingLabels(obj.GetLabels()))
}

func serverSide(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	obj.SetManagedFields(nil)
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("jane"), client.ForceOwnership)
}

// nulls creates an object whose labels and annotations are there, and null.
func nulls(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	for _, of := range []string{"labels", "annotations"} {
		if err := unstructured.SetNestedField(obj.Object, nil, "metadata", of); err != nil {
			return err
		}
	}
	return c.Create(ctx, obj)
}

func status(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	return c.Status().Update(ctx, obj)
}

func scale(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	body := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": int64(3)}}}
	body.SetName(obj.GetName())
	body.SetNamespace(obj.GetNamespace())
	return c.SubResource("scale").Update(ctx, obj, client.WithSubResourceBody(body))
}

func evict(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	eviction := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "policy/v1", "kind": "Eviction"}}
	eviction.SetName(obj.GetName())
	eviction.SetNamespace(obj.GetNamespace())
	return c.SubResource("eviction").Create(ctx, obj, eviction)
}

// creations are requests for what is not there yet.
var creations = []request{
	{name: "create, no labels and no annotations", new: bare, want: nobody},
	{name: "create, null labels and annotations", new: bare, act: nulls, want: nobody},
	{name: "create, null labels and annotations of a custom resource", kind: "Issuer", new: bare, act: nulls, want: nobody},
	{name: "create, other labels", new: other, want: nobody},
	{name: "create, a pod", kind: "Pod", new: other, want: nobody},
	{name: "create, managed by Helm without a release", new: label(fleet.ManagedByLabel, "Helm"), want: nobody},
	{name: "create, Helm's marks", new: helm, want: stamp},
	{name: "create, Helm's marks, by the agent", user: agent, new: helm, want: stamp},
	{name: "create, Helm's marks, a custom resource", kind: "Issuer", new: helm, want: stamp},
	{name: "create, Helm's marks, cluster-scoped", kind: "ClusterRole", new: helm, want: stamp},
	{name: "create, Helm's marks, a namespace", kind: "Namespace", new: helm, want: stamp},
	{name: "create, Helm's marks, an ignored namespace", kind: "Namespace", new: looks(helm, ignore), want: nobody},
	{name: "create, Helm's marks, an ignored cluster role", kind: "ClusterRole", new: looks(helm, ignore), want: nobody},
	{name: "create, Helm's marks and the id", new: looks(helm, id), want: stamp},
	{name: "create, the hash alone", new: hash, want: stamp},
	{name: "create, the id alone", new: id, want: stamp},
	{name: "create, hash and id", new: looks(hash, id), want: stamp},
	{name: "create, all marks, out of a backup", new: full, want: stamp},
	{name: "create, all marks, by the agent", user: agent, new: full, want: nobody},
	{name: "create, all marks, by an agent elsewhere", user: "system:serviceaccount:my-agents:fleet-agent", new: full, want: nobody},
	{name: "create, all marks, by fleet-default", user: "system:serviceaccount:cattle-fleet-system:fleet-default", new: full, want: nobody},
	{name: "create, all marks, by a service account that ends alike", user: "system:serviceaccount:web:not-fleet-agent", new: full, want: stamp},
	{name: "create, all marks, by a user that ends alike", user: "jane:fleet-agent", new: full, want: stamp},
	{name: "create, all marks, by the release's account", user: "system:serviceaccount:cattle-fleet-system:deployer", new: full, want: stamp},
	{name: "create, Helm's marks, ignored", new: looks(helm, ignore), want: nobody},
	{name: "create, Helm's marks, not quite ignored", new: looks(helm, label("fleetdoctor.io/ignore", "no")), want: stamp},
	{name: "create, Helm's marks, in an ignored namespace", namespace: "ignored", new: helm, want: nobody},
	{name: "create, Helm's marks, in kube-system", namespace: "kube-system", new: helm, want: nobody},
	{name: "create, Helm's marks, in the agent's namespace", namespace: "cattle-fleet-system", new: helm, want: nobody},
	{name: "create, Helm's marks, among registrations", namespace: "cattle-fleet-clusters-system", new: helm, want: nobody},
	{name: "create, Helm's marks, among BundleDeployments", namespace: "cluster-fleet-default-c1", new: helm, want: nobody},
	{name: "create, Helm's marks, in the webhook's namespace", namespace: systemNamespace, new: helm, want: nobody},
	{name: "create, Helm's marks, in Rancher's namespace", namespace: "cattle-system", new: helm, want: stamp},
	{name: "create, Helm's marks, in an unguarded namespace", namespace: "unguarded", new: helm, want: stamp},
	{name: "create, Helm's marks, dry run", new: helm, act: dryRun, want: stamp},
	{name: "create, Helm's marks, server-side", new: helm, act: serverSide, want: stamp},
	{name: "create, a lease", kind: "Lease", new: looks(helm, hash), want: nobody},
	{name: "create, an event", kind: "Event", new: looks(helm, hash), want: nobody},
	{name: "create, a new event", kind: "NewEvent", new: looks(helm, hash), want: nobody},
	{name: "create, a question of rights", kind: "SubjectAccessReview", new: bare, want: nobody}, // it must have no labels
	{name: "create, a question of identity", kind: "TokenReview", new: looks(helm, hash), want: nobody},
}

// updates are requests for what is there.
var updates = []request{
	{name: "update, no labels and no annotations", old: bare, new: field("b", "data", "a"), want: nobody},
	{name: "update, other labels", old: other, new: bare, want: nobody},
	{name: "update, Helm's marks", old: helm, new: looks(helm, other), want: stamp},
	{name: "update, Helm's marks are new", old: bare, new: helm, want: stamp},
	{name: "update, Helm's marks go", old: helm, new: bare, want: nobody},
	{name: "update, all marks are new", old: bare, new: full, want: stamp},
	{name: "update, all marks are new, by the agent", user: agent, old: bare, new: full, want: nobody},
	{name: "update, Fleet's marks join Helm's", old: helm, new: full, want: nobody},
	{name: "update, all marks stay", old: full, new: looks(full, other), want: nobody},
	{name: "update, all marks stay, server-side", old: full, new: looks(full, other), act: serverSide, want: nobody},
	{name: "update, all marks stay, by the agent", user: agent, old: full, new: looks(full, other), want: nobody},
	{name: "update, Helm's marks are missing and stay so", old: looks(hash, id), new: looks(hash, id, other), want: nobody},
	{name: "update, the hash goes", old: full, new: looks(full, unlabel(fleet.HashLabel)), want: guarded},
	{name: "update, the id goes", old: full, new: looks(full, unannotate(fleet.IDAnnotation)), want: guarded},
	{name: "update, all marks go", old: full, new: bare, want: guarded},
	{name: "update, all marks go, other labels stay", old: looks(full, other), new: other, want: guarded},
	{name: "update, all marks go, by the agent", user: agent, old: full, new: bare, want: guarded},
	{name: "update, all marks go, cluster-scoped", kind: "ClusterRole", old: full, new: bare, want: guarded},
	{name: "update, all marks go, a custom resource", kind: "Issuer", old: full, new: bare, want: guarded},
	{name: "update, all marks go, server-side", old: full, new: bare, act: serverSide, want: nobody}, // nothing is taken that jane did not own
	{name: "update, the hash changes", old: full, new: looks(full, label(fleet.HashLabel, "593bcc0742ec790a181ae012e9f57834f021fe92")), want: guarded},
	{name: "update, the hash changes, server-side", old: full, new: looks(full, label(fleet.HashLabel, "593bcc0742ec790a181ae012e9f57834f021fe92")), act: serverSide, want: guarded},
	{name: "update, the id changes", old: full, new: looks(full, annotation(fleet.IDAnnotation, "default-my-bundle")), want: guarded},
	{name: "update, another bundle takes it", user: agent, old: full,
		new: looks(full, label(fleet.HashLabel, "593bcc0742ec790a181ae012e9f57834f021fe92"), annotation(fleet.IDAnnotation, "default-my-bundle")), want: guarded},
	{name: "update, the manager changes", old: full, new: looks(full, label(fleet.ManagedByLabel, "jane")), want: guard},
	{name: "update, the manager goes", old: full, new: looks(full, unlabel(fleet.ManagedByLabel)), want: guard},
	{name: "update, a manager without a value goes", old: looks(hash, id, label(fleet.ManagedByLabel, "")), new: looks(hash, id), want: nobody},
	{name: "update, the release's name changes", old: full, new: looks(full, annotation(fleet.ReleaseNameAnnotation, "mine")), want: guarded},
	{name: "update, the release's namespace goes", old: full, new: looks(full, unannotate(fleet.ReleaseNamespaceAnnotation)), want: guard},
	{name: "update, Helm's marks join Fleet's", old: looks(hash, id), new: full, want: guarded},
	{name: "update, Helm's marks join Fleet's, by the agent", user: agent, old: looks(hash, id), new: full, want: guard},
	{name: "update, the hash alone", old: hash, new: looks(hash, other), want: stamp},
	{name: "update, the id joins the hash", old: hash, new: looks(hash, id), want: guarded},
	{name: "update, the id alone", old: id, new: looks(id, other), want: stamp},
	{name: "update, all marks go, ignored", old: looks(full, ignore), new: ignore, want: nobody},
	{name: "update, all marks go, ignored from now on", old: full, new: ignore, want: guarded},
	{name: "update, all marks go, ignored until now", old: looks(full, ignore), new: bare, want: guarded},
	{name: "update, all marks go, in an ignored namespace", namespace: "ignored", old: full, new: bare, want: nobody},
	{name: "update, all marks go, in kube-system", namespace: "kube-system", old: full, new: bare, want: nobody},
	{name: "update, all marks go, among BundleDeployments", namespace: "cluster-fleet-default-c1", old: full, new: bare, want: nobody},
	{name: "update, all marks go, in an unguarded namespace", namespace: "unguarded", old: full, new: bare, want: stamp},
	{name: "update, all marks go, in a denied namespace", namespace: "denied", old: full, new: bare, want: guarded},
	{name: "update, all marks go, a namespace", kind: "Namespace", old: full, new: bare, want: guarded},
	{name: "update, all marks go, an unguarded namespace", kind: "Namespace", old: looks(full, label("fleetdoctor.io/guard", "off")),
		new: label("fleetdoctor.io/guard", "off"), want: stamp},
	// Of a Namespace the new labels count for the selector: these cannot be kept from whoever may write them.
	{name: "update, all marks go, a namespace unguarded from now on", kind: "Namespace", old: full, new: label("fleetdoctor.io/guard", "off"), want: stamp},
	{name: "update, all marks go, a namespace ignored from now on", kind: "Namespace", old: full, new: ignore, want: nobody},
	{name: "update, all marks go, of what is being deleted", old: looks(full, pinned), dying: true, new: bare, want: nobody},
	{name: "update, Helm's marks on what is being deleted", old: looks(helm, pinned), dying: true, new: looks(helm, other), want: nobody},
	{name: "update, a lease", kind: "Lease", old: full, new: bare, want: nobody},
	{name: "update, an event", kind: "Event", old: full, new: bare, want: nobody},
	{name: "update, a status", kind: "Deployment", old: helm, new: helm, act: status, want: nobody},
	{name: "update, a status of a marked one", kind: "Deployment", old: full, new: bare, act: status, want: nobody},
	{name: "update, a scale", kind: "Deployment", old: helm, new: helm, act: scale, want: nobody},
	{name: "update, a deployment", kind: "Deployment", old: helm, new: looks(helm, other), want: stamp},
}

// deletions are requests for what has to go.
var deletions = []request{
	{name: "delete, no labels and no annotations", old: bare, want: nobody},
	{name: "delete, Helm's marks", old: helm, want: nobody},
	{name: "delete, all marks", old: full, want: guard},
	{name: "delete, the hash alone", old: hash, want: guard},
	{name: "delete, all marks, by the agent", user: agent, old: full, want: guard},
	{name: "delete, all marks, with its owner", user: collector, old: full, want: nobody},
	{name: "delete, all marks, with its namespace", user: nsManager, old: full, act: collection, want: nobody},
	{name: "delete, all marks, by the controller manager", user: kubeManager, old: full, want: nobody},
	{name: "delete, all marks, by an account named alike", user: "system:serviceaccount:web:generic-garbage-collector", old: full, want: guard},
	{name: "delete, all marks, in the foreground", old: full, act: foreground, want: guard},
	{name: "delete, all marks, among others", old: full, act: collection, want: guard},
	{name: "delete, all marks, dry run", old: full, act: dryDelete, want: guard},
	{name: "delete, all marks, once more", old: looks(full, pinned), dying: true, want: nobody},
	{name: "delete, all marks, ignored", old: looks(full, ignore), want: nobody},
	{name: "delete, all marks, cluster-scoped", kind: "ClusterRole", old: full, want: guard},
	{name: "delete, all marks, cluster-scoped and ignored", kind: "ClusterRole", old: looks(full, ignore), want: nobody},
	{name: "delete, all marks, a custom resource", kind: "Issuer", old: full, want: guard},
	{name: "delete, all marks, a namespace", kind: "Namespace", old: full, want: guard},
	{name: "delete, all marks, a lease", kind: "Lease", old: full, want: nobody},
	{name: "delete, all marks, an event", kind: "Event", old: full, want: nobody},
	{name: "delete, all marks, in kube-system", namespace: "kube-system", old: full, want: nobody},
	{name: "delete, all marks, in the webhook's namespace", namespace: systemNamespace, old: full, want: nobody},
	{name: "delete, all marks, in an ignored namespace", namespace: "ignored", old: full, want: nobody},
	{name: "delete, all marks, in an unguarded namespace", namespace: "unguarded", old: full, want: nobody},
	{name: "delete, all marks, by eviction", kind: "Pod", old: full, act: evict, want: nobody},
}

// exactRequests are requests in a namespace that asks for exactness, and beside it.
var exactRequests = []request{
	{name: "exact, create", namespace: "exact", new: bare, want: exact},
	{name: "exact, create, other labels", namespace: "exact", new: other, want: exact},
	{name: "exact, create, by the agent", namespace: "exact", user: agent, new: bare, want: exact},
	{name: "exact, create, a custom resource", namespace: "exact", kind: "Issuer", new: bare, want: exact},
	{name: "exact, create, a secret", namespace: "exact", kind: "Secret", new: bare, want: exact},
	{name: "exact, create, a release record", namespace: "exact", kind: "Secret", new: record, want: nobody},
	{name: "exact, create, a pod", namespace: "exact", kind: "Pod", new: bare, want: exact},
	{name: "exact, create, a pod of a controller", namespace: "exact", kind: "Pod", new: child, want: nobody},
	{name: "exact, create, Helm's marks", namespace: "exact", new: helm, want: stamp},
	{name: "exact, create, the id alone", namespace: "exact", new: id, want: stamp},
	{name: "exact, create, all marks", namespace: "exact", new: full, want: stamp},
	{name: "exact, create, all marks, by the agent", namespace: "exact", user: agent, new: full, want: nobody},
	{name: "exact, create, ignored", namespace: "exact", new: ignore, want: nobody},
	{name: "exact, create, in an ignored namespace", namespace: "ignored", new: bare, want: nobody},
	{name: "exact, create, in the agent's namespace", namespace: "cattle-fleet-system", new: bare, want: nobody},
	{name: "exact, create, in the webhook's namespace", namespace: systemNamespace, new: bare, want: nobody},
	{name: "exact, create, a lease", namespace: "exact", kind: "Lease", new: bare, want: nobody},
	{name: "exact, create, an event", namespace: "exact", kind: "Event", new: bare, want: nobody},
	{name: "exact, create, a question of rights", namespace: "exact", kind: "LocalSubjectAccessReview", new: bare, want: nobody},
	{name: "exact, create, a namespace", kind: "Namespace", new: label("fleetdoctor.io/adopt", "exact"), want: nobody},
	{name: "exact, create, cluster-scoped", kind: "ClusterRole", new: label("fleetdoctor.io/adopt", "exact"), want: nobody},
	{name: "exact, update", namespace: "exact", old: bare, new: other, want: exact},
	{name: "exact, create, among BundleDeployments", namespace: "cluster-fleet-default-c1", new: bare, want: nobody},
	{name: "exact, update, all marks stay", namespace: "exact", old: full, new: looks(full, other), want: nobody},
	// What stamp restores does not come to stamp-exact: it sees the object as stamp left it. The witness leaves everything as it is.
	{name: "exact, update, all marks go", namespace: "exact", old: full, new: bare, want: everyone},
	{name: "exact, update, of what is being deleted", namespace: "exact", old: pinned, dying: true, new: other, want: nobody},
	{name: "exact, update, a status", namespace: "exact", kind: "Deployment", old: bare, new: bare, act: status, want: nobody},
	{name: "exact, delete", namespace: "exact", old: bare, want: nobody},
	{name: "exact, delete, all marks", namespace: "exact", old: full, want: guard},
}
