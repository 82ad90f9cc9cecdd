// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// webhookAccount returns a kubeconfig of the webhook's service account with only the permissions of an variant.
func (f *fleetServer) webhookAccount(variant string) (kubeconfig string) {
	f.t.Helper()
	f.namespace("fleetdoctor-system")
	who := authorizationv1.SubjectAccessReviewSpec{User: account("fleetdoctor-system", "fleetdoctor-webhook"),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:fleetdoctor-system"}}
	rules := map[string][]rbacv1.PolicyRule{} // by kind and name of the role
	var bindings []rbacv1.RoleBinding         // also of ClusterRoleBindings, which have the same fields
	for _, obj := range rendered(f.t, variant) {
		switch obj.GetKind() {
		case "Role", "ClusterRole":
			rules[obj.GetKind()+obj.GetName()] = typed[rbacv1.Role](f.t, obj).Rules
		case "RoleBinding", "ClusterRoleBinding":
			bindings = append(bindings, typed[rbacv1.RoleBinding](f.t, obj))
		default:
			continue
		}
		if ns := obj.GetNamespace(); ns != "" {
			f.namespace(ns)
		}
		f.Apply(f.t, "admin", obj)
		f.removeAtEnd(obj)
	}
	for _, b := range bindings {
		f.AwaitGranted(f.t, who, b.Namespace, rules[b.RoleRef.Kind+b.RoleRef.Name]...)
	}
	return f.UserKubeconfig(f.t, who.User, who.Groups...)
}

func typed[T any](t *testing.T, obj *unstructured.Unstructured) (out T) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWebhookScoped runs the webhook with the permissions of variant `scoped`: releases that it may not read are
// not known, and their possible objects are not overwritten.
func TestWebhookScoped(t *testing.T) {
	f := newFleet(t, shared)
	b, elsewhere := f.bundle("guestbook", guestbook), f.deploy("elsewhere", theme)
	b.options.Namespace = "guestbook"
	b.deploy()
	h := f.serveWebhook("scoped", "--kubeconfig", f.webhookAccount("scoped"), "--release-namespaces=guestbook,shop")
	h.awaitObjects(3)
	texts, theirs := object("v1", "ConfigMap", "guestbook", "texts"), configMap("theme")
	admin := f.clientAs("")
	f.setOwnershipAsAdopt(b.helmOwnership(), texts)
	f.setOwnershipAsAdopt(elsewhere.helmOwnership(), theirs)
	for _, obj := range []client.Object{texts, theirs} {
		f.merge("somebody", object("v1", "ConfigMap", obj.GetNamespace(), obj.GetName()), `{"data":{"touched":"yes"}}`)
	}
	f.expectOwnership(b.ownership(), texts)
	f.expectOwnership(elsewhere.helmOwnership(), theirs)
	for _, set := range []string{"default-gone", elsewhere.options.SetID} {
		metadata := ownership.Metadata{SetID: set, Hash: fleet.Hash(set), ManagedBy: "Helm", ReleaseName: "guestbook",
			ReleaseNamespace: "guestbook"}.Values()
		admin.must("deleting it", admin.Delete(t.Context(), texts.DeepCopy()))
		admin.takeWarnings()
		created := b.withHelmOwnership(texts.DeepCopy())
		created.SetLabels(map[string]string{fleet.ManagedByLabel: "Helm", fleet.HashLabel: metadata[fleet.HashLabel]})
		annotations := created.GetAnnotations()
		annotations[fleet.IDAnnotation] = set
		created.SetAnnotations(annotations)
		admin.must("creating it", admin.Create(t.Context(), created))
		expectContains(t, "the warning", admin.takeWarnings(), "fleetdoctor/Foreign", "bundle guestbook", "not known")
		f.expectOwnership(metadata, texts)
	}
}

// TestWebhookEmptyValues has an object with empty values of hash and id, which count as missing.
func TestWebhookEmptyValues(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	empty := b.helmOwnership()
	empty[fleet.HashLabel], empty[fleet.IDAnnotation] = "", ""
	f.setOwnershipAsAdopt(empty, configMap("texts"))
	f.serveWebhook("default")
	f.merge("somebody", configMap("texts"), `{"data":{"touched":"yes"}}`)
	f.expectOwnership(b.ownership(), configMap("texts"))
}
