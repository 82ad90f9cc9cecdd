// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// builtin lists the kinds of Kubernetes 1.36 that can be listed, and those of Fleet, with the version that the API
// server prefers. A captured definition overrides it. The words after a kind are its short names. After "=" is a member
// that API servers write in each object, and that kubectl writes after metadata. object.ClusterScoped reports whether a
// kind has namespaces.
var builtin = []struct{ group, version, kinds string }{
	{"", "v1", "ConfigMap cm; Endpoints ep; Event; LimitRange limits; Namespace ns =status; Node no =status; " +
		"PersistentVolume pv =status; PersistentVolumeClaim pvc =status; Pod po =status; PodTemplate; " +
		"ReplicationController rc =status; ResourceQuota quota =status; Secret =type; Service svc =status; " +
		"ServiceAccount sa"},
	{"admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy; MutatingAdmissionPolicyBinding; " +
		"MutatingWebhookConfiguration; ValidatingAdmissionPolicy; ValidatingAdmissionPolicyBinding; " +
		"ValidatingWebhookConfiguration"},
	{"apiextensions.k8s.io", "v1", "CustomResourceDefinition crd crds =status"},
	{"apiregistration.k8s.io", "v1", "APIService =status"},
	{"apps", "v1", "ControllerRevision; DaemonSet ds =status; Deployment deploy =status; ReplicaSet rs =status; " +
		"StatefulSet sts =status"},
	{"autoscaling", "v2", "HorizontalPodAutoscaler hpa =status"},
	{"batch", "v1", "CronJob cj =status; Job =status"},
	{"certificates.k8s.io", "v1", "CertificateSigningRequest csr"},
	{"coordination.k8s.io", "v1", "Lease"},
	{"discovery.k8s.io", "v1", "EndpointSlice"},
	{"events.k8s.io", "v1", "Event"},
	{"flowcontrol.apiserver.k8s.io", "v1", "FlowSchema; PriorityLevelConfiguration"},
	{"networking.k8s.io", "v1", "IPAddress ip; Ingress ing =status; IngressClass =spec; " +
		"NetworkPolicy netpol =spec; ServiceCIDR"},
	{"node.k8s.io", "v1", "RuntimeClass"},
	{"policy", "v1", "PodDisruptionBudget pdb =status"},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole =rules; ClusterRoleBinding =roleRef; Role =rules; " +
		"RoleBinding =roleRef"},
	{"resource.k8s.io", "v1", "DeviceClass; ResourceClaim; ResourceClaimTemplate; ResourceSlice"},
	{"scheduling.k8s.io", "v1", "PriorityClass pc"},
	{"storage.k8s.io", "v1", "CSIDriver =spec; CSINode =spec; CSIStorageCapacity; StorageClass sc =provisioner; " +
		"VolumeAttachment =spec; VolumeAttributesClass vac"},
	{"fleet.cattle.io", "v1alpha1", "Bundle; BundleDeployment; BundleNamespaceMapping; Cluster; ClusterGroup; " +
		"ClusterRegistration; ClusterRegistrationToken; Content; GitRepo; GitRepoRestriction; HelmOp; " +
		"ImageScan; Policy; Schedule"},
}

// catalog has the kinds that Kubernetes, Fleet or a definition in the snapshot defines. The version is that of a
// built-in kind. files has the kinds by file names: by "deployments.apps", and by "deployments" for the first kind of
// that name.
type catalog struct {
	kinds      map[schema.GroupKind]source.Kind
	lastMember map[schema.GroupKind]string
	files      map[string]schema.GroupKind
}

func newCatalog() *catalog {
	c := &catalog{map[schema.GroupKind]source.Kind{}, map[schema.GroupKind]string{}, map[string]schema.GroupKind{}}
	for _, row := range builtin {
		for text := range strings.SplitSeq(row.kinds, "; ") {
			text, member, _ := strings.Cut(text, " =")
			words := strings.Fields(text)
			gvk := schema.GroupVersionKind{Group: row.group, Version: row.version, Kind: words[0]}
			namespaced := !object.ClusterScoped(gvk.GroupKind())
			c.add(source.Kind{GroupVersionKind: gvk, ShortNames: words[1:], Namespaced: namespaced})
			c.lastMember[gvk.GroupKind()] = member
		}
	}
	return c
}

