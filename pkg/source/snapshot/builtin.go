// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// builtin are the kinds of Kubernetes 1.36 that can be listed, and of Fleet, with the version that the API server prefers: what an empty
// List in a file named for their resource is a List of. A captured definition overrules it. Their scope is known to object.ClusterScoped.
var builtin = []struct{ group, version, kinds string }{
	{"", "v1", "ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod " +
		"PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"},
	{"admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration " +
		"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration"},
	{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
	{"apiregistration.k8s.io", "v1", "APIService"},
	{"apps", "v1", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"},
	{"autoscaling", "v2", "HorizontalPodAutoscaler"},
	{"batch", "v1", "CronJob Job"},
	{"certificates.k8s.io", "v1", "CertificateSigningRequest"},
	{"coordination.k8s.io", "v1", "Lease"},
	{"discovery.k8s.io", "v1", "EndpointSlice"},
	{"events.k8s.io", "v1", "Event"},
	{"flowcontrol.apiserver.k8s.io", "v1", "FlowSchema PriorityLevelConfiguration"},
	{"networking.k8s.io", "v1", "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR"},
	{"node.k8s.io", "v1", "RuntimeClass"},
	{"policy", "v1", "PodDisruptionBudget"},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole ClusterRoleBinding Role RoleBinding"},
	{"resource.k8s.io", "v1", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"},
	{"scheduling.k8s.io", "v1", "PriorityClass"},
	{"storage.k8s.io", "v1", "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass"},
	{"fleet.cattle.io", "v1alpha1", "Bundle BundleDeployment BundleNamespaceMapping Cluster ClusterGroup ClusterRegistration " +
		"ClusterRegistrationToken Content GitRepo GitRepoRestriction HelmOp ImageScan Policy Schedule"},
}

// short are the short names that Kubernetes has for built-in resources, and Fleet for its own.
var short = map[schema.GroupKind][]string{
	{Kind: "ConfigMap"}:             {"cm"},
	{Kind: "Endpoints"}:             {"ep"},
	{Kind: "LimitRange"}:            {"limits"},
	{Kind: "Namespace"}:             {"ns"},
	{Kind: "Node"}:                  {"no"},
	{Kind: "PersistentVolume"}:      {"pv"},
	{Kind: "PersistentVolumeClaim"}: {"pvc"},
	{Kind: "Pod"}:                   {"po"},
	{Kind: "ReplicationController"}: {"rc"},
	{Kind: "ResourceQuota"}:         {"quota"},
	{Kind: "Service"}:               {"svc"},
	{Kind: "ServiceAccount"}:        {"sa"},

	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {"crd", "crds"},
	{Group: "apps", Kind: "DaemonSet"}:                                {"ds"},
	{Group: "apps", Kind: "Deployment"}:                               {"deploy"},
	{Group: "apps", Kind: "ReplicaSet"}:                               {"rs"},
	{Group: "apps", Kind: "StatefulSet"}:                              {"sts"},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:           {"hpa"},
	{Group: "batch", Kind: "CronJob"}:                                 {"cj"},
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}: {"csr"},
	{Group: "networking.k8s.io", Kind: "IPAddress"}:                   {"ip"},
	{Group: "networking.k8s.io", Kind: "Ingress"}:                     {"ing"},
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:               {"netpol"},
	{Group: "policy", Kind: "PodDisruptionBudget"}:                    {"pdb"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:               {"pc"},
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                   {"sc"},
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:          {"vac"},
}

// lastMember is a member that each object of a kind has when an API server gives it out, and that comes after metadata in kubectl's order.
var lastMember = func() map[schema.GroupKind]string {
	out := map[schema.GroupKind]string{}
	for _, row := range []struct{ member, group, kinds string }{
		{"status", "", "Namespace Node PersistentVolume PersistentVolumeClaim Pod ReplicationController ResourceQuota Service"},
		{"status", "apiextensions.k8s.io", "CustomResourceDefinition"},
		{"status", "apiregistration.k8s.io", "APIService"},
		{"status", "apps", "DaemonSet Deployment ReplicaSet StatefulSet"},
		{"status", "autoscaling", "HorizontalPodAutoscaler"},
		{"status", "batch", "CronJob Job"},
		{"status", "networking.k8s.io", "Ingress"},
		{"status", "policy", "PodDisruptionBudget"},
		{"type", "", "Secret"},
		{"rules", "rbac.authorization.k8s.io", "ClusterRole Role"},
		{"roleRef", "rbac.authorization.k8s.io", "ClusterRoleBinding RoleBinding"},
		{"provisioner", "storage.k8s.io", "StorageClass"},
		{"spec", "networking.k8s.io", "IngressClass NetworkPolicy"},
		{"spec", "storage.k8s.io", "CSIDriver CSINode VolumeAttachment"},
	} {
		for _, kind := range strings.Fields(row.kinds) {
			out[schema.GroupKind{Group: row.group, Kind: kind}] = row.member
		}
	}
	return out
}()

// namespaced are the built-in kinds, and Fleet's, whose objects lie in namespaces.
var namespaced = func() map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for _, row := range builtin {
		for _, kind := range strings.Fields(row.kinds) {
			gk := schema.GroupKind{Group: row.group, Kind: kind}
			out[gk] = !object.ClusterScoped(gk)
		}
	}
	return out
}()
