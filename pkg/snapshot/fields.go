// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	format "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// fields decides which fields of an object a snapshot has:
//
//   - of an object that a bundle desires, all of them, because they are compared; of its annotations, those that the
//     manifest states and those that an audit reads;
//   - of one of Fleet's objects, the fields that package v1alpha1 states, because nothing else is read, without
//     payloads;
//   - of every other object, its metadata and the fields in otherFields. It is marked, so that nobody takes the rest
//     for absent.
//
// A field that is not named here is not captured.
type fields struct {
	// desired are the annotations in the manifests of each object that a bundle desires.
	desired map[object.Key]map[string]bool
	// namespaces are the annotations of Namespaces that bundles state.
	namespaces map[string]bool
	// kubeConfigs are the Secrets with the kubeconfigs of Fleet's Clusters.
	kubeConfigs map[types.NamespacedName]bool
	// bundles is true if payloads are captured too.
	bundles bool
}

// otherFields are the fields of objects that no bundle desires. Their metadata is captured too.
var otherFields = map[schema.GroupKind][]string{
	{Kind: "Namespace"}: {"status.phase", "status.conditions[].type", "status.conditions[].status",
		"status.conditions[].message"},
	{Kind: "PersistentVolumeClaim"}: {"spec.volumeName"},
	{Kind: "PersistentVolume"}:      {"spec.persistentVolumeReclaimPolicy"},
	{Kind: "Secret"}:                {"type"},
	{Kind: "Pod"}: {"status.phase", "status.reason", "status.message", "status.conditions[].type",
		"status.conditions[].status", "status.conditions[].message",
		"status.initContainerStatuses[].name", "status.initContainerStatuses[].state.waiting",
		"status.containerStatuses[].name", "status.containerStatuses[].state.waiting",
		"status.containerStatuses[].restartCount"},
	{Group: "apps", Kind: "Deployment"}:  workload,
	{Group: "apps", Kind: "StatefulSet"}: workload,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {
		"spec.scaleTargetRef", "spec.minReplicas", "spec.maxReplicas"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {
		"spec.group", "spec.scope", "spec.names", "spec.versions[].name", "spec.versions[].served"},
}

var workload = []string{"spec.replicas", "spec.template.spec.containers[].name",
	"spec.template.spec.containers[].image", "spec.template.spec.containers[].env",
	"spec.template.spec.containers[].envFrom[].prefix", "status.observedGeneration", "status.replicas",
	"status.updatedReplicas", "status.readyReplicas"}

// workloadVariables are the environment variables of Fleet's programs that are read.
var workloadVariables = []string{fleet.AgentScopeEnv, fleet.CheckinIntervalEnv, fleet.ImageScanEnv,
	fleet.SchedulesEnv}

// listedMetadata are the members of the metadata of every object that is captured.
var listedMetadata = []string{"name", "namespace", "generateName", "uid", "resourceVersion", "generation",
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "ownerReferences", "finalizers"}

// readAnnotations are the annotations that an audit reads, beside those of Fleet.
var readAnnotations = []string{fleet.IDAnnotation, fleet.OwnerGVKAnnotation, fleet.OwnerNameAnnotation,
	fleet.OwnerNamespaceAnnotation, fleet.ReleaseNameAnnotation, fleet.ReleaseNamespaceAnnotation,
	fleet.ResourcePolicyAnnotation, fleet.HookAnnotation}

// appliedAnnotation is where kubectl keeps a copy of an object. An audit compares that of a desired object.
const appliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// setAppliedAnnotation is where Rancher's apply library keeps a copy of an object, values of Secrets included. No audit
// reads it.
const setAppliedAnnotation = "objectset.rio.cattle.io/applied"

// fleetGroup is the API group of Fleet.
const fleetGroup = "fleet.cattle.io"

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// of returns the captured fields of an object, given as decoded JSON.
func (f *fields) of(content map[string]any, key object.Key) (map[string]any, error) {
	gk := key.GroupKind()
	stated, desired := f.desired[key]
	kind := fleetTypes[key.Kind]
	switch {
	case key.Group == fleetGroup && f.bundles, desired:
		f.annotations(content, key, stated)
		return content, nil
	case key.Group == fleetGroup && kind != nil:
		f.annotations(content, key, nil)
		return typed(content, kind())
	}
	out := pick(content, otherFields[gk])
	out["apiVersion"], out["kind"] = content["apiVersion"], content["kind"]
	out["metadata"] = f.metadata(content, key)
	switch gk {
	case schema.GroupKind{Kind: "Secret"}:
		f.secret(content, out, key)
	case schema.GroupKind{Kind: "ConfigMap"}:
		f.configMap(content, out, key)
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		keepVariables(out)
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:
		if journal.IsBinding(key.Name) {
			out["subjects"] = content["subjects"]
		}
	}
	return out, nil
}

// metadata returns the captured metadata of an object that no bundle desires. Of its managedFields, it has no fields
// below the first level: who changed the object is read, and not what.
func (f *fields) metadata(content map[string]any, key object.Key) map[string]any {
	f.annotations(content, key, nil)
	meta, _ := content["metadata"].(map[string]any)
	out := map[string]any{}
	for _, name := range listedMetadata {
		if v, ok := meta[name]; ok {
			out[name] = v
		}
	}
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[format.CapturedAnnotation] = format.CapturedMetadata
	out["annotations"] = annotations
	if managed, ok := meta["managedFields"].([]any); ok {
		for _, e := range managed {
			entry, _ := e.(map[string]any)
			owned, _ := entry["fieldsV1"].(map[string]any)
			for name := range owned {
				owned[name] = map[string]any{}
			}
		}
		out["managedFields"] = managed
	}
	return out
}

// identity returns the identity and the labels of an object of a manifest.
func (f *fields) identity(content map[string]any, key object.Key) map[string]any {
	f.annotations(content, key, nil)
	meta, _ := content["metadata"].(map[string]any)
	return map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"],
		"metadata": pick(meta, []string{"name", "generateName", "namespace", "labels", "annotations"})}
}

