// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/publish"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	sourcecluster "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// TestAuditorTells deletes an object between two audits. Its namespace and its BundleDeployment then have an Event, and
// the journal has an entry, which the finding of the next audit cites.
func TestAuditorTells(t *testing.T) {
	f := newFleet(t, shared)
	f.namespace("auditor")
	f.bindAccount("fleetdoctor-auditor", "auditor")
	f.deploy("guestbook", theme)
	client, err := kubernetes.NewForConfig(f.Config())
	if err != nil {
		t.Fatal(err)
	}
	written := publish.NewEvents(client.EventsV1(), publish.Options{Instance: "auditor-0", Now: time.Now,
		Log: logr.Discard()})
	book := publish.NewJournal(client.CoreV1(), publish.Options{Namespace: "auditor", Now: time.Now,
		Log: logr.Discard()})
	var follower view.Follower
	show := func() {
		t.Helper()
		src, err := sourcecluster.New(f.Config(), sourcecluster.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		found, err := engine.Run(t.Context(), src, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		step := follower.Next(view.New(found, time.Now()))
		written.Update(step)
		book.Update(step)
		if err := errors.Join(written.Write(t.Context()), book.Write(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	show()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: apps, Name: "theme"}}
	if err := f.Client().Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	show()

	for namespace, want := range map[string]string{apps: "FleetMissing: the object is not on the cluster",
		clusterNamespace: "changed: configmap apps/theme Missing"} {
		list, err := client.EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, e := range list.Items {
			if !strings.HasPrefix(e.Reason, "Fleet") {
				continue // that of another program, such as the API server's repair of addresses
			}
			notes = append(notes, e.Reason+": "+e.Note)
		}
		if len(notes) != 1 || !strings.Contains(notes[0], want) {
			t.Errorf("namespace %s has the Events %q", namespace, notes)
		}
		if err := client.EventsV1().Events(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{},
			metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if written.Dropped() > 0 {
		t.Errorf("%d Events were dropped", written.Dropped())
	}
	found := false
	for _, x := range f.audit().report.Findings {
		if x.Code == "FD101" && x.Object.Name == "theme" {
			found = true
			expectContains(t, "the evidence", strings.Join(x.Evidence, "\n"),
				"according to the journal of the auditor in namespace auditor")
		}
	}
	if !found {
		t.Error("the audit does not find the missing object")
	}
	if err := client.CoreV1().ConfigMaps("auditor").DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "fleetdoctor.io/journal=true"}); err != nil {
		t.Fatal(err)
	}
}

// bindAccount creates the ClusterRoleBinding by which an installation is found, until the test ends.
func (f *fleetServer) bindAccount(name, namespace string) {
	f.t.Helper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}}}
	if err := f.Client().Create(f.t.Context(), binding); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = f.Client().Delete(context.Background(), binding) })
}
