// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRequests counts the requests of an audit: discovery once, one list for each kind and page, and no request
// for a single object that does not differ.
func TestRequests(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.deploy("theme", theme+"\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}")
	ready := outcome{Deployments: map[string]string{"guestbook": "Ready", "theme": "Ready"}}
	expect(t, f.audit(), ready) // the server may ask to repeat the first request for a kind that is new
	clean := f.proxy()
	expect(t, f.audit("--kubeconfig", clean.kubeconfig), ready)
	asked := clean.requestLines()

	once := map[string]bool{}
	for _, request := range asked {
		if once[request] {
			t.Errorf("requested twice: %s", request)
		}
		once[request] = true
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("a request although nothing differs: %s", request)
		}
	}
	for _, path := range []string{"/api", "/apis", "/version"} {
		if !once["GET "+path] {
			t.Errorf("not requested: %s", path)
		}
	}
	lists := slices.DeleteFunc(slices.Clone(asked), func(r string) bool { return !strings.Contains(r, "?") })
	if others := len(asked) - len(lists); others != 3 {
		t.Errorf("%d requests are not lists, want 3: %v", others, asked)
	}
	for _, r := range lists {
		if !strings.Contains(r, "limit=500") {
			t.Errorf("a list without a limit: %s", r)
		}
	}
	whole := slices.DeleteFunc(slices.Clone(lists), func(r string) bool {
		return strings.Contains(r, "labelSelector=")
	})
	if len(whole) == len(lists) {
		t.Error("no kind was searched for objects with the hash label")
	}
	const fleet = "GET /apis/fleet.cattle.io/v1alpha1/"
	want := []string{
		"GET /api/v1/configmaps?fieldSelector=metadata.name=fleet-controller&limit=500",
		"GET /api/v1/configmaps?limit=500",
		"GET /api/v1/secrets?fieldSelector=metadata.name=fleet-agent&limit=500",
		"GET /api/v1/secrets?fieldSelector=type=fleet.cattle.io/bundle-deployment/v1alpha1&limit=500",
		"GET /api/v1/secrets?fieldSelector=type=fleet.cattle.io/bundle-values/v1alpha1&limit=500",
		"GET /api/v1/secrets?fieldSelector=type=helm.sh/release.v1&limit=500",
		"GET /api/v1/services?limit=500",
		"GET /apis/apps/v1/deployments?fieldSelector=metadata.name=fleet-agent&limit=500",
		"GET /apis/apps/v1/deployments?fieldSelector=metadata.name=fleet-controller&limit=500",
		"GET /apis/apps/v1/statefulsets?fieldSelector=metadata.name=fleet-agent&limit=500",
		fleet + "bundledeployments?limit=500", fleet + "bundlenamespacemappings?limit=500", fleet + "bundles?limit=500",
		fleet + "clustergroups?limit=500", fleet + "clusterregistrations?limit=500",
		fleet + "clusters?limit=500", fleet + "gitrepos?limit=500", fleet + "helmops?limit=500",
		fleet + "imagescans?limit=500", fleet + "schedules?limit=500",
	}
	if diff := cmp.Diff(want, whole); diff != "" {
		t.Errorf("lists without a label selector (-want +got):\n%s", diff)
	}
}

// TestRequestsForDifferences counts the requests that confirm the differences of three objects of two kinds.
func TestRequestsForDifferences(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.merge("kubectl-edit", configMap("settings"), `{"data":{"colour":"red"}}`)
	f.merge("kubectl-edit", configMap("texts"), `{"data":{"greeting":"bonjour"}}`)
	f.merge("kubectl-edit", object("v1", "Service", apps, "frontend"),
		`{"spec":{"sessionAffinity":"ClientIP","selector":{"app":"other"}}}`)
	p := f.proxy()
	f.audit("--kubeconfig", p.kubeconfig, "--server-check=auto")
	asked := slices.DeleteFunc(p.requestLines(), func(r string) bool {
		return strings.HasPrefix(r, "GET ") && (strings.Contains(r, "limit=") || !strings.Contains(r, "/namespaces/"))
	})
	const dry = "?dryRun=All&fieldManager=fleetdoctor-check&force=true"
	want := []string{
		"GET /api/v1/namespaces/apps/configmaps/settings", "GET /api/v1/namespaces/apps/configmaps/texts",
		"GET /api/v1/namespaces/apps/services/frontend",
		"PATCH /api/v1/namespaces/apps/configmaps/settings" + dry, "PATCH /api/v1/namespaces/apps/configmaps/texts" +
			dry,
		"PATCH /api/v1/namespaces/apps/services/frontend" + dry,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, r := range p.seen() {
		if r.status >= http.StatusBadRequest {
			t.Errorf("%s %s: status %d", r.method, r.url, r.status)
		}
	}
}
