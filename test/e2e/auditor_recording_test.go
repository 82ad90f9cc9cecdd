// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
)

// runningAuditor is an auditor that runs until the end of the test.
type runningAuditor struct {
	*fleetServer
	address string
}

// auditor runs an auditor with the rights of an administrator, and returns when it has a state and leads.
func (f *fleetServer) auditor(args ...string) *runningAuditor {
	f.t.Helper()
	free, err := ports.Free(1)
	if err != nil {
		f.t.Fatal(err)
	}
	a := &runningAuditor{f, net.JoinHostPort("127.0.0.1", strconv.Itoa(free[0]))}
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan result)
	go func() {
		ended <- run(ctx, f.t, append([]string{"auditor", "serve", "--kubeconfig", f.kubeconfig, "-n", agentNamespace,
			"--metrics-bind-address=" + a.address, "--health-probe-bind-address=0"}, args...)...)
	}()
	f.t.Cleanup(func() {
		cancel()
		if r := <-ended; f.t.Failed() {
			f.t.Log(r.stderr)
		}
	})
	a.awaits("fleetdoctor_auditor_synced 1", "fleetdoctor_auditor_leader 1")
	return a
}

// page returns the metrics of the auditor itself, without those of its process.
func (a *runningAuditor) page() (string, error) {
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, "http://"+a.address+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	raw, err := io.ReadAll(response.Body)
	var out strings.Builder
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, "fleetdoctor_") {
			out.WriteString(line)
		}
	}
	return out.String(), err
}

// awaits waits until each of these regular expressions matches a line of the metrics.
func (a *runningAuditor) awaits(all ...string) {
	a.t.Helper()
	poll.Until(a.t, func() error {
		page, err := a.page()
		if err != nil {
			return err
		}
		for _, line := range all {
			if !regexp.MustCompile("(?m)^" + line + "$").MatchString(page) {
				return fmt.Errorf("no line %s in\n%s", line, page)
			}
		}
		return nil
	})
}

// manyConfigMaps is the manifest of n ConfigMaps with a prefix.
func manyConfigMaps(prefix string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d}\ndata: {key: value}\n---\n",
			prefix, i)
	}
	return out.String()
}

// TestAuditorRecording runs the auditors of a management cluster and of a cluster that it manages, while objects,
// releases and Fleet's own objects have problems. testdata has their metrics at two times, with which test/prometheus
// tests the rules and dashboards. The test checks that these recordings have the series of the present program. The
// flag -update records them again.
func TestAuditorRecording(t *testing.T) {
	t.Parallel()
	hub, edge := recordedHub(t), recordedEdge(t)
	onHub := hub.auditor()
	onEdge := edge.auditor("--cluster-name=fleet-default/edge")
	onHub.awaits(`fleetdoctor_findings\{code="FD202".* 1`) // its findings are held, so it comes last
	onHub.record("hub-before.prom")
	onEdge.record("edge-before.prom")

	for i := range 6 {
		hub.remove(configMap(fmt.Sprintf("guestbook-%d", i)))
	}
	hub.remove(object("v1", "Secret", apps, "sh.helm.release.v1.database.v1"))
	onHub.awaits(`fleetdoctor_bundledeployment_vanished_objects_total\{.*name="guestbook".* 6`,
		`fleetdoctor_bundledeployment_uninstalled_total\{.*bundle_exists="true".*name="database".* 1`)

	edge.remove(object("v1", "Secret", apps, "sh.helm.release.v1.cache.v1"))
	const strip = `{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null}}}`
	for i := range 3 {
		edge.merge("kubectl-edit", configMap(fmt.Sprintf("web-%d", i)), strip)
	}
	for range 3 { // a field flaps when it differs again for the second time
		edge.merge("flapping-operator", configMap("web-9"), `{"data":{"key":"other"}}`)
		onEdge.awaits(`fleetdoctor_bundledeployment_objects\{.*name="web".*state="Modified"} 1`)
		edge.merge("fleet-agent", configMap("web-9"), `{"data":{"key":"value"}}`)
		onEdge.awaits(`fleetdoctor_bundledeployment_objects\{.*name="web".*state="Modified"} 0`)
	}
	onEdge.awaits(`fleetdoctor_flapping_field_changes\{.* 2`,
		`fleetdoctor_bundledeployment_uninstalled_total\{.*bundle_exists="unknown".*name="cache".* 1`)
	onHub.record("hub-after.prom")
	onEdge.record("edge-after.prom")
}

