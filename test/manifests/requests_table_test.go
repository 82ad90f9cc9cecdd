// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// Webhooks by their paths.
var (
	noWebhook     = []string(nil)
	stamp         = []string{"stamp"}
	guard         = []string{"guard"}
	exact         = []string{"stamp-exact"}
	guardAndStamp = []string{"guard", "stamp"}
	allWebhooks   = []string{"guard", "stamp", "stamp-exact"}
)

// ownObject has the label of the webhook's own objects.
func ownObject(obj *unstructured.Unstructured) { label(install.NameLabel, installation.Name)(obj) }

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
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("jane"),
		client.ForceOwnership)
}

// nulls creates an object with null labels and null annotations.
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
	body := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale",
		"spec": map[string]any{"replicas": int64(3)}}}
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

// creations are requests that create an object.
var creations = []request{
	{name: "create, no labels and no annotations", new: bare, want: noWebhook},
	{name: "create, null labels and annotations", new: bare, act: nulls, want: noWebhook},
	{name: "create, null labels and annotations of a custom resource", kind: "Issuer", new: bare, act: nulls,
		want: noWebhook},
	{name: "create, other labels", new: other, want: noWebhook},
	{name: "create, a pod", kind: "Pod", new: other, want: noWebhook},
	{name: "create, managed by Helm without a release", new: label(fleet.ManagedByLabel, "Helm"), want: noWebhook},
	{name: "create, Helm's metadata", new: helm, want: stamp},
	{name: "create, Helm's metadata, by the agent", user: agent, new: helm, want: stamp},
	{name: "create, Helm's metadata, a custom resource", kind: "Issuer", new: helm, want: stamp},
	{name: "create, Helm's metadata, cluster-scoped", kind: "ClusterRole", new: helm, want: stamp},
	{name: "create, Helm's metadata, a namespace", kind: "Namespace", new: helm, want: stamp},
	{name: "create, Helm's metadata, an ignored namespace", kind: "Namespace", new: with(helm, ignore),
		want: noWebhook},
	{name: "create, Helm's metadata, an ignored cluster role", kind: "ClusterRole", new: with(helm, ignore),
		want: noWebhook},
	{name: "create, Helm's metadata, a cluster role of the webhook", kind: "ClusterRole", new: with(helm, ownObject),
		want: noWebhook},
	{name: "create, Helm's metadata and the id", new: with(helm, id), want: stamp},
	{name: "create, the hash only", new: hash, want: stamp},
	{name: "create, the id only", new: id, want: stamp},
	{name: "create, hash and id", new: with(hash, id), want: stamp},
	{name: "create, all metadata, from a backup", new: full, want: stamp},
	{name: "create, all metadata, by the agent", user: agent, new: full, want: noWebhook},
	{name: "create, all metadata, by an agent elsewhere", user: "system:serviceaccount:my-agents:fleet-agent",
		new: full, want: noWebhook},
	{name: "create, all metadata, by fleet-default", user: "system:serviceaccount:cattle-fleet-system:fleet-default",
		new: full, want: noWebhook},
	{name: "create, all metadata, by a service account with the same suffix",
		user: "system:serviceaccount:web:not-fleet-agent", new: full, want: stamp},
	{name: "create, all metadata, by a user with the same suffix", user: "jane:fleet-agent", new: full, want: stamp},
	{name: "create, all metadata, by the release's account", user: "system:serviceaccount:cattle-fleet-system:deployer",
		new: full, want: stamp},
	{name: "create, Helm's metadata, ignored", new: with(helm, ignore), want: noWebhook},
	{name: "create, Helm's metadata, with another value of ignore",
		new: with(helm, label("fleetdoctor.io/ignore", "no")), want: stamp},
	{name: "create, Helm's metadata, in an ignored namespace", namespace: "ignored", new: helm, want: noWebhook},
	{name: "create, Helm's metadata, in kube-system", namespace: "kube-system", new: helm, want: noWebhook},
	{name: "create, Helm's metadata, in the agent's namespace", namespace: "cattle-fleet-system", new: helm,
		want: noWebhook},
	{name: "create, Helm's metadata, in the namespace of registrations", namespace: "cattle-fleet-clusters-system",
		new: helm, want: noWebhook},
	{name: "create, Helm's metadata, in the namespace of BundleDeployments", namespace: "cluster-fleet-default-c1",
		new: helm, want: noWebhook},
	{name: "create, Helm's metadata, in the webhook's namespace", namespace: systemNamespace, new: helm,
		want: noWebhook},
	{name: "create, Helm's metadata, in Rancher's namespace", namespace: "cattle-system", new: helm, want: stamp},
	{name: "create, Helm's metadata, in an unguarded namespace", namespace: "unguarded", new: helm, want: stamp},
	{name: "create, Helm's metadata, dry run", new: helm, act: dryRun, want: stamp},
	{name: "create, Helm's metadata, server-side", new: helm, act: serverSide, want: stamp},
	{name: "create, a lease", kind: "Lease", new: with(helm, hash), want: noWebhook},
	{name: "create, an event", kind: "Event", new: with(helm, hash), want: noWebhook},
	{name: "create, a new event", kind: "NewEvent", new: with(helm, hash), want: noWebhook},
	// reviews have no labels
	{name: "create, an access review", kind: "SubjectAccessReview", new: bare, want: noWebhook},
	{name: "create, a token review", kind: "TokenReview", new: with(helm, hash), want: noWebhook},
}

