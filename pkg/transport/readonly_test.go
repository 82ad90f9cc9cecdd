// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// TestReadOnly checks that only GET requests arrive at the server, and that the error of another one names it.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	var arrived []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived = append(arrived, r.Method)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	config.Wrap(transport.ReadOnly)
	c := client(t, config, transport.Bounds{})
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodGet} {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/api/v1/pods?token=x",
			strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		want := method + " /api/v1/pods is not sent: the program may only read"
		switch {
		case method == http.MethodGet && err == nil:
		case err == nil, !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v", method, err)
		}
	}
	if len(arrived) != 1 {
		t.Errorf("arrived: %v", arrived)
	}
}