// annotations removes the annotations that are not captured.
func (f *fields) annotations(content map[string]any, key object.Key, stated map[string]bool) {
	meta, _ := content["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for name := range annotations {
		switch {
		case name == setAppliedAnnotation, name == format.CapturedAnnotation: // only a snapshot marks objects
		case stated[name], stated != nil && name == appliedAnnotation, slices.Contains(readAnnotations, name),
			strings.HasPrefix(name, fleetGroup+"/"), key.GroupKind() == namespaceKind && f.namespaces[name]:
			continue
		}
		delete(annotations, name)
	}
	if annotations != nil && len(annotations) == 0 {
		delete(meta, "annotations")
	}
}

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// pick returns the members of an object at some paths: "spec.versions[].name".
func pick(content map[string]any, paths []string) map[string]any {
	out := map[string]any{}
	for _, path := range paths {
		copyPath(out, content, strings.Split(path, "."))
	}
	return out
}

func copyPath(into, from map[string]any, path []string) {
	name, list := strings.CutSuffix(path[0], "[]")
	v, ok := from[name]
	if !ok {
		return
	}
	if len(path) == 1 {
		into[name] = v
		return
	}
	if !list {
		inner, _ := v.(map[string]any)
		copyPath(child(into, name), inner, path[1:])
		return
	}
	elements, _ := v.([]any)
	copied, _ := into[name].([]any)
	for len(copied) < len(elements) {
		copied = append(copied, map[string]any{})
	}
	for i, e := range elements {
		element, _ := e.(map[string]any)
		to, _ := copied[i].(map[string]any)
		copyPath(to, element, path[1:])
	}
	into[name] = copied
}

// child returns the object in a field. It adds an empty object if the field has none.
func child(content map[string]any, name string) map[string]any {
	inner, ok := content[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		content[name] = inner
	}
	return inner
}

// keepVariables removes the environment variables of a workload that are not read.
func keepVariables(content map[string]any) {
	containers, _ := child(child(child(content, "spec"), "template"), "spec")["containers"].([]any)
	for _, c := range containers {
		container, _ := c.(map[string]any)
		if env, ok := container["env"].([]any); ok {
			container["env"] = slices.DeleteFunc(env, func(e any) bool {
				variable, _ := e.(map[string]any)
				name, _ := variable["name"].(string)
				return !slices.Contains(workloadVariables, name)
			})
		}
	}
}

// public takes the data of a Secret out that no bundle desires: what an audit reads of it is not secret, and not
// masked.
func (f *fields) public(content map[string]any, key object.Key) map[string]any {
	if _, desired := f.desired[key]; desired || key.GroupKind() != secretKind.GroupKind() || content["data"] == nil {
		return nil
	}
	data := content["data"]
	delete(content, "data")
	return map[string]any{"data": data}
}

