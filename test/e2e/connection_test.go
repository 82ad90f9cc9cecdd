// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
)

// TestNoConnection uses addresses and kubeconfigs without a usable cluster. Only the reason is printed.
func TestNoConnection(t *testing.T) {
	f := newFleet(t, shared)
	closed := kubeconfigOf(t, "https://"+closedPort(t))
	for name, test := range map[string]struct {
		args     []string
		contains []string
	}{
		"an unknown context": {args: []string{"--context", "nope"}, contains: []string{`"nope"`, "--context"}},
		"no such kubeconfig": {args: []string{"--kubeconfig", filepath.Join(t.TempDir(), "none")},
			contains: []string{"none"}},
		"connection refused": {args: []string{"--kubeconfig", closed},
			contains: []string{"reaching the cluster at https://127.0.0.1:", "refused"}},
		"anonymous": {args: []string{"--kubeconfig", kubeconfigOf(t, f.Config().Host),
			"--insecure-skip-tls-verify"}, contains: []string{"for its kinds", "forbidden", "system:discovery"}},
		"untrusted certificate": {args: []string{"--kubeconfig", kubeconfigOf(t, f.Config().Host)},
			contains: []string{"certificate"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.audit(test.args...)
			expect(t, r, outcome{Status: 3})
			expectContains(t, "stderr", r.stderr, test.contains...)
		})
	}
}

// closedPort returns an address on which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", free[0])
}

// TestRequestTimeout has a server that accepts requests and answers none.
func TestRequestTimeout(t *testing.T) {
	f := newFleet(t, shared)
	p := f.proxy()
	ended := make(chan struct{})
	p.onRequest(func(*http.Request) { <-ended })
	r := f.audit("--kubeconfig", p.kubeconfig, "--request-timeout", "200ms")
	close(ended)
	expect(t, r, outcome{Status: 3})
	expectContains(t, "stderr", r.stderr, "reaching the cluster at", "exceeded")
}

// TestInterrupted interrupts the program at each read. It ends without waiting for the response and prints no
// document.
func TestInterrupted(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.merge("kubectl-edit", configMap("settings"), `{"data":{"colour":"red"}}`) // a difference to confirm
	for name, at := range map[string]string{
		"version": "/version", "discovery": "/apis",
		"Fleet's objects": "/apis/fleet.cattle.io/v1alpha1/bundledeployments",
		"release records": "/api/v1/secrets", "live objects": "/api/v1/configmaps",
		"leftovers":         "/api/v1/persistentvolumes",
		"permissions":       "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		"differing objects": "/api/v1/namespaces/apps/configmaps/settings",
	} {
		t.Run(name, func(t *testing.T) {
			p := f.proxy()
			ctx, interrupt := context.WithCancel(t.Context())
			ended := make(chan struct{})
			p.onRequest(func(r *http.Request) {
				if r.URL.Path == at {
					interrupt()
					<-ended // no response before the program has ended
				}
			})
			r := run(ctx, t, "audit", "--kubeconfig", p.kubeconfig, "-o", "json", "--server-check=auto")
			close(ended)
			if r.status != 3 || r.stdout != "" || r.stderr != "interrupted: nothing was printed\n" {
				t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
			}
		})
	}
}
