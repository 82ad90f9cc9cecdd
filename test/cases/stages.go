// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Stage is a cluster that was captured at one time. Head is the document that describes it.
type Stage struct {
	Head []byte
	*Capture
}

// Stages reads a case file whose cluster was captured at several times, one after the other. A document of kind Stage
// begins the next one: its field "remove" names what no longer exists, and the documents after it are new or have
// changed.
func Stages(path string) ([]Stage, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	docs, err := split(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []Stage
	now := map[string][]byte{}
	var order []string
	for i := 0; i < len(docs); {
		end := i + 1
		for end < len(docs) && !begins(docs[end]) {
			end++
		}
		if order, err = change(now, order, docs[i:end]); err != nil {
			return nil, fmt.Errorf("%s: stage %d: %w", path, len(out)+1, err)
		}
		var all [][]byte
		for _, key := range order {
			all = append(all, now[key])
		}
		c, err := expanded(all)
		if err != nil {
			return nil, fmt.Errorf("%s: stage %d: %w", path, len(out)+1, err)
		}
		out = append(out, Stage{Head: docs[i], Capture: c})
		i = end
	}
	return out, nil
}

// named are the fields that identify a document.
type named struct {
	Kind      string `json:"kind"`
	Of        string `json:"of"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Revision  int    `json:"revision"`
	Metadata  struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
	Remove []string `json:"remove"`
}

// key is "KIND NAMESPACE/NAME", with the revision of a release, or "KIND OF" of a document that changes another one.
func (n *named) key() string {
	if n.Of != "" {
		return n.Kind + " " + n.Of
	}
	key := fmt.Sprintf("%s %s/%s", n.Kind, cmp.Or(n.Metadata.Namespace, n.Namespace), cmp.Or(n.Metadata.Name, n.Name))
	if n.Revision > 0 {
		key += fmt.Sprint(" ", n.Revision)
	}
	return key
}

func begins(doc []byte) bool {
	var n named
	return sigsyaml.Unmarshal(doc, &n) == nil && n.Kind == "Stage"
}

// change changes the documents by the stage that begins with docs[0], and returns their order.
func change(now map[string][]byte, order []string, docs [][]byte) ([]string, error) {
	var head named
	if err := sigsyaml.Unmarshal(docs[0], &head); err != nil {
		return nil, err
	}
	for _, key := range head.Remove {
		if now[key] == nil {
			return nil, fmt.Errorf("remove names %q, which does not exist", key)
		}
		delete(now, key)
		order = slices.DeleteFunc(order, func(k string) bool { return k == key })
	}
	for _, doc := range docs[1:] {
		var n named
		if err := sigsyaml.Unmarshal(doc, &n); err != nil {
			return nil, err
		}
		if now[n.key()] == nil {
			order = append(order, n.key())
		}
		now[n.key()] = doc
	}
	return order, nil
}

// common are kinds that every cluster with Fleet serves.
var common = []string{"v1/Namespace", "v1/Secret", "v1/ConfigMap", "v1/Service", "v1/ServiceAccount", "v1/Pod",
	"apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/DaemonSet", "batch/v1/Job",
	"rbac.authorization.k8s.io/v1/Role", "rbac.authorization.k8s.io/v1/RoleBinding",
	"rbac.authorization.k8s.io/v1/ClusterRole", "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
	"autoscaling/v2/HorizontalPodAutoscaler", "apiextensions.k8s.io/v1/CustomResourceDefinition",
	"fleet.cattle.io/v1alpha1/Content", "fleet.cattle.io/v1alpha1/BundleNamespaceMapping",
	"fleet.cattle.io/v1alpha1/ClusterRegistration", "fleet.cattle.io/v1alpha1/GitRepoRestriction",
	"fleet.cattle.io/v1alpha1/ImageScan", "fleet.cattle.io/v1alpha1/Schedule"}

// clusterScoped are the kinds of which no object has a namespace.
var clusterScoped = []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Content",
	"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}

// CompleteCluster adds the manifest of a snapshot that was taken from a live cluster: of each kind that occurs, of each
// kind of Fleet and of the common kinds, all objects were captured. The cluster serves no other kinds.
func (c *Capture) CompleteCluster() error {
	for _, k := range common {
		c.kinds[k] = true
	}
	for _, k := range state.Kinds {
		c.kinds[v1alpha1.GroupVersion.String()+"/"+k.Name] = true
	}
	m := snapshot.Manifest{APIVersion: snapshot.ManifestAPIVersion, Kind: snapshot.ManifestKind, Complete: true,
		Bundles: true, Versions: snapshot.Versions{Kubernetes: "v1.36.3"}, Gaps: []snapshot.Gap{},
		NotListed: source.Failure{Reason: source.KindNotServed}}
	for _, k := range slices.Sorted(maps.Keys(c.kinds)) {
		i := strings.LastIndexByte(k, '/')
		kind := schema.FromAPIVersionAndKind(k[:i], k[i+1:])
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		m.Captured = append(m.Captured, snapshot.Captured{Group: kind.Group, Version: kind.Version, Kind: kind.Kind,
			Everywhere: true})
		m.Resources = append(m.Resources, snapshot.Resource{Group: kind.Group, Version: kind.Version, Kind: kind.Kind,
			Name: plural.Resource, Namespaced: !slices.Contains(clusterScoped, kind.Kind)})
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var manifest map[string]any
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return err
	}
	c.Documents = append(c.Documents, manifest)
	return nil
}
