// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// stopCalls is the command that the program and its documentation name for an emergency.
func (f *fixture) stopCalls() string {
	return "kubectl --kubeconfig " + f.kubeconfig + " delete mutatingwebhookconfigurations," +
		"validatingwebhookconfigurations -l app.kubernetes.io/name=fleetdoctor-webhook"
}

// stop runs the command that the documentation names for an emergency.
func (f *fixture) stop(t *testing.T) {
	t.Helper()
	args := strings.Fields(f.stopCalls())
	out, err := exec.CommandContext(t.Context(), f.Kubectl(), args[1:]...).CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 2 || strings.Count(string(out), " deleted") != 2 {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
}

// TestStopCalls checks that the webhook configurations can be deleted while the webhook hangs and no write succeeds.
func TestStopCalls(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "emergency", "--exact", "--guard-default=deny")
	f.setURL(t, silentServer(t), nil)
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name,
		`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"},{"op":"replace",`+
			`"path":"/webhooks/0/timeoutSeconds","value":1},`+
			`{"op":"add","path":"/metadata/labels/objectset.rio.cattle.io~1hash","value":"0a"}]`)
	settings := &corev1.ConfigMap{}
	f.get(t, settings, "shop", "settings")
	write := func() error {
		changed := settings.DeepCopy()
		delete(changed.Labels, fleet.HashLabel)
		return f.Client().Patch(t.Context(), changed, client.MergeFrom(settings), client.DryRunAll)
	}
	poll.True(t, "the mutating webhook is called", func() bool {
		err := write()
		return err != nil && strings.Contains(err.Error(), `failed calling webhook "stamp.fleetdoctor.io"`)
	})
	f.stop(t)
	poll.True(t, "no webhook is called", func() bool { return write() == nil })
	f.get(t, &corev1.Secret{}, "emergency", "fleetdoctor-webhook-cert") // all other objects exist
	s, r := f.status(t, f.kubeconfig, "emergency")
	got := states(s)
	if r.status != 1 || s.Test != nil || got["mutating"] != install.Wrong || got["validating"] != install.Wrong ||
		got["test"] != "" {
		t.Errorf("without configurations: status %d: %s", r.status, r.out)
	}
	if r := f.call(t, "install", "-n", "other"); r.status != 3 ||
		!strings.Contains(r.errOut, "error: the webhook is installed in namespace emergency, not in other\n") {
		t.Errorf("into another namespace: status %d: %s%s", r.status, r.out, r.errOut)
	}
}

// TestInstallAgain checks that install creates deleted webhook configurations again, with the same options, whether
// they are given or not, and changes nothing else.
func TestInstallAgain(t *testing.T) {
	f := onCluster(t)
	options := []string{"--exact", "--guard-default=deny", "--release-namespaces=shop"}
	f.installed(t, "again", options...)
	before := f.mutating(t)
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	f.get(t, validating, "", installation.Name)
	deployment := &appsv1.Deployment{}
	f.get(t, deployment, "again", installation.Name)
	f.stop(t)
	again := slices.Concat([]string{"install"}, options)
	f.must(t, append(again, "--dry-run=server")...)
	f.absent(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name)
	f.must(t, again...)
	if diff := cmp.Diff(before.Webhooks, f.mutating(t).Webhooks); diff != "" {
		t.Errorf("webhooks (-before +after):\n%s", diff)
	}
	f.stop(t)
	s, _ := f.status(t, f.kubeconfig, "again")
	if !strings.Contains(fmt.Sprint(s.Checks), "`webhook install` corrects") {
		t.Errorf("status does not advise to install again: %+v", s.Checks)
	}
	notes := "Note: kept exact: true\nNote: kept guardDefault: \"deny\"\n" +
		"Note: kept releaseNamespaces: [\"shop\"]\n"
	if r := f.must(t, "install"); r.errOut != notes {
		t.Errorf("without options, it printed: %s", r.errOut)
	}
	if diff := cmp.Diff(before.Webhooks, f.mutating(t).Webhooks); diff != "" {
		t.Errorf("webhooks, without options (-before +after):\n%s", diff)
	}
	created := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if f.get(t, created, "", installation.Name); cmp.Diff(validating.Webhooks, created.Webhooks) != "" {
		t.Errorf("webhooks (-before +after):\n%s", cmp.Diff(validating.Webhooks, created.Webhooks))
	}
	if err := f.Client().Delete(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	if r := f.must(t, again...); r.errOut != "" { // one of them exists
		t.Errorf("without the validating one, it printed: %s", r.errOut)
	}
	f.get(t, created, "", installation.Name)
	after := &appsv1.Deployment{}
	if f.get(t, after, "again", installation.Name); after.Generation != deployment.Generation {
		t.Errorf("the Deployment was changed: generation %d, was %d", after.Generation, deployment.Generation)
	}
}
