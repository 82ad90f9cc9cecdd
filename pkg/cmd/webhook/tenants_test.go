// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// common are objects as a cluster with controllers puts them into the namespace of an installation.
const common = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: inn}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-root-ca.crt, namespace: inn}
---
apiVersion: v1
kind: Endpoints
metadata: {name: fleetdoctor-webhook, namespace: inn}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: inn, annotations: {kubernetes.io/service-account.name: default}}
type: kubernetes.io/service-account-token
---
apiVersion: v1
kind: Event
metadata: {name: event, namespace: inn}
involvedObject: {namespace: inn}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: slice, namespace: inn, labels: {kubernetes.io/service-name: fleetdoctor-webhook}}
addressType: IPv4
endpoints: []
`

// TestUninstallTenants holds that a namespace stays for the sake of anything that is somebody else's, and where that could not be looked at.
func TestUninstallTenants(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "inn")
	f.ApplyYAML(t, "somebody", common)
	for want, lodger := range map[string]client.Object{
		"secret inn/lodger": &corev1.Secret{}, "serviceaccount inn/lodger": &corev1.ServiceAccount{}, "lease.coordination.k8s.io inn/lodger": &coordinationv1.Lease{},
		"role.rbac.authorization.k8s.io inn/lodger": &rbacv1.Role{},
	} {
		lodger.SetNamespace("inn")
		lodger.SetName("lodger")
		if err := f.Client().Create(t.Context(), lodger); err != nil {
			t.Fatal(err)
		}
		r := f.must(t, "uninstall", "-n", "inn", "--dry-run=client")
		if r.errOut != "namespace/inn is left: it holds what is not of this webhook: "+want+"\n" || strings.Contains(r.out, "namespace/inn deleted") {
			t.Errorf("with %s in the namespace it said: %s%s", want, r.errOut, r.out)
		}
		if err := f.Client().Delete(t.Context(), lodger); err != nil {
			t.Fatal(err)
		}
	}

	get, list := []string{"get"}, []string{"get", "list"}
	user := f.granted(t, "innkeeper", "",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets", "serviceaccounts", "services"}, Verbs: get},
		rbacv1.PolicyRule{APIGroups: []string{"apps", "networking.k8s.io", "policy"}, Resources: []string{"*"}, Verbs: get},
		rbacv1.PolicyRule{APIGroups: []string{"admissionregistration.k8s.io", "rbac.authorization.k8s.io"}, Resources: []string{"*"}, Verbs: list},
	)
	r := f.as(t, user, "uninstall", "-n", "inn", "--dry-run=client")
	if r.status != 0 || strings.Contains(r.out, "namespace/inn deleted") ||
		!strings.HasPrefix(r.errOut, "namespace/inn is left: whether somebody else lives in it is not known, as this could not be listed: configmaps (forbidden), ") {
		t.Errorf("with what may not be listed: status %d: %s%s", r.status, r.errOut, r.out)
	}
	if r := f.must(t, "uninstall", "-n", "inn", "--dry-run=client"); r.errOut != "" || !strings.HasSuffix(r.out, "namespace/inn deleted (dry run)\n") {
		t.Errorf("with nobody else there: %s%s", r.errOut, r.out)
	}
}

// granted is the kubeconfig of a user who may do this, in one namespace or ("") in the whole cluster, and no more.
func (f *fixture) granted(t *testing.T, user, namespace string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	f.Grant(t, user, namespace, rules...)
	return f.UserKubeconfig(t, user)
}
