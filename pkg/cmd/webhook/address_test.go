// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// TestInstallOverURL checks that an installation with URLs is found, reported and corrected. The webhook then writes
// the caBundle again.
func TestInstallOverURL(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "addressed")
	setURLs := func(host string) {
		t.Helper()
		f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name,
			urlPatch(t, "https://"+host+"/stamp", []byte("invented")))
		f.patch(t, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", installation.Name,
			urlPatch(t, "https://"+host+"/guard", nil))
	}
	setURLs("192.0.2.1:1")
	r := f.call(t, "status")
	for _, want := range []string{"Namespace: addressed",
		`.webhooks[name="stamp.fleetdoctor.io"].clientConfig.service.name is missing`,
		`.webhooks[name="stamp.fleetdoctor.io"].clientConfig.url https://192.0.2.1:1/stamp is not in the manifest`} {
		if !strings.Contains(r.text(), want) {
			t.Errorf("with a URL on another machine, status does not print %q:\n%s", want, r.out)
		}
	}
	if r := f.call(t, "install", "-n", "other"); r.status != 3 ||
		!strings.Contains(r.errOut, "the webhook is installed in namespace addressed, not in other") {
		t.Errorf("into another namespace: status %d: %s%s", r.status, r.out, r.errOut)
	}
	f.must(t, "install", "--dry-run=server")
	if f.mutating(t).Webhooks[0].ClientConfig.URL == nil {
		t.Error("a dry run removed the URL")
	}
	f.must(t, "install")
	c := f.mutating(t).Webhooks[0].ClientConfig
	if c.URL != nil || c.Service == nil || c.Service.Namespace != "addressed" {
		t.Errorf("after the installation: %+v", c)
	}
}

// TestHints checks that the hint names the required rights after a refusal, and other clusters only if this one did not
// answer.
func TestHints(t *testing.T) {
	f := onCluster(t)
	user := f.UserKubeconfig(t, "visitor")
	for verb, want := range map[string]string{"install": "bind and escalate",
		"uninstall": "It requires get, list and delete"} {
		r := f.as(t, user, verb)
		if r.status != 3 || !strings.Contains(r.errOut, want) || strings.Contains(r.errOut, "Is this the cluster") {
			t.Errorf("%s, without rights: status %d: %s", verb, r.status, r.errOut)
		}
	}
	if r := f.call(t, "uninstall", "--server=https://127.0.0.1:1"); r.status != 3 ||
		!strings.Contains(r.errOut, "current-context") {
		t.Errorf("no cluster: status %d: %s", r.status, r.errOut)
	}
}
