// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
)

// TestStatusAddress holds that a webhook which calls an address has drifted, unless somebody tries one out on the API server's own machine.
func TestStatusAddress(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	const drifted = 8 // name, namespace and path of each Service are missing, each URL is extra
	for address, want := range map[string]int{
		"https://localhost:9443/stamp":   0,
		"https://127.0.0.1:9443/stamp":   0,
		"https://[::1]:9443/stamp":       0,
		"https://webhook.example.com/s":  drifted,
		"https://localhost.example.com/": drifted,
	} {
		f := healthy(t, a, Options{})
		for _, kind := range []string{mutatingKind.Kind, validatingKind.Kind} {
			f.change(kind, Name, func(o *Reading) {
				rawWebhooks(o.Object)[0]["clientConfig"] = map[string]any{"url": address, "caBundle": a.pem}
			})
		}
		s := Evaluate(f)
		checks := map[string]Check{}
		for _, c := range s.Checks {
			checks[c.Name] = c
		}
		if c := checks["manifests"]; len(c.Details) != want || (c.State == Wrong) != (want > 0) {
			t.Errorf("%s: %s, want %d differences: %q", address, c.State, want, c.Details)
		}
		if checks["deployment"].State != Note {
			t.Errorf("%s: the Deployment is %s", address, checks["deployment"].State)
		}
	}
}