// updates are requests that change an object.
var updates = []request{
	{name: "update, no labels and no annotations", old: bare, new: field("b", "data", "a"), want: noWebhook},
	{name: "update, other labels", old: other, new: bare, want: noWebhook},
	{name: "update, Helm's metadata", old: helm, new: with(helm, other), want: stamp},
	{name: "update, Helm's metadata is new", old: bare, new: helm, want: stamp},
	{name: "update, Helm's metadata is removed", old: helm, new: bare, want: noWebhook},
	{name: "update, all metadata is new", old: bare, new: full, want: stamp},
	{name: "update, all metadata is new, by the agent", user: agent, old: bare, new: full, want: noWebhook},
	{name: "update, Fleet's metadata is added to Helm's", old: helm, new: full, want: noWebhook},
	{name: "update, all metadata stays", old: full, new: with(full, other), want: noWebhook},
	{name: "update, all metadata stays, server-side", old: full, new: with(full, other), act: serverSide,
		want: noWebhook},
	{name: "update, all metadata stays, by the agent", user: agent, old: full, new: with(full, other), want: noWebhook},
	{name: "update, Helm's metadata is missing and stays missing", old: with(hash, id), new: with(hash, id, other),
		want: noWebhook},
	{name: "update, the hash is removed", old: full, new: with(full, unlabel(fleet.HashLabel)), want: guardAndStamp},
	{name: "update, the id is removed", old: full, new: with(full, unannotate(fleet.IDAnnotation)),
		want: guardAndStamp},
	{name: "update, all metadata is removed", old: full, new: bare, want: guardAndStamp},
	{name: "update, all metadata is removed, other labels stay", old: with(full, other), new: other,
		want: guardAndStamp},
	{name: "update, all metadata is removed, by the agent", user: agent, old: full, new: bare, want: guardAndStamp},
	{name: "update, all metadata is removed, cluster-scoped", kind: "ClusterRole", old: full, new: bare,
		want: guardAndStamp},
	{name: "update, all metadata is removed, a custom resource", kind: "Issuer", old: full, new: bare,
		want: guardAndStamp},
	// jane manages none of these fields
	{name: "update, all metadata is removed, server-side", old: full, new: bare, act: serverSide, want: noWebhook},
	{name: "update, the hash changes", old: full,
		new: with(full, label(fleet.HashLabel, "593bcc0742ec790a181ae012e9f57834f021fe92")), want: guardAndStamp},
	{name: "update, the hash changes, server-side", old: full,
		new: with(full, label(fleet.HashLabel, "593bcc0742ec790a181ae012e9f57834f021fe92")), act: serverSide,
		want: guardAndStamp},
	{name: "update, the id changes", old: full, new: with(full, annotation(fleet.IDAnnotation, "default-my-bundle")),
		want: guardAndStamp},
	{name: "update, another bundle takes over", user: agent, old: full,
		new: with(full, label(fleet.HashLabel, "593bcc0742ec790a181ae012e9f57834f021fe92"),
			annotation(fleet.IDAnnotation, "default-my-bundle")), want: guardAndStamp},
	{name: "update, the manager changes", old: full, new: with(full, label(fleet.ManagedByLabel, "jane")), want: guard},
	{name: "update, the manager is removed", old: full, new: with(full, unlabel(fleet.ManagedByLabel)), want: guard},
	{name: "update, an empty manager is removed", old: with(hash, id, label(fleet.ManagedByLabel, "")),
		new: with(hash, id), want: noWebhook},
	{name: "update, the release's name changes", old: full,
		new: with(full, annotation(fleet.ReleaseNameAnnotation, "mine")), want: guardAndStamp},
	{name: "update, the release's namespace is removed", old: full,
		new: with(full, unannotate(fleet.ReleaseNamespaceAnnotation)), want: guard},
	{name: "update, Helm's metadata is added to Fleet's", old: with(hash, id), new: full, want: guardAndStamp},
	{name: "update, Helm's metadata is added to Fleet's, by the agent", user: agent, old: with(hash, id), new: full,
		want: guard},
	{name: "update, the hash only", old: hash, new: with(hash, other), want: stamp},
	{name: "update, the id is added to the hash", old: hash, new: with(hash, id), want: guardAndStamp},
	{name: "update, the id only", old: id, new: with(id, other), want: stamp},
	{name: "update, all metadata is removed, a cluster role of the webhook", kind: "ClusterRole",
		old: with(full, ownObject), new: ownObject,
		want: noWebhook},
	{name: "update, all metadata is removed, ignored", old: with(full, ignore), new: ignore, want: noWebhook},
	{name: "update, all metadata is removed, ignored from now on", old: full, new: ignore, want: guardAndStamp},
	{name: "update, all metadata is removed, ignored until now", old: with(full, ignore), new: bare,
		want: guardAndStamp},
	{name: "update, all metadata is removed, in an ignored namespace", namespace: "ignored", old: full, new: bare,
		want: noWebhook},
	{name: "update, all metadata is removed, in kube-system", namespace: "kube-system", old: full, new: bare,
		want: noWebhook},
	{name: "update, all metadata is removed, in the namespace of BundleDeployments",
		namespace: "cluster-fleet-default-c1", old: full, new: bare, want: noWebhook},
	{name: "update, all metadata is removed, in an unguarded namespace", namespace: "unguarded", old: full, new: bare,
		want: stamp},
	{name: "update, all metadata is removed, in a denied namespace", namespace: "denied", old: full, new: bare,
		want: guardAndStamp},
	{name: "update, all metadata is removed, a namespace", kind: "Namespace", old: full, new: bare,
		want: guardAndStamp},
	{name: "update, all metadata is removed, an unguarded namespace", kind: "Namespace",
		old: with(full, label("fleetdoctor.io/guard", "off")),
		new: label("fleetdoctor.io/guard", "off"), want: stamp},
	// For a Namespace, the selector uses the new labels: a user who may write them can always exclude it.
	{name: "update, all metadata is removed, a namespace unguarded from now on", kind: "Namespace", old: full,
		new: label("fleetdoctor.io/guard", "off"), want: stamp},
	{name: "update, all metadata is removed, a namespace ignored from now on", kind: "Namespace", old: full,
		new: ignore, want: noWebhook},
	{name: "update, all metadata is removed, of an object that is being deleted", old: with(full, pinned),
		deleting: true, new: bare, want: noWebhook},
	{name: "update, Helm's metadata on an object that is being deleted", old: with(helm, pinned), deleting: true,
		new: with(helm, other), want: noWebhook},
	{name: "update, a lease", kind: "Lease", old: full, new: bare, want: noWebhook},
	{name: "update, an event", kind: "Event", old: full, new: bare, want: noWebhook},
	{name: "update, a status", kind: "Deployment", old: helm, new: helm, act: status, want: noWebhook},
	{name: "update, a status of an object with metadata", kind: "Deployment", old: full, new: bare, act: status,
		want: noWebhook},
	{name: "update, a scale", kind: "Deployment", old: helm, new: helm, act: scale, want: noWebhook},
	{name: "update, a deployment", kind: "Deployment", old: helm, new: with(helm, other), want: stamp},
}

