// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

const agentNamespace = "cattle-fleet-system"

// capture opens a snapshot of objects.
func capture(tb testing.TB, objects ...any) source.Source {
	tb.Helper()
	raw, err := json.Marshal(fields{"apiVersion": "v1", "kind": "List", "metadata": fields{}, "items": objects})
	if err != nil {
		tb.Fatal(err)
	}
	src, err := snapshot.Open(tb.Context(), []string{"-"}, bytes.NewReader(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return src
}

// managementOf returns the objects of a management cluster with Clusters of these names. The bundle guestbook is
// deployed to each of them.
func managementOf(clusters ...string) []any {
	var objects []any
	for _, name := range clusters {
		objects = append(objects,
			fields{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster", "metadata": fields{"name": name,
				"namespace": "fleet-default"},
				"status": fields{"namespace": "cluster-" + name, "agent": fields{"namespace": agentNamespace}}},
			fields{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "BundleDeployment",
				"metadata": fields{"name": "guestbook", "namespace": "cluster-" + name,
					"labels": fields{fleet.BundleLabel: "guestbook", fleet.BundleNamespaceLabel: "fleet-default",
						fleet.ClusterLabel: name, fleet.ClusterNamespaceLabel: "fleet-default"}},
				"spec": fields{"deploymentID": "s-1:1", "stagedDeploymentID": "s-1:1"},
				"status": fields{"appliedDeploymentID": "s-1:1", "release": "guestbook/guestbook:1", "ready": true,
					"nonModified": true, "display": fields{"state": "Ready"}}})
	}
	return objects
}

// downstreamOf returns the objects of the cluster with the agent of a Cluster, and a live ConfigMap that differs from
// the manifest of the bundle guestbook.
func downstreamOf(t *testing.T, cluster string) []any {
	t.Helper()
	desired := fields{"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": "settings",
		"namespace": "guestbook", "labels": fields{"app": "guestbook"}}, "data": fields{"level": "info"}}
	live := liveObject(desired, "guestbook")
	live["data"] = fields{"level": "debug"}
	manifest, err := json.Marshal(desired)
	if err != nil {
		t.Fatal(err)
	}
	return []any{live, recordSecret(t, "guestbook", string(manifest)+"\n"),
		fields{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": fields{"name": fleet.AgentName,
			"namespace": agentNamespace},
			"data": fields{fleet.AgentSecretNamespaceKey: []byte("cluster-" + cluster)}}}
}

