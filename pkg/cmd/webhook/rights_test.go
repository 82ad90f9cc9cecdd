// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// TestWithoutRights checks that the test is Unknown without any of the rights that it requires, and that the message
// names the right.
func TestWithoutRights(t *testing.T) {
	f := onCluster(t)
	f.answering(t, "restricted")
	user := f.UserKubeconfig(t, "tester")
	f.Grant(t, "tester", "",
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets"},
			Verbs: []string{"get", "list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services", "serviceaccounts"},
			Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{"admissionregistration.k8s.io", "rbac.authorization.k8s.io"},
			Resources: []string{"*"}, Verbs: []string{"get"}})
	unread := outcome{install.Unknown, installation.ResultUnknown, ""}
	for _, step := range []struct{ resource, verb string }{{"configmaps", "list"}, {"namespaces", "get"},
		{"secrets", "list"}} {
		d := f.expect(t, "without the right to "+step.verb+" "+step.resource, user, unread)
		if want := "cannot " + step.verb + " resource \"" + step.resource + "\""; !strings.Contains(d.Message, want) {
			t.Errorf("the message does not name the right %s: %s", want, d.Message)
		}
		f.Grant(t, "tester", "", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{step.resource},
			Verbs: []string{step.verb}})
	}
	f.expect(t, "without the right to patch", user, outcome{install.Unknown, installation.ResultUnknown,
		installation.Refused})
	f.Grant(t, "tester", "", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"},
		Verbs: []string{"patch"}})
	f.expect(t, "with all rights", user, outcome{install.OK, installation.Works, installation.Restored})
}
