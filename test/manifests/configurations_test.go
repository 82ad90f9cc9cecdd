// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// webhooks are the webhooks of both configurations of a variant; validating ones are converted, because they have
// nearly the same fields.
func webhooks(t *testing.T, variant string) []admissionv1.MutatingWebhook {
	t.Helper()
	objs := rendered(t, variant)
	mutating := pick[admissionv1.MutatingWebhookConfiguration](t, objs, "MutatingWebhookConfiguration",
		"fleetdoctor-webhook")
	validating := pick[admissionv1.ValidatingWebhookConfiguration](t, objs, "ValidatingWebhookConfiguration",
		"fleetdoctor-webhook")
	all := mutating.Webhooks
	for _, w := range validating.Webhooks {
		all = append(all, admissionv1.MutatingWebhook{Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules,
			FailurePolicy: w.FailurePolicy,
			MatchPolicy:   w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
			SideEffects:    w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
			MatchConditions: w.MatchConditions})
	}
	return all
}

func notIn(key string, values ...string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: values}
}

// excludedNamespaces select the namespaces for which the server never calls a webhook.
var excludedNamespaces = []metav1.LabelSelectorRequirement{
	notIn(corev1.LabelMetadataName, "kube-system", "kube-public", "kube-node-lease", "cattle-fleet-system",
		"cattle-fleet-local-system",
		"cattle-fleet-clusters-system", "fleet-system", "fleet-clusters-system", systemNamespace),
	notIn("fleet.cattle.io/managed", "true"),
	notIn("fleetdoctor.io/ignore", "true"),
}

// expectedWebhook is a webhook with the fields that all of them have: it never blocks a write, and no subresource
// reaches it.
func expectedWebhook(name, path string, operations []admissionv1.OperationType, effects admissionv1.SideEffectClass,
	scope admissionv1.ScopeType,
	more ...metav1.LabelSelectorRequirement,
) admissionv1.MutatingWebhook {
	return admissionv1.MutatingWebhook{
		Name: name,
		ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
			Namespace: systemNamespace, Name: "fleetdoctor-webhook", Path: &path}},
		Rules: []admissionv1.RuleWithOperations{{Operations: operations, Rule: admissionv1.Rule{
			APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}, Scope: &scope}}},
		FailurePolicy: ptr.To(admissionv1.Ignore),
		MatchPolicy:   ptr.To(admissionv1.Equivalent),
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: append(append([]metav1.LabelSelectorRequirement{},
			excludedNamespaces...), more...)},
		ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			notIn("fleetdoctor.io/ignore", "true"), notIn(install.NameLabel, installation.Name)}},
		SideEffects:             &effects,
		TimeoutSeconds:          ptr.To[int32](2),
		AdmissionReviewVersions: []string{"v1"},
	}
}

func TestConfigurations(t *testing.T) {
	writes := []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}
	stamp := expectedWebhook("stamp.fleetdoctor.io", "/stamp", writes, admissionv1.SideEffectClassNoneOnDryRun,
		admissionv1.AllScopes)
	stamp.ReinvocationPolicy = ptr.To(admissionv1.IfNeededReinvocationPolicy)
	exact := expectedWebhook("stamp-exact.fleetdoctor.io", "/stamp-exact", writes,
		admissionv1.SideEffectClassNoneOnDryRun, admissionv1.NamespacedScope,
		metav1.LabelSelectorRequirement{Key: "fleetdoctor.io/adopt", Operator: metav1.LabelSelectorOpIn,
			Values: []string{"exact"}})
	exact.ReinvocationPolicy = stamp.ReinvocationPolicy
	guard := expectedWebhook("guard.fleetdoctor.io", "/guard", []admissionv1.OperationType{admissionv1.Update,
		admissionv1.Delete},
		admissionv1.SideEffectClassNoneOnDryRun, admissionv1.AllScopes, notIn("fleetdoctor.io/guard", "off"))

	withoutExact := []admissionv1.MutatingWebhook{stamp, guard}
	withExact := []admissionv1.MutatingWebhook{stamp, exact, guard}
	want := map[string][]admissionv1.MutatingWebhook{
		"addresses": withoutExact, "default": withoutExact, "cert-manager": withoutExact, "scoped": withoutExact,
		"exact": withExact, "all": withExact,
	}
	options := cmp.Options{
		// TestRequests tests the conditions.
		cmpopts.IgnoreFields(admissionv1.MutatingWebhook{}, "MatchConditions"),
		cmpopts.SortSlices(func(a, b metav1.LabelSelectorRequirement) bool { return a.Key < b.Key }),
	}
	for _, variant := range variantNames() {
		if diff := cmp.Diff(want[variant], webhooks(t, variant), options); diff != "" {
			t.Errorf("variant %s (-want +got):\n%s", variant, diff)
		}
	}
}

// TestConditionsAgree checks that conditions with the same name are equal.
func TestConditionsAgree(t *testing.T) {
	seen := make(map[string]string)
	for _, w := range webhooks(t, "all") {
		if n := len(w.MatchConditions); n == 0 || n > 64 {
			t.Errorf("%s has %d conditions, want 1 to 64", w.Name, n)
		}
		for _, c := range w.MatchConditions {
			if diff := cmp.Diff(seen[c.Name], c.Expression); seen[c.Name] != "" && diff != "" {
				t.Errorf("condition %s differs:\n%s", c.Name, diff)
			}
			seen[c.Name] = c.Expression
		}
	}
}