// auditClusters audits a management cluster with these clusters in addition.
func auditClusters(t *testing.T, management []any, clusters ...audit.Cluster) *report.Audit {
	t.Helper()
	found, err := audit.Run(t.Context(), capture(t, management...),
		audit.Options{Clusters: func(*state.Fleet) ([]audit.Cluster, []source.Gap) { return clusters, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return found.Report()
}

func clusterOf(name string, src source.Source, err error) audit.Cluster {
	return audit.Cluster{Name: name, Open: func(context.Context) (source.Source, error) { return src, err }}
}

// clusterStates returns "cluster state" of each bundle deployment.
func clusterStates(r *report.Audit) []string {
	var out []string
	for _, bd := range r.BundleDeployments {
		out = append(out, fmt.Sprintf("%s %s%s", bd.Cluster, bd.State, bd.Reason))
	}
	return out
}

// gapsOf returns "cluster reason" of each gap that has a cluster.
func gapsOf(r *report.Audit) []string {
	var out []string
	for _, g := range r.Gaps {
		if g.Cluster != "" {
			out = append(out, g.Cluster+" "+g.Reason)
		}
	}
	return out
}

// TestClusters reads two clusters in addition to the management cluster. A third one cannot be opened.
func TestClusters(t *testing.T) {
	got := auditClusters(t, managementOf("one", "two", "three"),
		clusterOf("fleet-default/one", capture(t, downstreamOf(t, "one")...), nil),
		clusterOf("second", capture(t, downstreamOf(t, "two")...), nil),
		clusterOf("fleet-default/three", nil, errors.New("no route to host")))
	if diff := cmp.Diff([]string{"fleet-default/one Modified", "fleet-default/three UnknownClusterNotRead",
		"fleet-default/two Modified"}, clusterStates(got)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"fleet-default/three ReadFailed"}, gapsOf(got)); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	var clusters []string
	for _, c := range got.Source.Clusters {
		clusters = append(clusters, c.Name+" "+c.Cluster)
	}
	if diff := cmp.Diff([]string{"fleet-default/one fleet-default/one", "second fleet-default/two"},
		clusters); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	var modified []report.Finding
	for _, f := range got.Findings {
		if f.Code == "FD104" {
			modified = append(modified, f)
		}
	}
	if len(modified) != 1 || !slices.Equal(modified[0].Clusters, []string{"fleet-default/one", "fleet-default/two"}) {
		t.Fatalf("the same drift on two clusters is not one finding: %+v", modified)
	}
	for i, name := range []string{"one", "two"} {
		on := modified[0].PerCluster[i]
		if on.BundleDeployment != "cluster-"+name+"/guestbook" || len(on.Remedies) == 0 || on.ID != modified[0].IDs[i] {
			t.Errorf("the finding on cluster %s: %+v", name, on)
		}
	}
}

// TestManifestsDropped expects that the manifests of the desired objects are in memory only as long as they are needed.
func TestManifestsDropped(t *testing.T) {
	clusters := []audit.Cluster{clusterOf("one", capture(t, downstreamOf(t, "one")...), nil),
		clusterOf("two", capture(t, downstreamOf(t, "two")...), nil)}
	for _, keep := range []bool{false, true} {
		found, err := audit.Run(t.Context(), capture(t, managementOf("one", "two")...),
			audit.Options{KeepManifests: keep,
				Clusters: func(*state.Fleet) ([]audit.Cluster, []source.Gap) { return clusters, nil }})
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for _, d := range found.Desired.Deployments {
			for _, o := range d.Desired {
				if o.Raw != nil {
					kept++
				}
			}
		}
		if want := map[bool]int{true: 2}[keep]; kept != want {
			t.Errorf("KeepManifests %v: the result has %d manifests, want %d", keep, kept, want)
		}
	}
}

// TestClusterRepeated gives the same cluster twice. Its second copy must not be reported, because the releases would be
// leftovers.
func TestClusterRepeated(t *testing.T) {
	got := auditClusters(t, managementOf("one"), clusterOf("first", capture(t, downstreamOf(t, "one")...), nil),
		clusterOf("again", capture(t, downstreamOf(t, "one")...), nil))
	if diff := cmp.Diff([]string{"again Repeated"}, gapsOf(got)); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"fleet-default/one Modified"}, clusterStates(got)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	for _, f := range got.Findings {
		if f.Code == "FD606" || f.Code == "FD106" || f.Clusters != nil {
			t.Errorf("unexpected finding %+v", f)
		}
	}
}

// TestClusterRepeatedSecrets expects that the values of the Secrets of a cluster that is dropped are hidden: the
// management cluster may quote them.
func TestClusterRepeatedSecrets(t *testing.T) {
	const value = "invented-old-password"
	const manifest = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"login","namespace":"shop"},` +
		`"stringData":{"password":"` + value + `"}}` + "\n"
	found, err := audit.Run(t.Context(), capture(t, managementOf("one")...),
		audit.Options{Clusters: func(*state.Fleet) ([]audit.Cluster, []source.Gap) {
			return []audit.Cluster{clusterOf("first", capture(t, downstreamOf(t, "one")...), nil),
				clusterOf("again", capture(t, append(downstreamOf(t, "one"), recordSecret(t, "shop", manifest))...),
					nil)}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	text := oneText("the password is " + value)
	if got := found.Secrets.Redactor(text)(string(text)); strings.Contains(got, value) {
		t.Errorf("the text is %q", got)
	}
}

// oneText is a secret.Document that is a text.
type oneText string

func (t oneText) Texts(f func(...string)) { f(string(t)) }

func (oneText) Names(func(...string)) {}

func (oneText) Published(*secret.Published) {}

// TestClusterMisnamed gives clusters a name of another Cluster, and of none. The agent decides.
func TestClusterMisnamed(t *testing.T) {
	got := auditClusters(t, managementOf("one", "two"), clusterOf("two", capture(t, downstreamOf(t, "one")...), nil),
		clusterOf("other", capture(t, downstreamOf(t, "other")...), nil))
	if diff := cmp.Diff([]string{"other NotIdentified", "two AnotherCluster"}, gapsOf(got)); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"other Modified", "fleet-default/one Modified",
		"fleet-default/two UnknownClusterNotRead"}, clusterStates(got)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// TestManagementIsACluster finds the management cluster among its own clusters. That is no gap.
func TestManagementIsACluster(t *testing.T) {
	local := downstreamOf(t, "one")
	got := auditClusters(t, slices.Concat(managementOf("one"), local), clusterOf("fleet-default/one",
		capture(t, local...), nil))
	if len(gapsOf(got)) > 0 || len(got.Source.Clusters) > 0 {
		t.Errorf("gaps %v, clusters %v, want none", gapsOf(got), got.Source.Clusters)
	}
	if diff := cmp.Diff([]string{"fleet-default/one Modified"}, clusterStates(got)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}