// deletions are requests that delete an object.
var deletions = []request{
	{name: "delete, no labels and no annotations", old: bare, want: noWebhook},
	{name: "delete, Helm's metadata", old: helm, want: noWebhook},
	{name: "delete, all metadata", old: full, want: guard},
	{name: "delete, the hash only", old: hash, want: guard},
	{name: "delete, all metadata, by the agent", user: agent, old: full, want: guard},
	{name: "delete, all metadata, with its owner", user: collector, old: full, want: noWebhook},
	{name: "delete, all metadata, with its namespace", user: nsManager, old: full, act: collection, want: noWebhook},
	{name: "delete, all metadata, by the controller manager", user: kubeManager, old: full, want: noWebhook},
	{name: "delete, all metadata, by an account with the same name",
		user: "system:serviceaccount:web:generic-garbage-collector", old: full, want: guard},
	{name: "delete, all metadata, in the foreground", old: full, act: foreground, want: guard},
	{name: "delete, all metadata, in a collection", old: full, act: collection, want: guard},
	{name: "delete, all metadata, dry run", old: full, act: dryDelete, want: guard},
	{name: "delete, all metadata, again", old: with(full, pinned), deleting: true, want: noWebhook},
	{name: "delete, all metadata, ignored", old: with(full, ignore), want: noWebhook},
	{name: "delete, all metadata, cluster-scoped", kind: "ClusterRole", old: full, want: guard},
	{name: "delete, all metadata, cluster-scoped and ignored", kind: "ClusterRole", old: with(full, ignore),
		want: noWebhook},
	{name: "delete, all metadata, a custom resource", kind: "Issuer", old: full, want: guard},
	{name: "delete, all metadata, a namespace", kind: "Namespace", old: full, want: guard},
	{name: "delete, all metadata, a lease", kind: "Lease", old: full, want: noWebhook},
	{name: "delete, all metadata, an event", kind: "Event", old: full, want: noWebhook},
	{name: "delete, all metadata, in kube-system", namespace: "kube-system", old: full, want: noWebhook},
	{name: "delete, all metadata, in the webhook's namespace", namespace: systemNamespace, old: full, want: noWebhook},
	{name: "delete, all metadata, in an ignored namespace", namespace: "ignored", old: full, want: noWebhook},
	{name: "delete, all metadata, in an unguarded namespace", namespace: "unguarded", old: full, want: noWebhook},
	{name: "delete, all metadata, by eviction", kind: "Pod", old: full, act: evict, want: noWebhook},
}

