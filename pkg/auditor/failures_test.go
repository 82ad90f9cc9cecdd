// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"math/rand/v2"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/watched"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/proxy"
)

// TestInterrupted checks that objects are Unknown while the API server cannot be reached, and correct afterwards, also
// those that changed in the meantime.
func TestInterrupted(t *testing.T) {
	installed(t)
	p := proxy.New(t, shared.Config())
	a := begin(t, p.Config())
	a.equal(shared.Config(), "start")
	for i := range 3 {
		p.Stop()
		poll.True(t, "the object is Unknown, or there is no result", func() bool {
			return a.result().Err != nil || a.state("one-0") == report.Unknown
		})
		if i%2 == 0 {
			remove(t, object("v1", "ConfigMap", "one-0"))
		} else {
			mutations[1].do(t, rand.New(rand.NewPCG(1, 1)))
		}
		p.Start()
		a.equal(shared.Config(), "the API server was reached again")
	}
}

// TestIdle checks that the auditor sends no request while nothing changes.
func TestIdle(t *testing.T) {
	installed(t)
	remove(t, object("v1", "ConfigMap", "one-0")) // the first missing object begins the watch of the journal
	p := proxy.New(t, shared.Config())
	a := begin(t, p.Config())
	a.equal(shared.Config(), "start")
	quiet, last := time.Now(), len(p.Received())
	poll.True(t, "the auditor has read the kinds again", func() bool {
		if n := len(p.Received()); n != last {
			quiet, last = time.Now(), n
		}
		return time.Since(quiet) > 4*time.Second
	})
	before := len(p.Received())
	remove(t, object("v1", "ConfigMap", "two-1"))
	a.equal(shared.Config(), "a deletion")
	if requests := p.Received()[before:]; len(requests) > 0 {
		t.Errorf("the auditor sent %d requests because of one change, the first one to %s", len(requests),
			requests[0].URL)
	}
}

// TestKinds checks that kinds that come and go are noticed, with their objects.
func TestKinds(t *testing.T) {
	installed(t)
	a := begin(t, shared.Config())
	a.equal(shared.Config(), "start")
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.auditor.example.com}
spec:
  group: auditor.example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
  - {name: v1, served: true, storage: true,
     schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
	shared.ApplyYAML(t, "kubectl", definition)
	a.equal(shared.Config(), "a new kind")
	id := fleet.SetID("gadgets", "")
	o := cluster.ReleaseOptions{BundleID: "gadgets", Namespace: apps, SetID: id, Hash: fleet.Hash(id),
		AgentNamespace: agentNamespace, Manifest: `
apiVersion: auditor.example.com/v1
kind: Gadget
metadata: {name: gadget}
spec: {size: 1}
`}
	shared.InstallRelease(t, o)
	reported(t, "gadgets", 1, 1)
	a.equal(shared.Config(), "an object of the new kind")
	patch(t, object("auditor.example.com/v1", "Gadget", "gadget"), `{"spec":{"size":2}}`)
	a.equal(shared.Config(), "a change of it")
	remove(t, cluster.Object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gadgets.auditor.example.com"))
	a.equal(shared.Config(), "the kind is gone")
	remove(t, object("v1", "Secret", "sh.helm.release.v1.gadgets.v1"))
	remove(t, cluster.Object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, "gadgets"))
	remove(t, cluster.Object("fleet.cattle.io/v1alpha1", "Bundle", workspace, "gadgets"))
	a.equal(shared.Config(), "the release is gone")
}

// TestRights checks that objects are Unknown when a right was taken away, and known when it was given back.
func TestRights(t *testing.T) {
	installed(t)
	const user = "auditor"
	read := []string{"list", "watch"}
	shared.Grant(t, user, "",
		rbacv1.PolicyRule{APIGroups: []string{""},
			Resources: []string{"secrets", "serviceaccounts", "namespaces"}, Verbs: read},
		rbacv1.PolicyRule{APIGroups: []string{"apps", "autoscaling", "fleet.cattle.io", "rbac.authorization.k8s.io",
			"apiextensions.k8s.io", "apiregistration.k8s.io"}, Resources: []string{"*"}, Verbs: read})
	config, err := clientcmd.BuildConfigFromFlags("", shared.UserKubeconfig(t, user))
	if err != nil {
		t.Fatal(err)
	}
	// A server does not end the watches of a user who lost a right.
	a := beginWith(t, config, watched.Options{WatchTimeout: 2 * time.Second})
	a.equal(config, "start")
	for range 2 {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "auditor-configmaps"},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: read}}}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta,
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}}
		for _, o := range []client.Object{role, binding} {
			if err := shared.Client().Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		poll.True(t, "the object is known", func() bool { return a.state("one-0") == report.Ready })
		a.equal(config, "the right was given")
		for _, o := range []client.Object{binding, role} {
			if err := shared.Client().Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		poll.True(t, "the object is Unknown", func() bool { return a.state("one-0") == report.Unknown })
		a.equal(config, "the right was taken away")
	}
}

// TestExpired checks that changes are not lost if the server does not have their history any more (410).
func TestExpired(t *testing.T) {
	c := cluster.Start(t, cluster.WithFleetCRDs(), cluster.WithAPIServerFlag("watch-cache", "false"))
	before := shared
	shared = c
	t.Cleanup(func() { shared = before })
	installed(t)
	p := proxy.New(t, c.Config())
	a := begin(t, p.Config())
	a.equal(c.Config(), "start")
	p.Stop()
	remove(t, object("v1", "ConfigMap", "one-0"))
	patch(t, object("v1", "ConfigMap", "two-1"), `{"data":{"key":"other"}}`)
	c.Compact(t)
	p.Start()
	a.equal(c.Config(), "the history was removed")
}
