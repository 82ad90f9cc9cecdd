// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// TestJudgeAddress holds that a webhook which calls an address has drifted, unless somebody tries one out on the API server's own machine.
func TestJudgeAddress(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	drifted := func(address string) []string {
		var out []string
		for kind, w := range map[string]string{mutating: install.StampWebhook, validating: install.GuardWebhook} {
			at := map[string]string{mutating: "mutating", validating: "validating"}[kind] + "webhookconfiguration.admissionregistration.k8s.io fleetdoctor-webhook: webhooks[" + w + "].clientConfig."
			out = append(out, at+"service is missing", at+"url is "+address+", should not be there")
		}
		return slices.Sorted(slices.Values(out))
	}
	for address, want := range map[string][]string{
		"https://localhost:9443/stamp":   nil,
		"https://127.0.0.1:9443/stamp":   nil,
		"https://[::1]:9443/stamp":       nil,
		"https://webhook.example.com/s":  drifted("https://webhook.example.com/s"),
		"https://localhost.example.com/": drifted("https://localhost.example.com/"),
	} {
		f := healthy(t, a, install.Options{})
		for _, kind := range []string{mutating, validating} {
			f.change(kind, install.Name, func(o *Found) {
				install.WebhooksOf(o.Object)[0]["clientConfig"] = map[string]any{"url": address, "caBundle": a.pem}
			})
		}
		s := Judge(f)
		checks := map[string]Check{}
		for _, c := range s.Checks {
			checks[c.Name] = c
		}
		if diff := cmp.Diff(want, checks["manifests"].Details); diff != "" || (checks["manifests"].State == Wrong) != (want != nil) {
			t.Errorf("%s: %s (-want +got):\n%s", address, checks["manifests"].State, diff)
		}
		if checks["deployment"].State != Note {
			t.Errorf("%s: the Deployment is %s", address, checks["deployment"].State)
		}
	}
}
