// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"net/http"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// TestNames checks that no name, namespace or kind of a server or a snapshot changes the path of a request.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"..", ".", "../secrets/x", "../../../kube-system/secrets/x", "a/b", "%2e%2e",
		"..%2fsecrets%2fx"} {
		s := serve(t, nil)
		c := s.open()
		w := &cluster.Writer{Cluster: c, Manager: "test"}
		for _, r := range []object.Ref{
			{APIVersion: "v1", Kind: "ConfigMap", Namespace: "x", Name: name},
			{APIVersion: "v1", Kind: "ConfigMap", Namespace: name, Name: "x"},
		} {
			_, get := c.Get(t.Context(), configMap, r)
			_, _, dryRun := c.DryRunApply(t.Context(), configMap, r, []byte("{}"), checked)
			_, read := w.Read(t.Context(), r)
			_, patch := w.Patch(t.Context(), r, []byte("{}"))
			for what, err := range map[string]error{"get": get, "dry run": dryRun, "read": read, "patch": patch} {
				if err == nil {
					t.Errorf("%s of %+v: no error", what, r)
				}
			}
		}
		yield := func(source.Object) error { return nil }
		cover, err := c.List(t.Context(), source.Query{Kind: configMapKind, Namespaces: []string{name}}, yield)
		if f, covered := cover.Of(name); err != nil || covered || f.Reason != source.ReadFailed {
			t.Errorf("list of namespace %q: covered %v, %+v, error %v", name, covered, f, err)
		}
		other := configMap
		other.Resource = name
		if _, err := c.Get(t.Context(), other, ref); err == nil {
			t.Errorf("resource %q: no error", name)
		}
		if sent := s.sent(); len(sent) > 0 {
			t.Errorf("%q: the server received %v", name, sent)
		}
	}
	for _, gv := range []schema.GroupVersion{{Group: "..", Version: "v1"}, {Group: "example.com", Version: ".."}} {
		s := serve(t, map[string][]answer{
			"/api": {aggregated()},
			"/apis": {aggregated(groupDiscovery(gv.Group,
				version(gv.Version, found(gv.Group, "widgets", "Widget", apidiscovery.ScopeCluster))))},
		})
		kinds, err := s.open().Kinds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok := kinds.Lookup(gv.WithKind("Widget")); ok {
			t.Errorf("kind of %s: requests would have the path /apis/%s", gv, gv)
		}
	}
	s := serve(t, map[string][]answer{"/api/v1/namespaces/x.y/configmaps/a:b": {jsonAnswer(http.StatusOK,
		map[string]any{})}})
	if _, err := s.open().Get(t.Context(), configMap, object.Ref{Namespace: "x.y", Name: "a:b"}); err != nil {
		t.Errorf("a valid name: %v", err)
	}
}
