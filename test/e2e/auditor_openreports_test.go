// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/publish"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	objects "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	counting "github.com/fleetdoctor/kubectl-fleetdoctor/test/proxy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

// openReportsCRDs returns the directory with the definitions of the API, at the version in go.mod.
func openReportsCRDs(t *testing.T) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/openreports/reports-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "config", "crd")
}

// reporting is a writer of reports with a clock, whose requests are counted.
type reporting struct {
	*publish.Reports
	t      *testing.T
	now    time.Time
	proxy  *counting.Proxy
	client dynamic.Interface
}

func newReporting(t *testing.T, server *cluster.Cluster) *reporting {
	t.Helper()
	r := &reporting{t: t, now: views.Begin, proxy: counting.New(t, server.Config())}
	client, err := dynamic.NewForConfig(r.proxy.Config())
	if err != nil {
		t.Fatal(err)
	}
	r.client = client
	r.Reports = publish.NewReports(client, publish.Options{Log: logr.Discard(),
		Now: func() time.Time { return r.now }})
	return r
}

// show shows findings half a minute later, and returns the number of requests and of those that write.
func (r *reporting) show(findings ...view.Finding) (requests, writes int, err error) {
	r.now = r.now.Add(30 * time.Second)
	v := views.Of(0)
	v.Evaluated, v.Findings = r.now, findings
	r.Update(&view.Step{After: v})
	before := len(r.proxy.Received())
	err = r.Write(r.t.Context())
	sent := r.proxy.Received()[before:]
	for _, x := range sent {
		if x.Method != http.MethodGet {
			writes++
		}
	}
	return len(sent), writes, err
}

// reports returns the numbers of results of the reports on the server, and checks their limits.
func (r *reporting) reports() map[string]int {
	r.t.Helper()
	out := map[string]int{}
	for _, resource := range []string{"reports", "clusterreports"} {
		list, err := r.client.Resource(schema.GroupVersionResource{Group: v1alpha1.GroupVersion.Group,
			Version: v1alpha1.GroupVersion.Version, Resource: resource}).List(r.t.Context(), metav1.ListOptions{})
		if err != nil {
			r.t.Fatal(err)
		}
		for i := range list.Items {
			var x v1alpha1.Report
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &x); err != nil {
				r.t.Fatal(err)
			}
			x.ManagedFields = nil
			if raw, err := json.Marshal(&x); err != nil || len(raw) > 256<<10 || len(x.Results) > 500 {
				r.t.Errorf("%s/%s has %d bytes and %d results: %v", x.Namespace, x.Name, len(raw), len(x.Results), err)
			}
			if n := x.Summary.Fail + x.Summary.Warn + x.Summary.Skip; n != len(x.Results) || x.Summary.Pass > 0 {
				r.t.Errorf("%s/%s has the summary %+v of %d results", x.Namespace, x.Name, x.Summary, len(x.Results))
			}
			out[strings.TrimPrefix(x.Namespace+"/"+x.Name, "/")] = len(x.Results)
		}
	}
	return out
}

// missingObject returns a finding about a ConfigMap.
func missingObject(namespace, name string) view.Finding {
	return view.Finding{ID: namespace + name, Code: "FD101", Severity: report.Error,
		Title:   "a desired object is not on the cluster",
		Object:  view.RefOf(objects.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name}),
		Cluster: "fleet-default/edge", BundleDeployment: "cluster-edge/web", Bundle: "fleet-default/web",
		Message: "configmap " + name + " is not on the cluster", Remediation: "kubectl get configmap"}
}

// TestAuditorReports lets the auditor keep reports on a server with the API of OpenReports: it writes what changed, and
// nothing else, within the limits, and deletes only its own reports.
func TestAuditorReports(t *testing.T) {
	t.Parallel()
	server := cluster.Start(t, cluster.WithCRDs(openReportsCRDs(t)))
	for _, name := range []string{"shop", "web"} {
		server.Namespace(t, name)
	}
	// A report of another program.
	server.ApplyYAML(t, "kubectl", `
apiVersion: openreports.io/v1alpha1
kind: Report
metadata: {name: fleetdoctor, namespace: shop, labels: {app.kubernetes.io/managed-by: fleetdoctor}}
source: fleetdoctor
summary: {}
`)
	const foreign = "shop/fleetdoctor"
	r := newReporting(t, server)
	few := []view.Finding{missingObject("shop", "a"), missingObject("web", "b"), missingObject("", "c")}
	if _, writes, err := r.show(few...); writes != 3 || err != nil {
		t.Errorf("three new reports: %d writes: %v", writes, err)
	}
	expectReports(t, r, map[string]int{foreign: 0, "shop/fleetdoctor-auditor": 1, "web/fleetdoctor-auditor": 1,
		"fleetdoctor-auditor": 1})
	if requests, _, err := r.show(few...); requests != 0 || err != nil {
		t.Errorf("nothing changed: %d requests: %v", requests, err)
	}

	var many []view.Finding
	for i := range 1200 {
		many = append(many, missingObject("shop", fmt.Sprintf("object-%04d", i)))
	}
	if _, _, err := r.show(many...); err != nil {
		t.Error(err)
	}
	total := 0
	all := r.reports()
	for name, n := range all {
		if !strings.HasPrefix(name, "shop/") {
			t.Errorf("%s is left", name)
		}
		total += n
	}
	if total != 1200 || len(all) < 4 {
		t.Errorf("%d results of 1200 in %v", total, all)
	}

	// A report needs its namespace.
	if _, _, err := r.show(missingObject("gone", "a")); err == nil {
		t.Error("a report was written to a namespace that does not exist")
	}
	if _, _, err := r.show(missingObject("gone", "a")); err != nil {
		t.Error(err)
	}
	expectReports(t, r, map[string]int{foreign: 0, "fleetdoctor-auditor": 1})
	if _, writes, err := r.show(); writes != 1 || err != nil {
		t.Errorf("nothing is wrong: %d writes: %v", writes, err)
	}
	expectReports(t, r, map[string]int{foreign: 0})
}

func expectReports(t *testing.T, r *reporting, want map[string]int) {
	t.Helper()
	if got := r.reports(); !maps.Equal(got, want) {
		t.Errorf("the reports have these numbers of results: %v, want %v", got, want)
	}
}
