// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
)

// base are the objects without values, in alphabetical order.
var base = []string{
	"ClusterRole fleetdoctor-webhook",
	"ClusterRole fleetdoctor-webhook-certificates",
	"ClusterRole fleetdoctor-webhook-records",
	"ClusterRoleBinding fleetdoctor-webhook",
	"ClusterRoleBinding fleetdoctor-webhook-certificates",
	"ClusterRoleBinding fleetdoctor-webhook-records",
	"ConfigMap fleetdoctor-system/fleetdoctor-webhook-seen",
	"Deployment fleetdoctor-system/fleetdoctor-webhook",
	"MutatingWebhookConfiguration fleetdoctor-webhook",
	"Namespace fleetdoctor-system",
	"NetworkPolicy fleetdoctor-system/fleetdoctor-webhook",
	"PodDisruptionBudget fleetdoctor-system/fleetdoctor-webhook",
	"Role fleetdoctor-system/fleetdoctor-webhook-certificates",
	"Role fleetdoctor-system/fleetdoctor-webhook-seen",
	"RoleBinding fleetdoctor-system/fleetdoctor-webhook-certificates",
	"RoleBinding fleetdoctor-system/fleetdoctor-webhook-seen",
	"Secret fleetdoctor-system/fleetdoctor-webhook-cert",
	"Service fleetdoctor-system/fleetdoctor-webhook",
	"ServiceAccount fleetdoctor-system/fleetdoctor-webhook",
	"ValidatingWebhookConfiguration fleetdoctor-webhook",
}

var (
	byCertController = []string{
		"ClusterRole fleetdoctor-webhook-certificates",
		"ClusterRoleBinding fleetdoctor-webhook-certificates",
		"Role fleetdoctor-system/fleetdoctor-webhook-certificates",
		"RoleBinding fleetdoctor-system/fleetdoctor-webhook-certificates",
		"Secret fleetdoctor-system/fleetdoctor-webhook-cert",
	}
	byCertManager = []string{
		"Certificate fleetdoctor-system/fleetdoctor-webhook",
		"Certificate fleetdoctor-system/fleetdoctor-webhook-ca",
		"Issuer fleetdoctor-system/fleetdoctor-webhook-ca",
		"Issuer fleetdoctor-system/fleetdoctor-webhook-selfsigned",
	}
	everywhere  = []string{"ClusterRoleBinding fleetdoctor-webhook-records"}
	inNamespace = []string{"RoleBinding guestbook/fleetdoctor-webhook-records",
		"RoleBinding shop/fleetdoctor-webhook-records"}
)

// serve are the arguments of the webhook.
func serve(more ...string) []string {
	return append([]string{"webhook", "serve", "--cert-dir=/certs"}, more...)
}

func TestVariants(t *testing.T) {
	tests := map[string]struct {
		without, with []string
		args          []string
		certs         corev1.VolumeSource
		caFrom        string
	}{
		"addresses": {args: serve("--guard-default=warn", "--record=changes")},
		"default":   {args: serve("--guard-default=warn", "--record=changes")},
		"exact":     {args: serve("--guard-default=warn", "--record=changes")},
		"cert-manager": {without: byCertController, with: byCertManager,
			args:   serve("--guard-default=warn", "--record=changes", "--certificates=files"),
			certs:  corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "fleetdoctor-webhook-cert"}},
			caFrom: "fleetdoctor-system/fleetdoctor-webhook"},
		"scoped": {without: everywhere, with: inNamespace,
			args: serve("--guard-default=warn", "--record=changes", "--release-namespaces=guestbook,shop")},
		"all": {without: slices.Concat(byCertController, everywhere), with: slices.Concat(byCertManager, inNamespace),
			args: serve("--guard-default=deny", "--record=deletions", "--release-namespaces=guestbook,shop",
				"--certificates=files"),
			certs:  corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "fleetdoctor-webhook-cert"}},
			caFrom: "fleetdoctor-system/fleetdoctor-webhook"},
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(tests)), variantNames()); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
	for _, variant := range variantNames() {
		t.Run(variant, func(t *testing.T) {
			want, ok := tests[variant]
			if !ok {
				t.Fatal("no expectation for this variant")
			}
			objs := rendered(t, variant)
			if diff := cmp.Diff(expect(want.without, want.with), names(objs)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			pod := pick[appsv1.Deployment](t, objs, "Deployment", "fleetdoctor-webhook").Spec.Template.Spec
			if diff := cmp.Diff(want.args, pod.Containers[0].Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			volume := pod.Volumes[0].VolumeSource
			if want.certs.Secret == nil {
				want.certs.EmptyDir = volume.EmptyDir
			}
			if diff := cmp.Diff(want.certs, volume); diff != "" || volume == (corev1.VolumeSource{}) {
				t.Errorf("volume of certificates (-want +got):\n%s", diff)
			}
			for _, obj := range objs {
				if from := obj.GetAnnotations()["cert-manager.io/inject-ca-from"]; from != want.caFrom &&
					strings.HasSuffix(obj.GetKind(), "WebhookConfiguration") {
					t.Errorf("the certificate authority of %s %s is from %q, want %q", obj.GetKind(), obj.GetName(),
						from, want.caFrom)
				}
			}
		})
	}
}

// expect returns the objects of the chart without some and with others, in alphabetical order.
func expect(without, with []string) []string {
	want := slices.Concat(base, with)
	want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(without, name) })
	slices.Sort(want)
	return want
}

func names(objs []*unstructured.Unstructured) []string {
	out := make([]string, len(objs))
	for i, obj := range objs {
		out[i] = obj.GetKind() + " " + strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/")
	}
	slices.Sort(out)
	return out
}

