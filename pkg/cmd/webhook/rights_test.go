// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// TestTestWithoutRights checks that the result is unknown without the required rights.
func TestTestWithoutRights(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "restricted")
	a := newAdmission(t)
	a.answer(pass)
	f.setURL(t, a.URL, a.ca())
	user := f.UserKubeconfig(t, "tester")
	unread := outcome{3, installation.ResultUnknown, "", ""}
	f.expect(t, "without any right", user, unread)
	f.Grant(t, "tester", "shop", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"},
		Verbs: []string{"get", "patch"}})
	poll.True(t, "the webhook is called", func() bool {
		d, _ := f.test(t, user, "cm/settings", "-n", "shop")
		return d != nil && d.Strip != nil
	})
	unread.strip, unread.remove = installation.NotAnswered, installation.Refused
	f.expect(t, "without the right to read records", user, unread, "cm/settings", "-n", "shop")
	a.answer(restore)
	if r := f.as(t, user, "test", "cm/settings", "-n", "shop"); r.status != 0 {
		t.Errorf("when the label is restored: status %d: %s%s", r.status, r.out, r.errOut)
	}
}