// secret adds the data of a Secret that an audit reads although no bundle desires it: the namespace that an agent
// watches, and the address and the CA in the kubeconfig of one of Fleet's Clusters. The Secrets in which Fleet keeps
// Helm values are captured with the bundles.
func (f *fields) secret(content, out map[string]any, key object.Key) {
	if f.bundles && (content["type"] == values.BundleType || content["type"] == values.DeploymentType) {
		out["data"] = content["data"]
		delete(child(child(out, "metadata"), "annotations"), format.CapturedAnnotation)
		return
	}
	data, _ := content["data"].(map[string]any)
	kept := map[string]any{}
	keep := func(name string, public func(string) (string, bool)) {
		text, ok := data[name].(string)
		raw, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil {
			return
		}
		if v, ok := public(string(raw)); ok {
			kept[name] = base64.StdEncoding.EncodeToString([]byte(v))
		}
	}
	if key.Name == fleet.AgentName {
		keep(fleet.AgentSecretNamespaceKey, func(v string) (string, bool) {
			return v, len(validation.IsDNS1123Label(v)) == 0
		})
	}
	if f.kubeConfigs[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}] {
		for _, name := range []string{agentconfig.URLKey, agentconfig.CAKey, agentconfig.KubeconfigKey} {
			keep(name, func(v string) (string, bool) { return agentconfig.Public(name, v), true })
		}
	}
	if len(kept) > 0 {
		out["data"] = kept
	}
}

// configMap adds the data of a ConfigMap that an audit reads although no bundle desires it: the settings of Fleet's
// controller, the journal, and what a webhook saw. ConfigMaps with the values of bundles are captured with the bundles.
func (f *fields) configMap(content, out map[string]any, key object.Key) {
	data, _ := content["data"].(map[string]any)
	labels, _ := child(content, "metadata")["labels"].(map[string]any)
	switch {
	case f.bundles && labels["owner"] != "helm": // Helm can keep its release records in ConfigMaps
		out["data"], out["binaryData"] = content["data"], content["binaryData"]
		annotations := child(child(out, "metadata"), "annotations")
		delete(annotations, format.CapturedAnnotation)
	case key.Name == fleet.ControllerName && data[agentconfig.ConfigKey] != nil:
		text, _ := data[agentconfig.ConfigKey].(string)
		out["data"] = map[string]any{agentconfig.ConfigKey: agentconfig.PublicConfig(text)}
	default:
		if kept := journal.Captured(key.Name, labels[journal.Label] == "true", data); kept != nil {
			out["data"] = kept
		}
	}
}

// fleetTypes are the types of Fleet's objects. A snapshot has exactly their fields.
var fleetTypes = map[string]func() any{
	"Bundle":                 func() any { return &v1alpha1.Bundle{} },
	"BundleDeployment":       func() any { return &v1alpha1.BundleDeployment{} },
	"BundleNamespaceMapping": func() any { return &v1alpha1.BundleNamespaceMapping{} },
	"Cluster":                func() any { return &v1alpha1.Cluster{} },
	"ClusterGroup":           func() any { return &v1alpha1.ClusterGroup{} },
	"Content":                func() any { return &v1alpha1.Content{} },
	"GitRepo":                func() any { return &v1alpha1.GitRepo{} },
	"ImageScan":              func() any { return &v1alpha1.ImageScan{} },
	"Schedule":               func() any { return &v1alpha1.Schedule{} },
	"ClusterRegistration":    func() any { return &v1alpha1.ClusterRegistration{} },
	"HelmOp":                 func() any { return &v1alpha1.HelmOp{} },
}

// typed returns the fields of one of Fleet's objects that its type states, without payloads.
func typed(content map[string]any, into any) (map[string]any, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	if err := object.Into(raw, into); err != nil {
		return nil, err
	}
	withoutPayload(into)
	if raw, err = json.Marshal(into); err != nil {
		return nil, err
	}
	out, _ := secret.DecodeJSON(raw)
	return out, nil
}

// present stands for a field of which only the presence is read.
var present = json.RawMessage("{}")

// withoutPayload removes what an object of Fleet may carry: the files of bundles and Helm values. The variables of
// agents are masked.
func withoutPayload(o any) {
	switch o := o.(type) {
	case *v1alpha1.Bundle:
		if len(o.Spec.HelmOpOptions) > 0 {
			o.Spec.HelmOpOptions = present
		}
	case *v1alpha1.BundleDeployment:
		if helm := o.Spec.Options.Helm; helm != nil {
			helm.Values, helm.TemplateValues = nil, nil
		}
		if len(o.Spec.HelmChartOptions) > 0 {
			o.Spec.HelmChartOptions = present
		}
	case *v1alpha1.Cluster:
		o.Spec.TemplateValues = nil
	case *v1alpha1.Content:
		o.Content = nil
		if o.Annotations == nil {
			o.Annotations = map[string]string{}
		}
		o.Annotations[format.CapturedAnnotation] = format.CapturedMetadata
	case *v1alpha1.GitRepo:
		for i := range o.Spec.Bundles {
			o.Spec.Bundles[i] = present
		}
	}
}
