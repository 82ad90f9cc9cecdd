// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// TestStatusURL checks that a webhook with a URL is drift, and that its replicas are unknown.
func TestStatusURL(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	const drifted = 8 // name, namespace and path of each Service are missing, and each URL is additional
	for url, want := range map[string]int{
		"https://localhost:9443/stamp":   drifted,
		"https://webhook.example.com/s":  drifted,
		"https://localhost.example.com/": drifted,
	} {
		f := healthy(t, a, Values{})
		for _, kind := range []string{install.MutatingKind.Kind, install.ValidatingKind.Kind} {
			f.change(kind, Name, func(o *install.Reading) {
				rawWebhooks(o.Object)[0]["clientConfig"] = map[string]any{"url": url, "caBundle": a.pem}
			})
		}
		s := Evaluate(f)
		checks := map[string]install.Check{}
		for _, c := range s.Checks {
			checks[c.Name] = c
		}
		if c := checks["manifests"]; len(c.Details) != want || (c.State == install.Wrong) != (want > 0) {
			t.Errorf("%s: %s, want %d differences: %q", url, c.State, want, c.Details)
		}
		if checks["deployment"].State != install.Note {
			t.Errorf("%s: the Deployment is %s", url, checks["deployment"].State)
		}
	}
}
