// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
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

// common are kinds of which every cluster has a complete list, if it is read completely.
var common = []string{"v1/Namespace", "v1/Secret", "v1/ConfigMap", "v1/Service", "v1/ServiceAccount", "v1/Pod",
	"apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/DaemonSet", "batch/v1/Job",
	"rbac.authorization.k8s.io/v1/Role", "rbac.authorization.k8s.io/v1/RoleBinding",
	"rbac.authorization.k8s.io/v1/ClusterRole", "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
	"autoscaling/v2/HorizontalPodAutoscaler", "fleet.cattle.io/v1alpha1/Content", "apiextensions.k8s.io/v1/CustomResourceDefinition"}

// CompleteCluster adds what Complete adds, and an empty List of each kind of Fleet and of the common kinds: the whole
// cluster was captured.
func (c *Capture) CompleteCluster() error {
	for _, k := range common {
		c.kinds[k] = true
	}
	for _, k := range state.Kinds {
		c.kinds[v1alpha1.GroupVersion.String()+"/"+k.Name] = true
	}
	return c.Complete(nil)
}
