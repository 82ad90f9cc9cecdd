// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	admissionreviewv1 "k8s.io/api/admission/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// auditor is the user whose requests the shared API server writes to its audit log before it handles them.
const auditor = "auditor"

// TestAuditOnlyReads checks, in the API server's audit log and metrics, that an audit sends read requests only and
// causes no admission call, also if objects differ. With --server-check=auto both must show the additional requests.
func TestAuditOnlyReads(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook+"\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: "+
		"stripped}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: gone}}")
	f.merge("kubectl-edit", configMap("settings"), `{"data":{"colour":"red"}}`)
	f.merge("kubectl-edit", object("v1", "Service", apps, "frontend"),
		`{"spec":{"sessionAffinity":"ClientIP","selector":{"app":"other"}}}`)
	f.removeOwnership(configMap("stripped"))
	f.remove(configMap("gone"))
	kubeconfig := f.user(auditor, rule("*", "*", "*"))
	calls := f.countAdmission(b)
	want := outcome{Status: 1, Deployments: map[string]string{"guestbook": "Modified"}, Objects: map[string]string{
		settings: "Modified", "service apps/frontend": "Modified", "configmap apps/stripped": "Unowned Unmarked",
		"configmap apps/gone": "Missing",
	}}
	for _, test := range []struct {
		args []string
		// other are the requests other than lists and discovery, by verb and resource.
		other map[string]int
	}{
		{nil, map[string]int{}},
		{[]string{"--diff", "--require-complete"}, map[string]int{}},
		{[]string{"--desired=auto"}, map[string]int{}},
		{[]string{"--server-check=auto"}, map[string]int{
			"get configmaps": 1, "get services": 1, "patch configmaps": 1, "patch services": 1,
			"create selfsubjectaccessreviews": 2}},
	} {
		read, counted, called := len(auditorsRequests(t)), f.countRequests(), calls()
		got := f.audit(append(test.args, "--kubeconfig", kubeconfig)...)
		if got.report == nil || got.status != want.Status {
			t.Fatalf("%v: status %d: %s", test.args, got.status, got.stderr)
		}
		if diff := cmp.Diff(want.Objects, outcomeOf(got).Objects); diff != "" {
			t.Errorf("%v: objects (-want +got):\n%s", test.args, diff)
		}
		lists, other := map[string]int{}, map[string]int{}
		for _, r := range auditorsRequests(t)[read:] {
			switch {
			case r.Verb == "list":
				lists[r.ObjectRef.Resource]++
			case r.Verb != "get" || r.ObjectRef.Resource != "": // discovery has no resource
				other[r.Verb+" "+r.ObjectRef.Resource]++
			}
		}
		if diff := cmp.Diff(test.other, other); diff != "" || lists["configmaps"] == 0 {
			t.Errorf("%v: the audit log has the lists %v, and of other requests (-want +got):\n%s", test.args, lists,
				diff)
		}
		f.awaitCounted(counted, lists, test.other)
		if more := calls() - called; (more > 0) != (len(test.other) > 0) {
			t.Errorf("%v: %d admission calls", test.args, more)
		}
	}
}

// auditEvent is the part of an audit log entry that tests read.
type auditEvent struct {
	Verb      string
	User      struct{ Username string }
	ObjectRef struct{ Resource, Namespace, Name string }
	// Annotations are only set at the end of a request.
	Annotations map[string]string
}

// auditorsRequests are the requests of the auditor so far. The server logs each request before it handles it, so
// none is missing.
func auditorsRequests(t *testing.T) []auditEvent {
	t.Helper()
	return slices.DeleteFunc(auditEvents(t), func(e auditEvent) bool { return e.User.Username != auditor })
}

// auditEvents are the entries of the shared server's audit log, without an entry that is still being written.
func auditEvents(t *testing.T) []auditEvent {
	t.Helper()
	file, err := os.Open(auditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	var out []auditEvent
	for decoder := json.NewDecoder(file); ; {
		var e auditEvent
		switch err := decoder.Decode(&e); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return out
		case err != nil:
			t.Fatal(err)
		}
		out = append(out, e)
	}
}

