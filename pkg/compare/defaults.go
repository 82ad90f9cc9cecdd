// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"maps"
	"reflect"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

func of[T any](name string) Field { return Field{reflect.TypeFor[T](), name} }

// Defaults are the values, as decoded JSON, that the API server sets if the manifest states none. They explain a live
// field in an atomic list that the manifest does not state, and a live value in place of a stated zero value that the
// API treats as unset. A test compares every entry of this table, and of the next two, with a real API server.
var Defaults = map[Field]any{
	of[corev1.ServicePort]("protocol"):             "TCP",
	of[corev1.ServiceSpec]("type"):                 "ClusterIP",
	of[corev1.ServiceSpec]("sessionAffinity"):      "None",
	of[corev1.ContainerPort]("protocol"):           "TCP",
	of[corev1.EndpointPort]("protocol"):            "TCP",
	of[discoveryv1.EndpointPort]("protocol"):       "TCP",
	of[discoveryv1.EndpointPort]("name"):           "",
	of[networkingv1.NetworkPolicyPort]("protocol"): "TCP",

	of[corev1.Container]("terminationMessagePath"):                   "/dev/termination-log",
	of[corev1.Container]("terminationMessagePolicy"):                 "File",
	of[corev1.Probe]("timeoutSeconds"):                               int64(1),
	of[corev1.Probe]("periodSeconds"):                                int64(10),
	of[corev1.Probe]("successThreshold"):                             int64(1),
	of[corev1.Probe]("failureThreshold"):                             int64(3),
	of[corev1.HTTPGetAction]("scheme"):                               "HTTP",
	of[corev1.HTTPGetAction]("path"):                                 "/",
	of[corev1.ResourceFieldSelector]("divisor"):                      "0",
	of[corev1.ObjectFieldSelector]("apiVersion"):                     "v1",
	of[corev1.PodSpec]("restartPolicy"):                              "Always",
	of[corev1.PodSpec]("dnsPolicy"):                                  "ClusterFirst",
	of[corev1.PodSpec]("schedulerName"):                              "default-scheduler",
	of[corev1.ServiceAccountTokenProjection]("expirationSeconds"):    int64(3600),
	of[corev1.PersistentVolumeClaimSpec]("volumeMode"):               "Filesystem",
	of[corev1.PersistentVolumeSpec]("persistentVolumeReclaimPolicy"): "Retain",
	of[corev1.Secret]("type"):                                        "Opaque",

	of[corev1.ISCSIVolumeSource]("iscsiInterface"):           "default",
	of[corev1.ISCSIPersistentVolumeSource]("iscsiInterface"): "default",
	of[corev1.RBDVolumeSource]("pool"):                       "rbd",
	of[corev1.RBDVolumeSource]("user"):                       "admin",
	of[corev1.RBDVolumeSource]("keyring"):                    "/etc/ceph/keyring",
	of[corev1.RBDPersistentVolumeSource]("pool"):             "rbd",
	of[corev1.RBDPersistentVolumeSource]("user"):             "admin",
	of[corev1.RBDPersistentVolumeSource]("keyring"):          "/etc/ceph/keyring",
	of[corev1.ScaleIOVolumeSource]("storageMode"):            "ThinProvisioned",
	of[corev1.ScaleIOVolumeSource]("fsType"):                 "xfs",
	of[corev1.ScaleIOPersistentVolumeSource]("storageMode"):  "ThinProvisioned",
	of[corev1.ScaleIOPersistentVolumeSource]("fsType"):       "xfs",

	of[appsv1.DeploymentStrategy]("type"): "RollingUpdate",
	of[appsv1.DeploymentStrategy]("rollingUpdate"): map[string]any{"maxSurge": "25%",
		"maxUnavailable": "25%"},
	of[appsv1.StatefulSetUpdateStrategy]("type"):                              "RollingUpdate",
	of[appsv1.DaemonSetUpdateStrategy]("type"):                                "RollingUpdate",
	of[appsv1.StatefulSetSpec]("podManagementPolicy"):                         "OrderedReady",
	of[appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy]("whenDeleted"): "Retain",
	of[appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy]("whenScaled"):  "Retain",
	of[batchv1.CronJobSpec]("concurrencyPolicy"):                              "Allow",
	of[batchv1.PodFailurePolicyOnPodConditionsPattern]("status"):              "True",

	of[rbacv1.RoleRef]("apiGroup"): rbacv1.GroupName,

	of[networkingv1.IngressClassParametersReference]("scope"): "Cluster",
	of[storagev1.StorageClass]("reclaimPolicy"):               "Delete",
	of[storagev1.StorageClass]("volumeBindingMode"):           "Immediate",
	of[storagev1.CSIDriverSpec]("volumeLifecycleModes"):       []any{"Persistent"},
	of[schedulingv1.PriorityClass]("preemptionPolicy"):        "PreemptLowerPriority",

	of[admissionv1.Rule]("scope"):            "*",
	of[admissionv1.ServiceReference]("port"): int64(443),

	of[flowcontrolv1.FlowSchemaSpec]("matchingPrecedence"):     int64(1000),
	of[flowcontrolv1.QueuingConfiguration]("queues"):           int64(64),
	of[flowcontrolv1.QueuingConfiguration]("handSize"):         int64(8),
	of[flowcontrolv1.QueuingConfiguration]("queueLengthLimit"): int64(50),

	of[resourcev1.ExactDeviceRequest]("allocationMode"):      "ExactCount",
	of[resourcev1.DeviceSubRequest]("allocationMode"):        "ExactCount",
	of[resourcev1.DeviceToleration]("operator"):              "Equal",
	of[resourcev1beta2.ExactDeviceRequest]("allocationMode"): "ExactCount",
	of[resourcev1beta2.DeviceSubRequest]("allocationMode"):   "ExactCount",
	of[resourcev1beta2.DeviceToleration]("operator"):         "Equal",
	of[resourcev1beta1.DeviceSubRequest]("allocationMode"):   "ExactCount",
	of[resourcev1beta1.DeviceToleration]("operator"):         "Equal",
}

