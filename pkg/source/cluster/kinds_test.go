// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// brokenGroup is served by an aggregated API that does not answer.
var brokenGroup = schema.GroupVersion{Group: "broken.example.com", Version: "v1"}

// discoveries serve the same kinds and a broken group in both formats.
var discoveries = map[string]map[string]answer{
	"legacy": {
		"/apis": jsonAnswer(http.StatusOK, metav1.APIGroupList{Groups: []metav1.APIGroup{
			groupOf("apps", "v1"), groupOf("broken.example.com", "v1"), groupOf("many.example.com", "v2", "v1",
				"v3alpha1"),
		}}),
		"/apis/broken.example.com/v1": status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable),
		"/apis/many.example.com/v1": jsonAnswer(http.StatusOK, resources("many.example.com/v1",
			resource("widgets", "Widget", true), resource("gadgets", "Gadget", false))),
		"/apis/many.example.com/v2": jsonAnswer(http.StatusOK, resources("many.example.com/v2",
			resource("widgets", "Widget", true))),
		"/apis/many.example.com/v3alpha1": jsonAnswer(http.StatusOK, resources("many.example.com/v3alpha1",
			resource("widgets", "Widget", true), resource("gadgets", "Gadget", false))),
	},
	"aggregated": {
		"/api": aggregated(groupDiscovery("", version("v1",
			apidiscovery.APIResourceDiscovery{Resource: "componentstatuses", Scope: apidiscovery.ScopeCluster,
				Verbs:        []string{"get", "list"},
				ResponseKind: &metav1.GroupVersionKind{Kind: "ComponentStatus"}},
			found("", "configmaps", "ConfigMap", apidiscovery.ScopeNamespace),
			found("", "namespaces", "Namespace", apidiscovery.ScopeCluster)))),
		"/apis": aggregated(
			groupDiscovery("apps", version("v1", found("apps", "deployments", "Deployment",
				apidiscovery.ScopeNamespace))),
			groupDiscovery("broken.example.com", apidiscovery.APIVersionDiscovery{
				Version: "v1", Freshness: apidiscovery.DiscoveryFreshnessStale}),
			groupDiscovery("many.example.com",
				version("v2", found("many.example.com", "widgets", "Widget", apidiscovery.ScopeNamespace)),
				version("v1", found("many.example.com", "widgets", "Widget", apidiscovery.ScopeNamespace),
					found("many.example.com", "gadgets", "Gadget", apidiscovery.ScopeCluster)),
				version("v3alpha1", found("many.example.com", "widgets", "Widget", apidiscovery.ScopeNamespace),
					found("many.example.com", "gadgets", "Gadget", apidiscovery.ScopeCluster)))),
	},
}

func aggregated(groups ...apidiscovery.APIGroupDiscovery) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		_ = json.NewEncoder(w).Encode(apidiscovery.APIGroupDiscoveryList{
			TypeMeta: metav1.TypeMeta{APIVersion: "apidiscovery.k8s.io/v2", Kind: "APIGroupDiscoveryList"},
			Items:    groups,
		})
	}
}

func groupDiscovery(name string, versions ...apidiscovery.APIVersionDiscovery) apidiscovery.APIGroupDiscovery {
	return apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}, Versions: versions}
}

func version(name string, list ...apidiscovery.APIResourceDiscovery) apidiscovery.APIVersionDiscovery {
	for _, r := range list {
		r.ResponseKind.Version = name
	}
	return apidiscovery.APIVersionDiscovery{Version: name, Resources: list,
		Freshness: apidiscovery.DiscoveryFreshnessCurrent}
}

func found(group, name, kind string, scope apidiscovery.ResourceScope) apidiscovery.APIResourceDiscovery {
	return apidiscovery.APIResourceDiscovery{Resource: name, Scope: scope, Verbs: []string{"create", "get", "list"},
		ResponseKind: &metav1.GroupVersionKind{Group: group, Kind: kind}}
}

