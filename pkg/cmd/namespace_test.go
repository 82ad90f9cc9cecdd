// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"
)

// TestNamespace checks that --namespace is the namespace of every object that an argument names, in every verb, and
// that a namespace that an argument states must be the same.
func TestNamespace(t *testing.T) {
	const deployments = "cluster-fleet-local-local-1a3d67d0a899"
	const otherNamespace = "is in namespace fleet-local, but --namespace is other"
	for args, want := range map[string]string{ // the error; "" without one
		"owner svc/guestbook/frontend -n ingress": `argument "svc/guestbook/frontend" is in namespace guestbook, ` +
			`but --namespace is ingress`,
		"owner svc/guestbook/frontend -n guestbook": "",
		"owner svc frontend -n guestbook":           "",
		"owner svc/frontend -n ingress":             "svc/ingress/frontend not found",
		"owner svc/frontend -n a/b":                 `parsing --namespace "a/b"`,
		"adopt svc/guestbook/frontend -n ingress": "is in namespace guestbook, " +
			"but --namespace is ingress",
		"adopt bundle/fleet-local/guestbook-guestbook svc/frontend -n guestbook": "is in namespace fleet-local, " +
			"but --namespace is guestbook",
		"audit bundle/fleet-local/guestbook-guestbook -n other":       otherNamespace,
		"audit bundle fleet-local/guestbook-guestbook -n other":       otherNamespace,
		"audit bundle/fleet-local/guestbook-guestbook -n fleet-local": "",
		"preflight bundle/fleet-local/guestbook-guestbook -n other":   otherNamespace,
		"audit cluster/fleet-local/local -n fleet-local":              "",
		"why bundle/fleet-local/guestbook-guestbook -n other":         otherNamespace,
		"impact gitrepo/fleet-local/guestbook -n other":               otherNamespace,
		"targets bundle/fleet-local/guestbook-guestbook -n other":     otherNamespace,
		"agents cluster/fleet-local/local -n other":                   otherNamespace,
		"agents fleet-local/local -n other":                           otherNamespace,
		// the workspace, or the namespace of the BundleDeployment
		"audit bundledeployment/guestbook-guestbook -n fleet-local":     "",
		"audit bundledeployment/guestbook-guestbook -n " + deployments:  "",
		"why bundledeployment/guestbook-guestbook -n fleet-local":       "",
		"why bundledeployment/guestbook-guestbook -n " + deployments:    "",
		"impact bundledeployment/guestbook-guestbook -n fleet-local":    "",
		"impact bundledeployment/guestbook-guestbook -n " + deployments: "",
		"why bundledeployment/" + deployments + "/guestbook-guestbook -n fleet-local": "is in namespace " +
			deployments + ", but --namespace is fleet-local",
	} {
		fields := strings.Fields(args)
		if fields[0] == "audit" || fields[0] == "agents" {
			fields = append(fields, "--fail-on=none")
		}
		got := run(t, append(fields, "--snapshot", sick)...)
		status := 2
		if strings.Contains(want, "not found") {
			status = 3
		}
		switch {
		case want != "" && (got.status != status || got.out != "" || !strings.Contains(got.errOut, want)):
			t.Errorf("%s: status %d, want %d and %q:\n%s%s", args, got.status, status, want, got.out, got.errOut)
		case want == "" && (got.status > 1 || got.errOut != "" || !strings.Contains(got.out, "fleet-local") &&
			!strings.Contains(got.out, "guestbook")):
			t.Errorf("%s: status %d:\n%s%s", args, got.status, got.out, got.errOut)
		}
	}
}

// TestSomeFound checks that the objects that were found are shown beside the errors for all others, in every verb with
// one result for each name.
func TestSomeFound(t *testing.T) {
	for args, found := range map[string]string{
		"owner svc/frontend svc/nope deploy/frontend svc/nope2":      "deployment guestbook/frontend",
		"why bundle/nope bundle/guestbook-guestbook bundle/nope2":    "guestbook-guestbook is not ready",
		"impact bundle/nope bundle/guestbook-guestbook bundle/nope2": "Deleting bundle/fleet-local/guestbook-guestbook",
		"targets bundle nope guestbook-guestbook nope2":              "bundle fleet-local/guestbook-guestbook",
		"agents nope local nope2":                                    "fleet-local/local",
	} {
		got := run(t, append(strings.Fields(args), "--snapshot", sick)...)
		if got.status != 3 || !strings.Contains(got.out, found) || !strings.Contains(got.errOut, "/nope not found\n") ||
			!strings.Contains(got.errOut, "/nope2 not found\n") {
			t.Errorf("%s: status %d, want 3 and %q:\n%s%s", args, got.status, found, got.out, got.errOut)
		}
	}
}
