// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// TestWithoutRights checks that the test is Unknown without any of the rights that it requires, and that status shows
// everything else.
func TestWithoutRights(t *testing.T) {
	f := onCluster(t)
	f.answering(t, "restricted")
	f.lost(t)
	user := f.UserKubeconfig(t, "tester")
	unread := outcome{install.Unknown, installation.ResultUnknown, "", ""}
	f.expect(t, "without any right", user, unread)

	read := []string{"get", "list"}
	f.Grant(t, "tester", "",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces", "serviceaccounts", "services"},
			Verbs: read},
		rbacv1.PolicyRule{APIGroups: []string{"admissionregistration.k8s.io", "apps", "discovery.k8s.io",
			"networking.k8s.io", "policy", "rbac.authorization.k8s.io"}, Resources: []string{"*"}, Verbs: read})
	unlisted := f.expect(t, "without the right to list records", user, unread)
	if !strings.Contains(unlisted.Message, "cannot list resource \"secrets\"") {
		t.Errorf("the message does not name the right: %s", unlisted.Message)
	}
	grant := func(resource string, verbs ...string) {
		t.Helper()
		f.Grant(t, "tester", "", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource},
			Verbs: verbs})
	}
	grant("secrets", read...)
	ungot := f.expect(t, "without the right to get the object", user, unread)
	if !strings.Contains(ungot.Message, "cannot get resource \"configmaps\"") {
		t.Errorf("the message does not name the right: %s", ungot.Message)
	}
	for _, step := range []struct {
		granted       string
		strip, remove installation.Answer
	}{
		{"get", installation.Refused, installation.Refused},
		{"patch", installation.Restored, installation.Refused},
		{"delete", installation.Restored, installation.Warned}, // it may not create the other object
	} {
		grant("configmaps", step.granted)
		want := outcome{install.Unknown, installation.ResultUnknown, step.strip, step.remove}
		d := f.expect(t, "with the right to "+step.granted, user, want)
		if d.Create == nil || d.Create.Answer != installation.Refused {
			t.Errorf("without the right to create: %+v", d.Create)
		}
	}
	grant("configmaps", "create")
	d := f.expect(t, "with all rights", user, outcome{install.OK, installation.Works, installation.Restored,
		installation.Warned})
	if d.Create == nil || d.Create.Answer != installation.Restored {
		t.Errorf("with the right to create: %+v", d.Create)
	}
}
