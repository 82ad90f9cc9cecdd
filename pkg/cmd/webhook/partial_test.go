// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// TestStatusPartly checks that no object is reported as missing if it could not be read.
func TestStatusPartly(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "partly", "--release-namespaces=shop")
	read := []string{"get", "list"}
	user := f.granted(t, "reader", "",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets", "serviceaccounts",
			"services"}, Verbs: read},
		rbacv1.PolicyRule{APIGroups: []string{"admissionregistration.k8s.io", "discovery.k8s.io", "networking.k8s.io",
			"policy", "rbac.authorization.k8s.io"}, Resources: []string{"*"}, Verbs: read},
	)
	s, _ := f.status(t, user, "partly")
	if state := states(s)["namespaces"]; state != install.OK {
		t.Errorf("namespaces, which may be read: %s", state)
	}
	i := slices.IndexFunc(s.Checks, func(c install.Check) bool { return c.Name == "manifests" })
	if c := s.Checks[i]; c.State != install.Unknown || c.Details != nil ||
		!strings.Contains(c.Message, "not read: 1 object") {
		t.Errorf("without the Deployment: %s: %s %q", c.State, c.Message, c.Details)
	}
}
