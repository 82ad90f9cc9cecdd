// SPDX-License-Identifier: Apache-2.0

// Package installation has what is special in the installation of the admission webhook: its webhook configurations,
// its status, and the test whether it answers. It prints nothing.
package installation

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// The names that objects of an installation share.
const (
	Name       = "fleetdoctor-webhook"
	Selector   = install.NameLabel + "=" + Name
	SecretName = Name + "-cert"
)

// The webhooks of the configurations.
const (
	StampWebhook = "stamp.fleetdoctor.io"
	ExactWebhook = "stamp-exact.fleetdoctor.io"
	GuardWebhook = "guard.fleetdoctor.io"
)

// Chart is the chart of the webhook. Its configurations are removed before the Deployment that answers their calls, and
// cert-manager's Certificates before their Secrets.
var Chart = install.Chart{
	Dir: "webhook", Name: Name,
	Kinds: []schema.GroupVersionKind{
		install.MutatingKind, install.ValidatingKind, install.DeploymentKind,
		corev1.SchemeGroupVersion.WithKind("Service"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
		install.RoleBindingKind, rbacv1.SchemeGroupVersion.WithKind("Role"),
		install.ClusterRoleBindingKind, install.ClusterRoleKind,
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
		{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"},
		install.SecretKind,
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	},
	Names: []string{Name, Name + "-records", Name + "-certificates", SecretName, Name + "-ca", Name + "-selfsigned"},
}

// Certificates is the component that makes the webhook's certificate.
type Certificates string

// The values of Certificates.
const (
	SelfSigned  Certificates = "self-signed"
	CertManager Certificates = "cert-manager"
)

// Values are the values of the chart. A zero value keeps the value of the chart.
type Values struct {
	install.Common `json:",inline"`
	Certificates   Certificates `json:"certificates,omitempty"`
	// Exact adds the webhook that also stamps objects without ownership metadata, in namespaces with a label for it.
	Exact        bool                `json:"exact,omitempty"`
	GuardDefault admission.GuardMode `json:"guardDefault,omitempty"`
	// ReleaseNamespaces are the only namespaces whose Secrets the webhook may read; none means all.
	ReleaseNamespaces []string `json:"releaseNamespaces,omitempty"`
}

// webhooksOf returns the webhooks of a configuration, mutating or validating. Objects of other kinds have none.
func webhooksOf(o *unstructured.Unstructured) []admissionregistrationv1.ValidatingWebhook {
	return install.Decode[admissionregistrationv1.ValidatingWebhookConfiguration](o).Webhooks
}