// recordedHub is a management cluster with problems that exist from the beginning.
func recordedHub(t *testing.T) *fleetServer {
	t.Helper()
	f := newFleet(t, cluster.Start(t, cluster.WithFleetCRDs()))
	withImported(f)
	f.deploy("guestbook", manyConfigMaps("guestbook", 8))
	f.deploy("database", manyConfigMaps("database", 1))
	f.deploy("shop", manyConfigMaps("shop", 4))
	f.remove(configMap("shop-0"))
	f.merge("kubectl-edit", configMap("shop-1"), `{"data":{"key":"other"}}`)
	f.merge("kubectl-edit", configMap("shop-2"), `{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null}}}`)
	id := fleet.SetID("gone", "")
	f.InstallRelease(t, cluster.ReleaseOptions{BundleID: "gone", Namespace: apps, SetID: id, Hash: fleet.Hash(id),
		AgentNamespace: agentNamespace, Manifest: manyConfigMaps("gone", 1)})
	f.ApplyYAML(t, controller, fmt.Sprintf(`
apiVersion: fleet.cattle.io/v1alpha1
kind: GitRepo
metadata: {name: not-polled, namespace: %[1]s}
spec: {repo: "https://git.example.com/apps"}
status: {observedGeneration: 1, commit: c1, lastPollingTriggered: %[3]q, summary: {}, resourceCounts: {}}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: HelmOp
metadata: {name: charts, namespace: %[1]s}
status: {summary: {}, resourceCounts: {}}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: ClusterGroup
metadata: {name: all, namespace: %[1]s}
spec: {selector: {}}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: BundleDeployment
metadata:
  name: waiting
  namespace: %[2]s
  labels: {fleet.cattle.io/bundle-name: waiting, fleet.cattle.io/bundle-namespace: %[1]s,
    fleet.cattle.io/repo-name: apps, fleet.cattle.io/cluster: local, fleet.cattle.io/cluster-namespace: %[1]s}
spec: {deploymentID: "s-1:1", stagedDeploymentID: "s-1:1", dependsOn: [{name: stuck}]}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: BundleDeployment
metadata:
  name: stuck
  namespace: %[2]s
  labels: {fleet.cattle.io/bundle-name: stuck, fleet.cattle.io/bundle-namespace: %[1]s,
    fleet.cattle.io/repo-name: apps, fleet.cattle.io/cluster: local, fleet.cattle.io/cluster-namespace: %[1]s}
spec: {deploymentID: "s-1:1", stagedDeploymentID: "s-1:1"}
`, workspace, clusterNamespace, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)))
	return f
}

// recordedEdge is a cluster without Fleet's kinds and without problems.
func recordedEdge(t *testing.T) *fleetServer {
	t.Helper()
	f := onServer(t, cluster.Start(t))
	f.installAgent("")
	for name, n := range map[string]int{"web": 10, "cache": 1} {
		f.InstallRelease(t, f.bundle(name, manyConfigMaps(name, n)).options)
	}
	return f
}

// record compares the series of the metrics with a recording in testdata. With the flag -update, it writes the
// recording.
func (a *runningAuditor) record(name string) {
	a.t.Helper()
	page, err := a.page()
	if err != nil {
		a.t.Fatal(err)
	}
	golden.CompareAs(a.t, name, page, seriesOf)
}

// seriesOf returns the sorted series of metrics without their values.
func seriesOf(page string) string {
	var out []string
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, line[:strings.LastIndexByte(line, ' ')])
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
