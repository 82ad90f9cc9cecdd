// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// workspace is an estate with two Clusters and a Bundle on both.
func workspace() estate {
	e := newEstate("v0.16.1")
	total := document{"desiredReady": 1, "ready": 1}
	for _, name := range []string{"two", "one"} {
		e.add(document{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
			"metadata": document{"name": name, "namespace": "fleet-local", "creationTimestamp": past},
			"status": document{"namespace": "cluster-" + name, "summary": total, "resourceCounts": total,
				"desiredReadyGitRepos": 1, "readyGitRepos": 1, "agent": document{"lastSeen": past}}})
		bd, secret := e.deployment("web", past)
		for _, d := range []document{bd, secret} {
			delete(e, fmt.Sprint(d["kind"], "/cluster-one/web")) // where deployment adds it
			child(d, "metadata")["namespace"] = "cluster-" + name
			e.add(d)
		}
		labels, _ := child(bd, "metadata")["labels"].(document)
		labels["fleet.cattle.io/cluster"], labels["fleet.cattle.io/cluster-namespace"] = name, "fleet-local"
		bd["status"] = document{"appliedDeploymentID": "id", "release": "web/web:1", "ready": true, "nonModified": true,
			"display":        document{"state": "Ready"},
			"resourceCounts": total, "conditions": []any{document{"type": "Ready", "status": "True",
				"lastUpdateTime": past}}}
	}
	both := document{"desiredReady": 2, "ready": 2}
	bundle, _ := e.bundle("web", past)
	child(bundle, "spec")["targets"] = []any{document{"clusterSelector": document{}}}
	child(bundle, "status")["summary"] = both
	e["GitRepo/fleet-local/apps"]["status"] = document{"summary": both, "resourceCounts": both,
		"desiredReadyClusters": 2, "readyClusters": 2,
		"conditions": []any{document{"type": "Ready", "status": "True", "lastUpdateTime": past}}}
	return e
}

// namespaced returns one List for each kind in each of some namespaces, as kubectl get -n writes them; without
// namespaces for all.
func (e estate) namespaced(t *testing.T, namespaces ...string) string {
	t.Helper()
	lists := map[string][]any{}
	for _, key := range slices.Sorted(maps.Keys(e)) {
		d := e[key]
		namespace, _ := child(d, "metadata")["namespace"].(string)
		if len(namespaces) == 0 || slices.Contains(namespaces, namespace) {
			list := fmt.Sprint(d["kind"], " ", namespace)
			lists[list] = append(lists[list], d)
		}
	}
	var b strings.Builder
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		if err := json.NewEncoder(&b).Encode(document{"apiVersion": "v1", "kind": "List",
			"items": lists[list]}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// codesOf returns the codes of the findings in a snapshot.
func codesOf(t *testing.T, text string) []string {
	t.Helper()
	s, err := snapshot.Open(t.Context(), []string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	a, err := audit.Run(t.Context(), s, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range a.Findings {
		if f.Code != "FD607" {
			out = append(out, f.Code+" "+f.Object.Name)
		}
	}
	return out
}

// TestNamespacesNotCaptured checks that objects of namespaces that were not captured are not missing: in totals, among
// the targets and as parents.
func TestNamespacesNotCaptured(t *testing.T) {
	for _, namespaces := range [][]string{nil, {"cattle-fleet-system", "fleet-local", "cluster-one"}, {"fleet-local"},
		{"cluster-one", "cluster-two"}, {"cluster-one"}} {
		if found := codesOf(t, workspace().namespaced(t, namespaces...)); len(found) > 0 {
			t.Errorf("captured %q: %q", namespaces, found)
		}
	}
}

// TestTargetsNotCaptured checks that a Bundle of which the capture has left out the targets excludes no cluster.
func TestTargetsNotCaptured(t *testing.T) {
	e := workspace()
	delete(child(e["Bundle/fleet-local/web"], "spec"), "targets")
	if found := codesOf(t, e.namespaced(t)); len(found) > 0 {
		t.Errorf("%q", found)
	}
}

// TestNewCluster checks that a Cluster that has just joined lacks no BundleDeployment.
func TestNewCluster(t *testing.T) {
	for created, want := range map[string]int{recent: 0, past: 1} {
		e := workspace()
		e.add(document{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
			"metadata": document{"name": "three", "namespace": "fleet-local", "creationTimestamp": created},
			"status":   document{"namespace": "cluster-three"}})
		// captured, and there are none
		for _, kind := range []string{"ClusterGroup", "BundleNamespaceMapping", "HelmOp", "Content"} {
			e.add(document{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": kind,
				"metadata": document{"name": "unused", "namespace": "fleet-local"}})
		}
		a, err := audit.Run(t.Context(), e.open(t), audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.DeleteFunc(a.Findings, func(f check.Finding) bool { return f.Code != "FD302" })
		if len(found) != want {
			t.Errorf("created at %s: %d findings, want %d", created, len(found), want)
		}
	}
}

// TestOneKindNotCaptured checks that one kind that was captured in one namespace alone lacks nothing in the others,
// although the other kinds were captured in all of them.
func TestOneKindNotCaptured(t *testing.T) {
	for kind, namespace := range map[string]string{"": "", "BundleDeployment": "cluster-one", "Secret": "web"} {
		e, lists := workspace(), map[string][]any{}
		for _, key := range slices.Sorted(maps.Keys(e)) {
			of := fmt.Sprint(e[key]["kind"])
			if of != kind || child(e[key], "metadata")["namespace"] == namespace {
				lists[of] = append(lists[of], e[key])
			}
		}
		// A kind in several namespaces shows that the capture is not limited to one.
		lists["ConfigMap"] = []any{document{"apiVersion": "v1", "kind": "ConfigMap", "metadata": document{"name": "a",
			"namespace": "web"}},
			document{"apiVersion": "v1", "kind": "ConfigMap", "metadata": document{"name": "a", "namespace": "shop"}}}
		var b strings.Builder
		for _, of := range slices.Sorted(maps.Keys(lists)) {
			if err := json.NewEncoder(&b).Encode(document{"apiVersion": "v1", "kind": "List",
				"items": lists[of]}); err != nil {
				t.Fatal(err)
			}
		}
		if found := codesOf(t, b.String()); len(found) > 0 {
			t.Errorf("%s in namespace %s alone: %q", kind, namespace, found)
		}
	}
}
