// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/publish"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

func resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: name}
}

// reportsAuditor shows views, with a clock and a client that keeps objects.
type reportsAuditor struct {
	now    time.Time
	client *fake.FakeDynamicClient
	*publish.Reports
}

func reportsNewAuditor() *reportsAuditor {
	a := &reportsAuditor{client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{resource("reports"): "ReportList",
			resource("clusterreports"): "ClusterReportList"})}
	a.restart()
	return a
}

func (a *reportsAuditor) restart() {
	a.Reports = publish.NewReports(a.client, publish.Options{Log: logr.Discard(),
		Now: func() time.Time { return a.now }})
}

// at shows findings at a time, and returns the requests that write.
func (a *reportsAuditor) at(t *testing.T, seconds int, findings ...view.Finding) []string {
	t.Helper()
	v := views.Of(seconds)
	v.Findings = findings
	a.now = v.Evaluated
	a.client.ClearActions()
	a.Update(&view.Step{After: v})
	if err := a.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a.writes()
}

func (a *reportsAuditor) writes() []string {
	var out []string
	for _, x := range a.client.Actions() {
		if x.GetVerb() != "list" {
			out = append(out, strings.TrimSuffix(x.GetVerb()+" "+x.GetResource().Resource+" "+x.GetNamespace(), " "))
		}
	}
	return out
}

func finding(id, namespace string) view.Finding {
	return view.Finding{ID: id, Code: "FD101", Severity: report.Error, Title: "a desired object is not on the cluster",
		Object:  view.RefOf(object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: id}),
		Cluster: "fleet-default/edge", BundleDeployment: "cluster-edge/web", Bundle: "fleet-default/web",
		Message: "configmap " + id + " is not on the cluster", Remediation: "kubectl get configmap"}
}

// results returns the results of all reports, by namespace and name.
func (a *reportsAuditor) results(t *testing.T) map[string][]v1alpha1.ReportResult {
	t.Helper()
	out := map[string][]v1alpha1.ReportResult{}
	for _, name := range []string{"reports", "clusterreports"} {
		list, err := a.client.Resource(resource(name)).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			var r v1alpha1.Report
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &r); err != nil {
				t.Fatal(err)
			}
			if raw, err := json.Marshal(&r); err != nil || len(raw) > 256<<10 {
				t.Errorf("%s has %d bytes: %v", r.Name, len(raw), err)
			}
			if n := r.Summary.Fail + r.Summary.Warn + r.Summary.Skip; n != len(r.Results) || r.Summary.Pass > 0 {
				t.Errorf("%s has the summary %+v of %d results", r.Name, r.Summary, len(r.Results))
			}
			out[r.Namespace+"/"+r.Name] = r.Results
		}
	}
	return out
}

func reportsCompare(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestWrites checks that reports are created, changed and deleted, and that one that is unchanged is not written.
func TestWrites(t *testing.T) {
	a := reportsNewAuditor()
	reportsCompare(t, "first", a.at(t, 0, finding("a", "shop"), finding("b", "web"), finding("c", "")),
		"create clusterreports", "create reports shop", "create reports web")
	reportsCompare(t, "within 30 s", a.at(t, 29, finding("a", "shop")))
	reportsCompare(t, "after 30 s", a.at(t, 30, finding("a", "shop"), finding("d", "shop"), finding("b", "web")),
		"update reports shop", "delete clusterreports")
	reportsCompare(t, "unchanged", a.at(t, 60, finding("a", "shop"), finding("d", "shop"), finding("b", "web")))
	a.restart()
	reportsCompare(t, "after a restart", a.at(t, 90, finding("a", "shop"), finding("d", "shop"), finding("b", "web")))
	reportsCompare(t, "nothing is wrong", a.at(t, 120), "delete reports shop", "delete reports web")
}

// TestResult checks a result, whose time is that when the finding was seen first.
func TestResult(t *testing.T) {
	a := reportsNewAuditor()
	a.at(t, 1, finding("a", "shop"))
	a.at(t, 40, finding("a", "shop"), finding("b", "shop"))
	got := a.results(t)["shop/fleetdoctor-auditor"]
	begin := views.Begin.Unix()
	if len(got) != 2 || got[0].Timestamp.Seconds != begin+1 || got[1].Timestamp.Seconds != begin+40 {
		t.Fatalf("the results are %+v", got)
	}
	r := got[0]
	if r.Result != "fail" || r.Policy != "FD101" || r.Subjects[0].Name != "a" || r.Properties["id"] != "a" ||
		r.Properties["command"] == "" {
		t.Errorf("the result is %+v", r)
	}
}

// TestReportsBound checks the number of results of a report, and that findings without a text are counted.
func TestReportsBound(t *testing.T) {
	a := reportsNewAuditor()
	var all []view.Finding
	for i := range 1200 {
		f := finding(fmt.Sprintf("object-%04d", i), "shop")
		if i >= 1100 {
			f.Message = ""
		}
		all = append(all, f)
	}
	a.at(t, 0, all...)
	got := a.results(t)
	if len(got) < 4 {
		t.Errorf("%d reports", len(got))
	}
	n := 0
	for name, results := range got {
		n += len(results)
		if len(results) > 500 {
			t.Errorf("%s has %d results", name, len(results))
		}
	}
	if last := got["/fleetdoctor-auditor"]; n != 1101 || len(last) != 1 || last[0].Result != "skip" ||
		!strings.HasPrefix(last[0].Description, "100 more") {
		t.Errorf("%d results, and of the cluster %+v", n, last)
	}
}

// TestNoNamespace checks that a finding about an object whose namespace does not exist is in the ClusterReport.
func TestNoNamespace(t *testing.T) {
	a := reportsNewAuditor()
	a.client.PrependReactor("create", "reports", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "gone")
	})
	v := views.Of(0)
	v.Findings, a.now = []view.Finding{finding("a", "gone")}, v.Evaluated
	a.Update(&view.Step{After: v})
	if err := a.Write(t.Context()); err == nil {
		t.Error("writing returned no error")
	}
	reportsCompare(t, "the next round", a.at(t, 30, finding("a", "gone")), "create clusterreports")
}
