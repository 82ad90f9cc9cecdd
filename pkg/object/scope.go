// SPDX-License-Identifier: Apache-2.0

package object

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ClusterScopedKinds lists, by group, the built-in kinds without a namespace, and Fleet's, for sources that cannot ask
// a server. A test compares it with a server that serves all built-in kinds (test/defaults), including those of alpha
// APIs.
var ClusterScopedKinds = map[string][]string{
	"": {"Namespace", "Node", "PersistentVolume", "ComponentStatus"},
	"admissionregistration.k8s.io": {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
		"ValidatingAdmissionPolicy",
		"ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"authentication.k8s.io":        {"TokenReview", "SelfSubjectReview"},
	"authorization.k8s.io":         {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"internal.apiserver.k8s.io":    {"StorageVersion"},
	"networking.k8s.io":            {"IngressClass", "IPAddress", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "ResourceSlice", "DeviceTaintRule", "ResourcePoolStatusRequest"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io": {"StorageClass", "CSIDriver", "CSINode", "VolumeAttachment",
		"VolumeAttributesClass"},
	"storagemigration.k8s.io": {"StorageVersionMigration"},
	"fleet.cattle.io":         {"Content"},
}

// ClusterScoped reports whether a kind of Kubernetes or Fleet has no namespace.
func ClusterScoped(gk schema.GroupKind) bool {
	return slices.Contains(ClusterScopedKinds[gk.Group], gk.Kind)
}
