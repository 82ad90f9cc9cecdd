// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// agentsOf reports the agents of a case with a fault.
func agentsOf(t *testing.T, name string, f faulty) *report.Agents {
	t.Helper()
	f.Source = readCase(t, casesDir+"/"+name+".yaml").open(t)
	got, err := query.Agents(t.Context(), f, query.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestAgentsUnread: what may not be read makes a prediction unknown, and is a gap. The same data read completely
// predicts an import.
func TestAgentsUnread(t *testing.T) {
	failed := source.NotCovered(source.Failure{Reason: source.ReadFailed})
	for _, tc := range []struct {
		name    string
		fault   faulty
		results map[string]string // of the present and of a newer controller
		gaps    []string
	}{
		{"everything is read", faulty{}, map[string]string{"rancher": "re-import none", "registered": "none none"},
			nil},
		{"no ConfigMaps", faulty{lists: map[string]source.Coverage{"ConfigMap": forbidden}},
			map[string]string{"rancher": "unknown unknown", "registered": "none none"},
			[]string{"reading ConfigMap fleet-controller: Forbidden"}},
		{"no Secrets", faulty{lists: map[string]source.Coverage{"Secret": forbidden}},
			map[string]string{"rancher": "unknown unknown", "registered": "none none"},
			[]string{"reading the kubeconfig Secrets in namespace fleet-default: Forbidden"}},
		{"Secrets fail", faulty{lists: map[string]source.Coverage{"Secret": failed}},
			map[string]string{"rancher": "unknown unknown", "registered": "none none"},
			[]string{"reading the kubeconfig Secrets in namespace fleet-default: ReadFailed"}},
		{"no Deployments", faulty{lists: map[string]source.Coverage{"Deployment": forbidden}},
			map[string]string{"rancher": "unknown none", "registered": "none none"}, nil},
	} {
		got := agentsOf(t, "reimport-fleet-0.12", tc.fault)
		results := map[string]string{}
		for _, a := range got.Agents {
			results[a.Name] = a.Now.Result + " " + a.AfterUpgrade.Result
		}
		if diff := cmp.Diff(tc.results, results); diff != "" {
			t.Errorf("%s: results (-want +got):\n%s", tc.name, diff)
		}
		var gaps []string
		for _, g := range got.Gaps {
			gaps = append(gaps, g.What+": "+g.Reason)
		}
		if diff := cmp.Diff(tc.gaps, gaps); diff != "" {
			t.Errorf("%s: gaps (-want +got):\n%s", tc.name, diff)
		}
		a, err := auditCase(t, "reimport-fleet-0.12", tc.fault)
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(a.Findings, func(f report.Finding) bool { return f.Code == "FD501" })
		if want := strings.HasPrefix(tc.results["rancher"], "re-import"); found != want {
			t.Errorf("%s: FD501 %v, want %v", tc.name, found, want)
		}
	}
}

// counted counts the lists of Secrets by their selector.
type counted struct {
	faulty
	mu    sync.Mutex
	lists map[string]int
}

func (c *counted) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	c.mu.Lock()
	if q.Kind.Kind == "Secret" {
		c.lists[strings.Join(q.Namespaces, ",")+" "+q.FieldSelector]++
	}
	c.mu.Unlock()
	return c.faulty.List(ctx, q, yield)
}

// TestKubeconfigSecrets: a few Secrets are listed by name, many in one list of their namespace.
func TestKubeconfigSecrets(t *testing.T) {
	for n, want := range map[int]map[string]int{
		2: {"fleet-default metadata.name=c0-kubeconfig": 1, "fleet-default metadata.name=c1-kubeconfig": 1,
			" metadata.name=fleet-agent": 1},
		9: {"fleet-default type!=helm.sh/release.v1": 1, " metadata.name=fleet-agent": 1},
	} {
		c := readCase(t, casesDir+"/reimport-fleet-0.12.yaml")
		for i := range n {
			c.capture.Documents = append(c.capture.Documents, map[string]any{"apiVersion": "fleet.cattle.io/v1alpha1",
				"kind":     "Cluster",
				"metadata": map[string]any{"namespace": "fleet-default", "name": fmt.Sprintf("c%d", i)},
				"spec":     map[string]any{"kubeConfigSecret": fmt.Sprintf("c%d-kubeconfig", i)}})
		}
		c.capture.Documents = slices.DeleteFunc(c.capture.Documents, func(d map[string]any) bool {
			meta, _ := d["metadata"].(map[string]any)
			return d["kind"] == "Cluster" && meta["name"] == "rancher"
		})
		src := &counted{faulty: faulty{Source: c.open(t)}, lists: map[string]int{}}
		got, err := query.Agents(t.Context(), src, query.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, src.lists); diff != "" {
			t.Errorf("%d Clusters: lists of Secrets (-want +got):\n%s", n, diff)
		}
		if len(got.Agents) != n+1 {
			t.Errorf("%d agents, want %d", len(got.Agents), n+1)
		}
	}
}

// TestTwoAgents checks that the report does not depend on the order of maps if a Cluster has two agents, none of which
// has reported.
func TestTwoAgents(t *testing.T) {
	objects := managementOf("one")
	for _, namespace := range []string{"cattle-fleet-system", "cattle-fleet-local-system"} {
		metadata := fields{"name": fleet.AgentName, "namespace": namespace}
		container := fields{"image": "registry.example.com/fleet-agent:v0.16.1-" + namespace}
		secret := fields{
			"apiVersion": "v1",
			"kind":       "Secret",
			"type":       "Opaque",
			"metadata":   metadata,
			"data":       fields{fleet.AgentSecretNamespaceKey: []byte("cluster-one")},
		}
		deployment := fields{
			"apiVersion": "apps/v1",
			"kind":       "Deployment",
			"metadata":   metadata,
			"spec":       fields{"template": fields{"spec": fields{"containers": []any{container}}}},
		}
		objects = append(objects, secret, deployment)
	}
	cluster, _ := objects[0].(fields)
	cluster["status"] = fields{"namespace": "cluster-one"}
	seen := map[string]bool{}
	for range 20 {
		seen[auditClusters(t, objects).Source.FleetVersions.Agents["fleet-default/one"]] = true
	}
	if len(seen) != 1 || seen[""] {
		t.Errorf("versions %v", seen)
	}
}

// TestAgentPodsUnread checks that pods that may not be read are no reason for which an agent does not run.
func TestAgentPodsUnread(t *testing.T) {
	for fault, want := range map[string]string{"": "does not run: none of its pods is ready: pod fleet-agent-1 is not",
		"Pod": "may not run: none of its pods is ready, and its pods were not read (Forbidden)"} {
		got := agentsOf(t, "agent-pending", faulty{lists: map[string]source.Coverage{fault: forbidden}})
		if idle := got.Agents[0].Idle; !strings.Contains(idle, want) {
			t.Errorf("%q may not be read: got %q, want %q", fault, idle, want)
		}
	}
}