// exactRequests are requests in a namespace with the label fleetdoctor.io/adopt=exact, and in others.
var exactRequests = []request{
	{name: "exact, create", namespace: "exact", new: bare, want: exact},
	{name: "exact, create, other labels", namespace: "exact", new: other, want: exact},
	{name: "exact, create, by the agent", namespace: "exact", user: agent, new: bare, want: exact},
	{name: "exact, create, a custom resource", namespace: "exact", kind: "Issuer", new: bare, want: exact},
	{name: "exact, create, a secret", namespace: "exact", kind: "Secret", new: bare, want: exact},
	{name: "exact, create, a release record", namespace: "exact", kind: "Secret", new: record, want: noWebhook},
	{name: "exact, create, a pod", namespace: "exact", kind: "Pod", new: bare, want: exact},
	{name: "exact, create, a pod of a controller", namespace: "exact", kind: "Pod", new: child, want: noWebhook},
	{name: "exact, create, Helm's metadata", namespace: "exact", new: helm, want: stamp},
	{name: "exact, create, the id only", namespace: "exact", new: id, want: stamp},
	{name: "exact, create, all metadata", namespace: "exact", new: full, want: stamp},
	{name: "exact, create, all metadata, by the agent", namespace: "exact", user: agent, new: full, want: noWebhook},
	{name: "exact, create, ignored", namespace: "exact", new: ignore, want: noWebhook},
	{name: "exact, create, in an ignored namespace", namespace: "ignored", new: bare, want: noWebhook},
	{name: "exact, create, in the agent's namespace", namespace: "cattle-fleet-system", new: bare, want: noWebhook},
	{name: "exact, create, in the webhook's namespace", namespace: systemNamespace, new: bare, want: noWebhook},
	{name: "exact, create, a lease", namespace: "exact", kind: "Lease", new: bare, want: noWebhook},
	{name: "exact, create, an event", namespace: "exact", kind: "Event", new: bare, want: noWebhook},
	{name: "exact, create, an access review", namespace: "exact", kind: "LocalSubjectAccessReview", new: bare,
		want: noWebhook},
	{name: "exact, create, a namespace", kind: "Namespace", new: label("fleetdoctor.io/adopt", "exact"),
		want: noWebhook},
	{name: "exact, create, cluster-scoped", kind: "ClusterRole", new: label("fleetdoctor.io/adopt", "exact"),
		want: noWebhook},
	{name: "exact, update", namespace: "exact", old: bare, new: other, want: exact},
	{name: "exact, create, in the namespace of BundleDeployments", namespace: "cluster-fleet-default-c1", new: bare,
		want: noWebhook},
	{name: "exact, update, all metadata stays", namespace: "exact", old: full, new: with(full, other), want: noWebhook},
	// In production, stamp restores the metadata and stamp-exact is not called. The recording webhook changes nothing.
	{name: "exact, update, all metadata is removed", namespace: "exact", old: full, new: bare, want: allWebhooks},
	{name: "exact, update, of an object that is being deleted", namespace: "exact", old: pinned, deleting: true,
		new: other, want: noWebhook},
	{name: "exact, update, a status", namespace: "exact", kind: "Deployment", old: bare, new: bare, act: status,
		want: noWebhook},
	{name: "exact, delete", namespace: "exact", old: bare, want: noWebhook},
	{name: "exact, delete, all metadata", namespace: "exact", old: full, want: guard},
}
