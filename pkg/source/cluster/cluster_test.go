// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer  answer
		version string
		err     string
	}{
		"version": {answer: jsonAnswer(http.StatusOK, map[string]any{"gitVersion": "v1.36.3"}),
			version: "v1.36.3"},
		"forbidden": {answer: forbidden}, // the cluster answers
		"unauthorized": {answer: status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized),
			err: "Unauthorized"},
		"not a cluster": {answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
		}, err: "not a Kubernetes version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string][]answer{"/version": {test.answer}})
			got, err := s.openWith(cluster.Options{Context: "mine"}).Describe(t.Context())
			want := source.Description{Origin: source.OriginCluster, Context: "mine", Server: s.URL,
				KubernetesVersion: test.version, TakenAt: now}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("description (-want +got):\n%s", diff)
			}
			switch {
			case test.err == "" && err != nil:
				t.Error(err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) ||
				!strings.Contains(err.Error(), s.URL)):
				t.Errorf("error %v, want one with %q and the server", err, test.err)
			}
		})
	}
}

func TestDescribeUnreachable(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c := s.open()
	s.Close()
	if _, err := c.Describe(t.Context()); err == nil || !strings.Contains(err.Error(), s.URL) {
		t.Errorf("the server is closed: error %v, want one with its address", err)
	}
}

// TestDescribePassword checks that user and password in the server's address are sent to the server and never
// displayed. The user may be a token.
func TestDescribePassword(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string][]answer{"/version": {jsonAnswer(http.StatusOK, map[string]any{}),
		status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized)},
		"/api":  {status(http.StatusForbidden, metav1.StatusReasonForbidden)},
		"/apis": {status(http.StatusForbidden, metav1.StatusReasonForbidden)}})
	c, err := cluster.New(&rest.Config{Host: strings.Replace(s.URL, "://", "://auditor:open-sesame@", 1)},
		cluster.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Describe(t.Context())
	if err != nil || d.Server != s.URL {
		t.Errorf("server %q, want %q: %v", d.Server, s.URL, err)
	}
	if _, _, signedIn := (&http.Request{Header: s.headers[0]}).BasicAuth(); !signedIn {
		t.Error("the password was not sent")
	}
	_, err = c.Describe(t.Context())
	_, kindsErr := c.Kinds(t.Context())
	for _, err := range []error{err, kindsErr} {
		if err == nil || strings.Contains(err.Error(), "open-sesame") {
			t.Errorf("error %v", err)
		}
	}
}

// TestNew checks that New refuses an invalid address and does not change the caller's configuration.
func TestNew(t *testing.T) {
	t.Parallel()
	if _, err := cluster.New(&rest.Config{Host: "https://[::1"}, cluster.Options{Now: time.Now}); err == nil {
		t.Error("an invalid address was accepted")
	}
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	if _, err := cluster.New(config, cluster.Options{Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	if config.QPS != 0 || config.NegotiatedSerializer != nil {
		t.Errorf("the caller's configuration changed: %+v", config)
	}
}