func (c *catalog) add(k source.Kind) {
	k.Resource = cmp.Or(k.Resource, guess(k.GroupKind()))
	if old, ok := c.kinds[k.GroupKind()]; ok {
		k.Version = cmp.Or(k.Version, old.Version)
	}
	c.kinds[k.GroupKind()] = k
	delete(c.lastMember, k.GroupKind())
	c.files[schema.GroupResource{Group: k.Group, Resource: k.Resource}.String()] = k.GroupKind()
	if _, taken := c.files[k.Resource]; !taken {
		c.files[k.Resource] = k.GroupKind()
	}
}

// guess is the plural of a kind without a definition.
func guess(gk schema.GroupKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
	return plural.Resource
}

// named returns the kind of the resource in the name of a file: "deployments.apps.json", "pods.yaml.gz".
func (c *catalog) named(file string) (schema.GroupKind, bool) {
	name := strings.TrimSuffix(strings.ToLower(file), ".gz")
	switch ext := path.Ext(name); ext {
	case ".json", ".yaml", ".yml":
		name = strings.TrimSuffix(name, ext)
	}
	gk, ok := c.files[name]
	return gk, ok
}

var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// definition is a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
		} `json:"versions"`
	} `json:"spec"`
}

func (d *definition) kind() schema.GroupKind {
	return schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}
}

func (d *definition) named() bool { return d.Spec.Names.Kind != "" && d.Spec.Names.Plural != "" }

// served lists the versions that are served.
func (d *definition) served() []string {
	served := map[string]int{}
	for _, v := range d.Spec.Versions {
		if v.Served {
			served[v.Name] = 1
		}
	}
	return ordered(served)
}

// addDefinitions adds the kinds of the definitions that were captured.
func (c *catalog) addDefinitions(definitions []definition) {
	for i := range definitions {
		spec := &definitions[i].Spec
		c.add(source.Kind{
			GroupVersionKind: definitions[i].kind().WithVersion(""), Namespaced: spec.Scope != "Cluster",
			Resource: spec.Names.Plural, ShortNames: spec.Names.ShortNames,
		})
	}
}

// captured is what was captured of all kinds.
type captured struct {
	objects     map[schema.GroupKind][]entry
	lists       []list
	definitions []definition
	extents     map[schema.GroupKind]extent
}

// kinds lists the kinds of the captured objects, with the most frequent version first, of the captured Lists, and of
// the captured definitions, in the versions that they serve.
func (c *catalog) captured(all captured) *source.Kinds {
	out := &source.Kinds{}
	out.MissingMeans(source.Failure{
		Reason: source.NotInSnapshot, Detail: "neither an object nor a definition of this kind was captured",
	})
	add := func(gk schema.GroupKind, namespaced bool, versions ...string) {
		k, known := c.kinds[gk]
		if !known {
			k = source.Kind{Resource: guess(gk), Namespaced: namespaced}
		}
		for _, v := range versions {
			k.GroupVersionKind = gk.WithVersion(v)
			out.Add(k)
		}
	}
	for gk, entries := range all.objects {
		count := map[string]int{}
		for i := range entries {
			count[entries[i].version]++
		}
		// Objects without a namespace come first.
		add(gk, entries[len(entries)-1].key.Namespace != "", ordered(count)...)
	}
	for _, l := range all.lists {
		if l.element.Kind != "" {
			add(l.element.GroupKind(), true, l.element.Version)
		}
	}
	for i := range all.definitions {
		add(all.definitions[i].kind(), true, all.definitions[i].served()...)
	}
	for gk := range all.extents {
		if _, ok := out.Preferred(gk); !ok { // an empty List in a file named for its resource
			add(gk, true, c.kinds[gk].Version)
		}
	}
	return out
}

// ordered lists versions, those of most objects first, then in the order that Kubernetes prefers: v2, v1, v1beta1.
func ordered(count map[string]int) []string {
	return slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), version.CompareKubeAwareVersionStrings(b, a), cmp.Compare(a, b))
	})
}
