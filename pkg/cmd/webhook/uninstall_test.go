// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// TestUninstallCertManager checks that the Secrets that cert-manager made for the webhook are deleted, and no other
// Secret: the chart gives them the label.
func TestUninstallCertManager(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "issued")
	secret := func(name, certificate string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "issued", Name: name,
			Annotations: map[string]string{"cert-manager.io/certificate-name": certificate},
			Labels:      map[string]string{install.NameLabel: installation.Name}}}
	}
	if err := f.Client().Delete(t.Context(), secret("fleetdoctor-webhook-cert", "")); err != nil {
		t.Fatal(err)
	}
	foreign := secret("foreign", "foreign")
	foreign.Labels = nil
	for _, s := range []*corev1.Secret{secret("fleetdoctor-webhook-cert", "fleetdoctor-webhook"),
		secret("fleetdoctor-webhook-ca", "fleetdoctor-webhook-ca"), foreign} {
		if err := f.Client().Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	r := f.must(t, "uninstall", "--yes")
	if strings.Count(r.out, "secret/fleetdoctor-webhook-c") != 2 || strings.Count(r.out, "secret/") != 2 {
		t.Errorf("it deleted:\n%s", r.out)
	}
	f.get(t, foreign, "issued", "foreign")
}