// countRequests returns the API server's own count of the requests for resources, by verb and resource.
func (f *fleetServer) countRequests() map[string]int {
	f.t.Helper()
	out := map[string]int{}
	for _, m := range f.serverMetric("apiserver_request_total").GetMetric() {
		labels := labelsOf(m)
		verb := map[string]string{"POST": "create", "PUT": "update", "APPLY": "patch"}[labels["verb"]]
		if verb == "" {
			verb = strings.ToLower(labels["verb"])
		}
		out[verb+" "+labels["resource"]] += int(m.GetCounter().GetValue())
	}
	return out
}

// awaitCounted returns when the API server has counted these lists since before, and exactly the other requests in
// want. It counts requests for ConfigMaps, Services and Secrets, which the server does not write itself here, and
// for reviews.
func (f *fleetServer) awaitCounted(before, lists, want map[string]int) {
	f.t.Helper()
	poll.Until(f.t, func() error {
		got := map[string]int{}
		for key, n := range f.countRequests() {
			verb, resource, _ := strings.Cut(key, " ")
			n -= before[key]
			if verb == "list" && n < lists[resource] {
				return fmt.Errorf("%d lists of %s are counted, want %d", n, resource, lists[resource])
			}
			counts := strings.HasSuffix(resource, "reviews") ||
				slices.Contains([]string{"configmaps", "secrets", "services"}, resource)
			if counts && n > 0 && verb != "list" && verb != "watch" {
				got[key] = n
			}
		}
		if !maps.Equal(want, got) {
			return fmt.Errorf("requests that the server counts (-want +got):\n%s", cmp.Diff(want, got))
		}
		return nil
	})
}

// countAdmission registers webhooks for every write of the auditor, and returns a function that counts the calls.
// The API server's metrics must confirm the count.
func (f *fleetServer) countAdmission(b *bundle) (calls func() int) {
	f.t.Helper()
	var served atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		review := &admissionreviewv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionreviewv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			f.t.Error(err)
		}
	}))
	f.t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	const name = "count.e2e.fleetdoctor.io"
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		f.ApplyYAML(f.t, "admin", fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: %s
metadata: {name: e2e-count}
webhooks:
- name: %s
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 30
  clientConfig: {url: %q, caBundle: %q}
  matchConditions: [{name: auditor, expression: 'request.userInfo.username == %q'}]
  rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], operations: ["*"]}]
`, kind, name, server.URL, base64.StdEncoding.EncodeToString(authority), auditor))
		f.removeAtEnd(object("admissionregistration.k8s.io/v1", kind, "", "e2e-count"))
	}
	before := int64(f.countAdmissionMetrics(name))
	calls = func() int {
		f.t.Helper()
		n := served.Load()
		poll.Until(f.t, func() error {
			if m := int64(f.countAdmissionMetrics(name)) - before; m != n {
				return fmt.Errorf("the API server counts %d admission calls, the webhooks %d", m, n)
			}
			return nil
		})
		return int(n)
	}
	probe := f.clientAs(auditor)
	poll.Until(f.t, func() error {
		was := calls()
		if err := probe.Create(f.t.Context(), b.withHelmOwnership(configMap("is-it-called")),
			client.DryRunAll); err != nil {
			return err
		}
		if calls() != was+2 {
			return errors.New("the webhooks are not called")
		}
		return nil
	})
	return calls
}

func (f *fleetServer) countAdmissionMetrics(name string) int {
	f.t.Helper()
	n := 0
	for _, m := range f.serverMetric("apiserver_admission_webhook_request_total").GetMetric() {
		if labelsOf(m)["name"] == name {
			n += int(m.GetCounter().GetValue())
		}
	}
	return n
}

// serverMetric is a metric of the API server. All its metrics are megabytes, so the others are not parsed.
func (f *fleetServer) serverMetric(name string) *dto.MetricFamily {
	f.t.Helper()
	c, err := rest.HTTPClientFor(f.Config())
	if err != nil {
		f.t.Fatal(err)
	}
	return families(f.t, c, strings.TrimSuffix(f.Config().Host, "/")+"/metrics", name)[name]
}

func labelsOf(m *dto.Metric) map[string]string {
	out := map[string]string{}
	for _, l := range m.GetLabel() {
		out[l.GetName()] = l.GetValue()
	}
	return out
}