// ComputedDefaults are defaults that the API server computes from other stated fields of the same struct; nil if there
// is no default.
var ComputedDefaults = map[Field]func(siblings map[string]any) any{
	of[corev1.ServicePort]("targetPort"): func(s map[string]any) any { return s["port"] },
	of[corev1.VolumeSource]("emptyDir"):  bareVolume,
	// A container's limits count as its requests, so a limit range's default counts as its default request.
	of[corev1.LimitRangeItem]("defaultRequest"): limitRangeRequest,
	of[corev1.LimitRangeItem]("default"):        limitRangeDefault,
	of[rbacv1.Subject]("apiGroup"):              subjectGroup,
	// Only on the host's network, which the struct does not state.
	of[corev1.ContainerPort]("hostPort"): func(s map[string]any) any { return s["containerPort"] },

	of[resourcev1.ExactDeviceRequest]("count"):          oneDevice,
	of[resourcev1.DeviceSubRequest]("count"):            oneDevice,
	of[resourcev1beta2.ExactDeviceRequest]("count"):     oneDevice,
	of[resourcev1beta2.DeviceSubRequest]("count"):       oneDevice,
	of[resourcev1beta1.DeviceSubRequest]("count"):       oneDevice,
	of[resourcev1beta1.DeviceRequest]("count"):          ofClass(oneDevice),
	of[resourcev1beta1.DeviceRequest]("allocationMode"): ofClass(func(map[string]any) any { return "ExactCount" }),
}

// Allocated are fields in which a stated zero value leaves the value to the server, to admission or to a controller.
var Allocated = sets.New(
	of[corev1.ServiceSpec]("clusterIP"),
	of[corev1.ServiceSpec]("clusterIPs"),
	of[corev1.ServiceSpec]("ipFamilies"),
	of[corev1.ServiceSpec]("healthCheckNodePort"),
	of[corev1.ServiceSpec]("externalTrafficPolicy"),
	of[corev1.ServicePort]("nodePort"),
	of[corev1.PersistentVolumeClaimSpec]("volumeName"),
	of[admissionv1.WebhookClientConfig]("caBundle"),
	of[corev1.PodSpec]("nodeName"),
	of[corev1.PodSpec]("serviceAccount"),
	of[corev1.PodSpec]("serviceAccountName"),
	of[corev1.PodSpec]("priorityClassName"),
	of[corev1.PodSpec]("tolerations"),
	of[corev1.Container]("imagePullPolicy"),
	of[corev1.ImageVolumeSource]("pullPolicy"),
	of[corev1.ServiceAccount]("secrets"),
	of[networkingv1.NetworkPolicySpec]("policyTypes"),
	of[autoscalingv2.HorizontalPodAutoscalerSpec]("metrics"),
)

// defaultOf returns the default of a field, nil if it has none.
func defaultOf(f field, siblings map[string]any) any {
	if compute := ComputedDefaults[f.Field]; compute != nil && siblings != nil {
		return compute(siblings)
	}
	return Defaults[f.Field]
}

// bareVolume: a volume with only a name is an empty directory.
func bareVolume(volume map[string]any) any {
	for name, v := range volume {
		if name != "name" && v != nil {
			return nil
		}
	}
	return map[string]any{}
}

func subjectGroup(s map[string]any) any {
	switch s["kind"] {
	case rbacv1.UserKind, rbacv1.GroupKind:
		return rbacv1.GroupName
	}
	return nil
}

// oneDevice: the default is one device, unless all devices are requested.
func oneDevice(request map[string]any) any {
	switch request["allocationMode"] {
	case nil, "", "ExactCount":
		return int64(1)
	}
	return nil
}

// ofClass: in v1beta1 a request without a class only names its alternatives.
func ofClass(compute func(map[string]any) any) func(map[string]any) any {
	return func(request map[string]any) any {
		if isZero(request["deviceClassName"]) {
			return nil
		}
		return compute(request)
	}
}

// limitRangeDefault: for a container, the maximum is the default of a resource without default.
func limitRangeDefault(item map[string]any) any {
	if item["type"] != string(corev1.LimitTypeContainer) {
		return nil
	}
	return merged(item["max"], item["default"])
}

// limitRangeRequest: the default request of a resource is then its default, or its minimum if there is no default.
func limitRangeRequest(item map[string]any) any {
	if item["type"] != string(corev1.LimitTypeContainer) {
		return nil
	}
	return merged(item["min"], limitRangeDefault(item), item["defaultRequest"])
}

// merged merges decoded JSON objects, of which later ones have precedence; nil if all are empty.
func merged(objects ...any) any {
	out := map[string]any{}
	for _, o := range objects {
		o, _ := o.(map[string]any)
		maps.Copy(out, o)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
