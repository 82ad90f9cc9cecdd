// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

func isNot(kinds ...string) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool { return !slices.Contains(kinds, obj.GetKind()) }
}

// permission is a verb on a resource, such as "secrets" or "events.events.k8s.io", in a namespace or in all, for
// one name or any.
type permission struct{ verb, resource, namespace, name string }

func (r permission) String() string {
	return fmt.Sprintf("%s %s %q in namespace %q", r.verb, r.resource, r.name, r.namespace)
}

const (
	mutating   = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
	validating = "validatingwebhookconfigurations.admissionregistration.k8s.io"
	own        = "fleetdoctor-webhook"
	cert       = "fleetdoctor-webhook-cert"
)

var (
	always = []permission{
		{"list", "namespaces", "", ""}, {"watch", "namespaces", "", ""},
		{"create", "events", "guestbook", ""}, {"patch", "events", "guestbook", ""},
		{"create", "events.events.k8s.io", "default", ""}, {"patch", "events.events.k8s.io", "default", ""},
	}
	// never is granted by no variant.
	never = []permission{
		{"create", "secrets", systemNamespace, ""}, {"delete", "secrets", systemNamespace, cert},
		{"patch", "secrets", systemNamespace, cert},
		{"update", "secrets", systemNamespace, "another"}, {"update", "secrets", "guestbook", cert},
		{"get", "secrets", "guestbook", "any"},
		{"get", "namespaces", "", "guestbook"}, {"update", "namespaces", "", "guestbook"}, {"list", "events", "", ""},
		{"create", mutating, "", ""}, {"delete", validating, "", own}, {"update", mutating, "", own},
		{"update", validating, "", own},
		{"patch", mutating, "", "another"}, {"patch", validating, "", "another"}, {"list", mutating, "", ""},
		{"list", validating, "", ""},
		{"list", "configmaps", systemNamespace, ""}, {"list", "pods", systemNamespace, ""},
		{"impersonate", "users", "", ""},
		{"create", "subjectaccessreviews.authorization.k8s.io", "", ""},
	}
	certificates = []permission{
		{"list", "secrets", systemNamespace, ""}, {"watch", "secrets", systemNamespace, ""},
		{"get", "secrets", systemNamespace, cert}, {"update", "secrets", systemNamespace, cert},
		{"list", mutating, "", own}, {"watch", mutating, "", own}, {"patch", mutating, "", own},
		{"list", validating, "", own}, {"watch", validating, "", own}, {"patch", validating, "", own},
	}
	ownSecret = []permission{{"get", "secrets", systemNamespace, cert}, {"update", "secrets", systemNamespace, cert}}
	writes    = []permission{{"list", mutating, "", own}, {"patch", mutating, "", own}, {"list", validating, "", own},
		{"patch", validating, "", own}}
	everySecret = []permission{{"list", "secrets", "", ""}, {"watch", "secrets", "", ""}}
	releases    = []permission{
		{"list", "secrets", "guestbook", ""}, {"watch", "secrets", "guestbook", ""}, {"list", "secrets", "shop", ""},
		{"watch", "secrets", "shop", ""},
	}
	beyond = []permission{{"list", "secrets", "default", ""}, {"list", "secrets", "kube-system", ""}}
)

// TestPermissions asks the server what the webhook's service account may do, for each variant.
func TestPermissions(t *testing.T) {
	tests := []struct {
		variant  string
		may, not []permission
	}{
		{"default", slices.Concat(always, certificates, everySecret, releases, beyond), never},
		{"addresses", slices.Concat(always, certificates, everySecret), never},
		{"exact", slices.Concat(always, certificates, everySecret), never},
		{"cert-manager", slices.Concat(always, everySecret), slices.Concat(never, ownSecret, writes)},
		{"scoped", slices.Concat(always, certificates, releases), slices.Concat(never, everySecret, beyond)},
		{"all", slices.Concat(always, releases), slices.Concat(never, everySecret, beyond, ownSecret, writes,
			[]permission{{"list", "secrets", systemNamespace, ""}})},
	}
	if len(tests) != len(variantNames()) {
		t.Errorf("%d variants, but %d expectations", len(variantNames()), len(tests))
	}
	for _, tt := range tests {
		t.Run(tt.variant, func(t *testing.T) {
			checkPermissions(t, own, rendered(t, tt.variant), tt.may, tt.not)
		})
	}
}

// checkPermissions applies the roles among the objects, and asks the server what a service account may do.
func checkPermissions(t *testing.T, account string, objects []*unstructured.Unstructured, may, not []permission) {
	t.Helper()
	createNamespaces(t)
	granted := slices.DeleteFunc(objects, isNot("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"))
	for _, obj := range granted {
		shared.Apply(t, "test", obj)
		removeAfter(t, obj)
	}
	// The server enforces new roles, and the deletion of the previous variant's roles, after a moment.
	poll.Until(t, func() error {
		var wrong []string
		for _, r := range may {
			if !allowed(t, account, r) {
				wrong = append(wrong, "must be allowed: "+r.String())
			}
		}
		for _, r := range not {
			if allowed(t, account, r) {
				wrong = append(wrong, "must not be allowed: "+r.String())
			}
		}
		if len(wrong) > 0 {
			return fmt.Errorf("%s", strings.Join(wrong, "\n"))
		}
		return nil
	})
}

// allowed asks the server about a permission of a service account.
func allowed(t *testing.T, account string, r permission) bool {
	t.Helper()
	named, subresource, _ := strings.Cut(r.resource, "/")
	resource, group, _ := strings.Cut(named, ".")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + systemNamespace + ":" + account,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + systemNamespace, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.verb, Group: group, Resource: resource, Subresource: subresource, Namespace: r.namespace,
			Name: r.name},
	}}
	if err := shared.Client().Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}