// scriptOf repeats each answer, because client-go requests a group that failed again.
func scriptOf(discovery map[string]answer) map[string][]answer {
	out := map[string][]answer{}
	for path, a := range discovery {
		out[path] = times(2, a)
	}
	return out
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for format, discovery := range discoveries {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := serve(t, scriptOf(discovery))
			kinds, err := s.open().Kinds(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			kind := func(apiVersion, name, resource string, namespaced bool) source.Kind {
				return source.Kind{GroupVersionKind: schema.FromAPIVersionAndKind(apiVersion, name), Resource: resource,
					Namespaced: namespaced}
			}
			want := []source.Kind{
				{GroupVersionKind: schema.FromAPIVersionAndKind("v1", "ComponentStatus"), Resource: "componentstatuses",
					ReadOnly: true},
				kind("v1", "ConfigMap", "configmaps", true),
				kind("v1", "Namespace", "namespaces", false),
				kind("apps/v1", "Deployment", "deployments", true),
				// the first version with this kind, in the order of the server
				kind("many.example.com/v1", "Gadget", "gadgets", false),
				kind("many.example.com/v2", "Widget", "widgets", true),
			}
			if diff := cmp.Diff(want, kinds.All()); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
			if _, _, ok := kinds.Lookup(schema.FromAPIVersionAndKind("many.example.com/v3alpha1", "Gadget")); !ok {
				t.Error("a version that is not preferred is not found")
			}
			_, failure, ok := kinds.Lookup(brokenGroup.WithKind("Anything"))
			if ok || failure.Reason != source.ReadFailed || failure.Detail == "" {
				t.Errorf("a kind of the broken group: %t, %+v, want %s", ok, failure, source.ReadFailed)
			}
			_, failure, ok = kinds.Lookup(schema.FromAPIVersionAndKind("other.example.com/v1", "Anything"))
			if ok || failure != whenUnserved {
				t.Errorf("a kind of an unknown group: %t, %+v, want %+v", ok, failure, whenUnserved)
			}
		})
	}
}

// TestKindsBroken checks that only the kinds of a broken group could not be read.
func TestKindsBroken(t *testing.T) {
	t.Parallel()
	for format, discovery := range discoveries {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			script := scriptOf(discovery)
			script[configMaps] = []answer{page("", "x/1")}
			c := serve(t, script).open()
			got, cover, err := collect(t, c, source.Query{Kind: brokenGroup.WithKind("Anything"),
				Fallback: []string{"x"}})
			failure, covered := cover.Of("x")
			if err != nil || len(got) > 0 || covered || failure.Reason != source.ReadFailed {
				t.Errorf("kind of the broken group: %v, %+v, %v; want %s", got, failure, err, source.ReadFailed)
			}
			got, cover, err = collect(t, c, source.Query{Kind: configMapKind})
			if _, covered := cover.Of("x"); err != nil || !covered {
				t.Errorf("kind of another group: covered %t, %v", covered, err)
			}
			if diff := cmp.Diff([]string{"x/1"}, got); diff != "" {
				t.Errorf("kind of another group (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKindsOnce checks that discovery is requested once, and again only if it failed.
func TestKindsOnce(t *testing.T) {
	t.Parallel()
	legacy := jsonAnswer(http.StatusOK, legacyDiscovery["/apis"])
	s := serve(t, map[string][]answer{"/apis": {forbidden, legacy}})
	c := s.open()
	if _, err := c.Kinds(t.Context()); err == nil || !strings.Contains(err.Error(), s.URL) ||
		!strings.Contains(err.Error(), "forbidden") {
		t.Errorf("discovery is forbidden: %v, want an error with the server and the reason", err)
	}
	for range 3 {
		if _, err := c.Kinds(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"GET /apis", "GET /apis"}, s.sent()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestKindsEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("test ended")
	s := serve(t, map[string][]answer{"/apis": {func(_ http.ResponseWriter, r *http.Request) {
		cancel(cause)
		<-r.Context().Done()
	}}})
	if _, err := s.open().Kinds(ctx); !errors.Is(err, cause) {
		t.Errorf("discovery ended with %v, want %v", err, cause)
	}
}
