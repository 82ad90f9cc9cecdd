// SPDX-License-Identifier: Apache-2.0

// Package object has the identity of objects, their order in documents, and the decoders of their JSON. It does not
// depend on Fleet, clusters or reports.
package object

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key is the identity of an object within one cluster, in all versions of its kind. Namespace is empty for
// cluster-scoped objects.
type Key struct {
	Group, Kind, Namespace, Name string
}

// GroupKind returns the kind without its version.
func (k Key) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// Type is the kind as kubectl names it: "deployment.apps".
func (k Key) Type() string {
	if k.Group == "" {
		return strings.ToLower(k.Kind)
	}
	return strings.ToLower(k.Kind) + "." + k.Group
}

// String writes the key for people: "deployment guestbook/frontend", "shop.example.com web/main".
func (k Key) String() string {
	kind := k.Type()
	if slices.Contains(impliedGroups, k.Group) {
		kind = strings.ToLower(k.Kind)
	}
	if k.Namespace == "" {
		return kind + " " + k.Name
	}
	return kind + " " + k.Namespace + "/" + k.Name
}

// impliedGroups are the groups of Kubernetes whose kinds people name without them. No two of these groups have a kind
// of the same name.
var impliedGroups = []string{"apps", "batch", "autoscaling", "policy", "networking.k8s.io", "rbac.authorization.k8s.io",
	"apiextensions.k8s.io"}

// Compare orders keys by group, kind, namespace and name.
func (k Key) Compare(o Key) int {
	switch { // without comparisons that are not needed: reports sort all objects
	case k.Group != o.Group:
		return cmp.Compare(k.Group, o.Group)
	case k.Kind != o.Kind:
		return cmp.Compare(k.Kind, o.Kind)
	case k.Namespace != o.Namespace:
		return cmp.Compare(k.Namespace, o.Namespace)
	}
	return cmp.Compare(k.Name, o.Name)
}

// Ref identifies an object in a document: its Key with the version of the manifest or of the read object.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Key returns the identity without the version.
func (r Ref) Key() Key {
	return Key{Group: Group(r.APIVersion), Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// GroupVersionKind returns the kind with its version.
func (r Ref) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
}

// IsSecret reports whether the object is a Secret of the core group.
func (r Ref) IsSecret() bool { return r.Kind == "Secret" && Group(r.APIVersion) == "" }

// Compare orders references by key, then by version.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(r.Key().Compare(o.Key()), cmp.Compare(r.APIVersion, o.APIVersion))
}

// Group returns the group of an apiVersion: "apps" of "apps/v1", "" of "v1".
func Group(apiVersion string) string {
	return apiVersion[:max(0, strings.LastIndexByte(apiVersion, '/'))]
}

// Content is an object as apimachinery's unstructured package represents it: map[string]any, []any, string, bool,
// int64, float64, nil.
type Content = map[string]any

// ClusterID identifies a cluster that is read: the name that the user gives it, empty for the source itself.
type ClusterID string

// ID is the identity of an object. The same ConfigMap on two clusters is two objects.
type ID struct {
	Cluster ClusterID
	Key
}

// DeploymentID is the identity of a bundle deployment: one bundle on one cluster.
type DeploymentID struct {
	// Cluster is the cluster that is read and that it is deployed to; empty also if that is not known.
	Cluster ClusterID
	// Namespace and Name are those of the BundleDeployment. If there is none, Namespace is empty and Name is the
	// bundle id.
	Namespace, Name string
	// Release is the release ("namespace/name") of a bundle deployment of which only that is known.
	Release string
}

// String is "namespace/name", or the bundle id alone.
func (d DeploymentID) String() string {
	if d.Namespace == "" {
		return d.Name
	}
	return d.Namespace + "/" + d.Name
}

// Compare orders identities by namespace, name, release and cluster.
func (d DeploymentID) Compare(o DeploymentID) int {
	return cmp.Or(cmp.Compare(d.Namespace, o.Namespace), cmp.Compare(d.Name, o.Name),
		cmp.Compare(d.Release, o.Release), cmp.Compare(d.Cluster, o.Cluster))
}

// CellID is the identity of one desired object of one bundle deployment.
type CellID struct {
	Deployment DeploymentID
	Object     Key
}

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

// Meta is the identity and the metadata of an object. ReadMeta is much cheaper than Decode, and is sufficient for most
// objects of a cluster.
type Meta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		CreationTimestamp string            `json:"creationTimestamp"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		OwnerReferences   Owners            `json:"ownerReferences"`
	} `json:"metadata"`
}

// Owner is an entry of ownerReferences.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// Owners has at most one element when it is read: the controller, or else the first owner. A malicious object can have
// millions, in three bytes each.
type Owners []Owner

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *Owners) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != jsontext.KindBeginArray {
		return json.UnmarshalDecode(dec, (*[]Owner)(o)) // null, or an error
	}
	*o = nil
	var next Owner
	return Elements(dec, func() error {
		next = Owner{}
		if err := json.UnmarshalDecode(dec, &next); err != nil {
			return err
		}
		if len(*o) == 0 || next.Controller && !(*o)[0].Controller {
			*o = Owners{next}
		}
		return nil
	})
}

// Ref identifies the object.
func (m *Meta) Ref() Ref {
	return Ref{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}
}

// Controller is "Kind name" of the controller of the object, "" without one.
func (m *Meta) Controller() string {
	for _, o := range m.Metadata.OwnerReferences {
		if o.Controller {
			return o.Kind + " " + o.Name
		}
	}
	return ""
}

// ReadMeta reads the identity and the metadata from the JSON of one object.
func ReadMeta(raw []byte) (*Meta, error) {
	var m Meta
	if err := json.Unmarshal(raw, &m, lenient); err != nil {
		return nil, fmt.Errorf("reading metadata: %w", err)
	}
	return &m, nil
}

// lenient accepts duplicate names and invalid UTF-8, because some API servers write them.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Into decodes the JSON of one object into a typed value, by its json tags. It ignores unknown fields.
func Into(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into, lenient); err != nil {
		return fmt.Errorf("decoding object: %w", err)
	}
	return nil
}

// Defined returns the kind that a CustomResourceDefinition defines, given as JSON; ok is false for any other object.
func Defined(raw []byte) (kind schema.GroupKind, ok bool) {
	var crd struct {
		Kind string `json:"kind"`
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
		} `json:"spec"`
	}
	if err := Into(raw, &crd); err != nil || crd.Kind != "CustomResourceDefinition" {
		return kind, false
	}
	return schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}, true
}

// Members reads the JSON object that is next. It calls member after each name, and member reads the value. The name has
// its quotes and is valid until the value is read.
func Members(dec *jsontext.Decoder, member func(name jsontext.Value) error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// Elements reads the JSON array that is next. It calls element before each value, and element reads the value.
func Elements(dec *jsontext.Decoder, element func() error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != jsontext.KindEndArray {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}