// TestLabel checks that all objects of the chart have the label by which adopt finds the webhook and uninstall finds
// its objects.
func TestLabel(t *testing.T) {
	selector, err := labels.Parse(repair.WebhookLabel)
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range variantNames() {
		for _, obj := range rendered(t, variant) {
			if obj.GetKind() != "Namespace" && !selector.Matches(labels.Set(obj.GetLabels())) {
				t.Errorf("variant %s: %s %s is not labelled %s", variant, obj.GetKind(), obj.GetName(), selector)
			}
		}
	}
}

// TestSelectors checks that every selector matches the labels of the pods.
func TestSelectors(t *testing.T) {
	objs := rendered(t, "default")
	deployment := pick[appsv1.Deployment](t, objs, "Deployment", "fleetdoctor-webhook")
	pod := deployment.Spec.Template
	var selecting []string
	for _, obj := range objs {
		for _, field := range [][]string{{"spec", "selector"}, {"spec", "selector", "matchLabels"},
			{"spec", "podSelector", "matchLabels"}} {
			selector, found, err := unstructured.NestedStringMap(obj.Object, field...)
			if err != nil || !found {
				continue
			}
			selecting = append(selecting, obj.GetKind())
			if !labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
				t.Errorf("the selector of %s does not match the pods", obj.GetKind())
			}
		}
	}
	slices.Sort(selecting)
	if diff := cmp.Diff([]string{"Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"},
		selecting); diff != "" {
		t.Errorf("kinds with a selector (-want +got):\n%s", diff)
	}
	service := pick[corev1.Service](t, objs, "Service", "fleetdoctor-webhook")
	target := service.Spec.Ports[0].TargetPort.StrVal
	i := slices.IndexFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == target })
	if i < 0 || pod.Spec.Containers[0].Ports[i].ContainerPort != 9443 {
		t.Errorf("the target port of the Service is %q, which is not 9443", target)
	}
}

// TestNetworkPolicy checks which clients reach the webhook, and what it reaches. Without addresses, every client
// reaches the port for admission requests.
func TestNetworkPolicy(t *testing.T) {
	for variant, want := range map[string][]string{
		"default": {"from [] to [TCP webhook]", "to [] [TCP ]"},
		"addresses": {"from [192.0.2.10/32 192.0.2.11/32 10.96.0.1/32 2001:db8::1/128] to [TCP webhook]",
			"to [192.0.2.10/32 192.0.2.11/32 10.96.0.1/32 2001:db8::1/128] [TCP ]"},
	} {
		spec := pick[networkingv1.NetworkPolicy](t, rendered(t, variant), "NetworkPolicy", "fleetdoctor-webhook").Spec
		var got []string
		for _, rule := range spec.Ingress {
			got = append(got, fmt.Sprintf("from %v to %v", blocks(rule.From), portsOf(rule.Ports)))
		}
		for _, rule := range spec.Egress {
			got = append(got, fmt.Sprintf("to %v %v", blocks(rule.To), portsOf(rule.Ports)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("variant %s: rules (-want +got):\n%s", variant, diff)
		}
		types := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
		if diff := cmp.Diff(types, spec.PolicyTypes); diff != "" {
			t.Errorf("variant %s: types (-want +got):\n%s", variant, diff)
		}
	}
}

func blocks(peers []networkingv1.NetworkPolicyPeer) []string {
	var out []string
	for _, p := range peers {
		out = append(out, p.IPBlock.CIDR)
	}
	return out
}

func portsOf(ports []networkingv1.NetworkPolicyPort) []string {
	var out []string
	for _, p := range ports {
		text := string(*p.Protocol) + " "
		if p.Port != nil {
			text += p.Port.String()
		}
		out = append(out, text)
	}
	return out
}

// TestScoped checks that exactly the release namespaces are bound to the webhook.
func TestScoped(t *testing.T) {
	objs := rendered(t, "scoped")
	args := pick[appsv1.Deployment](t, objs, "Deployment", "fleetdoctor-webhook").Spec.Template.Spec.Containers[0].Args
	var named []string
	for _, arg := range args {
		if list, ok := strings.CutPrefix(arg, "--release-namespaces="); ok {
			named = strings.Split(list, ",")
		}
	}
	var bound []string
	for _, obj := range objs {
		if obj.GetKind() == "RoleBinding" && obj.GetName() == "fleetdoctor-webhook-records" {
			bound = append(bound, obj.GetNamespace())
		}
	}
	slices.Sort(bound)
	if diff := cmp.Diff(named, bound); diff != "" || len(bound) == 0 {
		t.Errorf("namespaces (-named +bound):\n%s", diff)
	}
}

// TestBindings checks that each binding binds an existing role to the webhook's own service account.
func TestBindings(t *testing.T) {
	for _, variant := range variantNames() {
		objs := rendered(t, variant)
		for _, obj := range objs {
			if !strings.HasSuffix(obj.GetKind(), "RoleBinding") {
				continue
			}
			binding := pick[rbacv1.RoleBinding](t, []*unstructured.Unstructured{obj}, obj.GetKind(), obj.GetName())
			want := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "fleetdoctor-webhook",
				Namespace: systemNamespace}}
			if diff := cmp.Diff(want, binding.Subjects); diff != "" {
				t.Errorf("variant %s: subjects of %s %s (-want +got):\n%s", variant, obj.GetKind(), obj.GetName(), diff)
			}
			if !slices.ContainsFunc(objs, func(o *unstructured.Unstructured) bool {
				return o.GetKind() == binding.RoleRef.Kind && o.GetName() == binding.RoleRef.Name
			}) {
				t.Errorf("variant %s: %s %s binds no role", variant, obj.GetKind(), obj.GetName())
			}
		}
	}
}
