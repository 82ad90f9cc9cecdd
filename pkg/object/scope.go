// SPDX-License-Identifier: Apache-2.0

package object

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// clusterScoped lists the built-in kinds that have no namespace, and Fleet's, for sources that cannot ask a server. A test holds it against
// one that serves all of them (test/defaults), those of alpha APIs too.
var clusterScoped = map[string][]string{
	"": {"Namespace", "Node", "PersistentVolume", "ComponentStatus"},
	"admissionregistration.k8s.io": {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy",
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
	"storage.k8s.io":               {"StorageClass", "CSIDriver", "CSINode", "VolumeAttachment", "VolumeAttributesClass"},
	"storagemigration.k8s.io":      {"StorageVersionMigration"},
	"fleet.cattle.io":              {"Content"},
}

// ClusterScoped says whether a kind is one of Kubernetes' or Fleet's own that have no namespace.
func ClusterScoped(gk schema.GroupKind) bool {
	return slices.Contains(clusterScoped[gk.Group], gk.Kind)
}

// ClusterScopedKinds returns the kinds for which ClusterScoped holds, ordered by group and kind.
func ClusterScopedKinds() []schema.GroupKind {
	var out []schema.GroupKind
	for group, kinds := range clusterScoped {
		for _, kind := range kinds {
			out = append(out, schema.GroupKind{Group: group, Kind: kind})
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupKind) int { return strings.Compare(a.Group+" "+a.Kind, b.Group+" "+b.Kind) })
	return out
}
