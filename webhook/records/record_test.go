// SPDX-License-Identifier: Apache-2.0

package records

import (
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	rec "github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
)

// TestRoom has a reader with room for one record, but not for two: what counts is what is kept, and whom there is no room for is read again.
func TestRoom(t *testing.T) {
	secret := func(namespace string, revision int, version, status string, objects int) *corev1.Secret {
		name := release.Name{Namespace: namespace, Name: "guestbook", Revision: revision}
		value := rec.Record{Bundle: "guestbook", Namespace: namespace, Revision: revision, Status: status, Objects: rec.ConfigMaps("", objects)}.Value()
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name.SecretName(), ResourceVersion: version},
			Data: map[string][]byte{release.DataKey: value}}
	}
	named := 0
	r := newReader(funcr.New(func(_, _ string) { named++ }, funcr.Options{}))
	web := secret("web", 1, "1", "deployed", 30)
	one, err := registry.Read(web.Data[release.DataKey])
	if err != nil {
		t.Fatal(err)
	}
	r.most = one.Bytes * 3 / 2
	for _, step := range []struct {
		name   string
		secret *corev1.Secret
		room   bool
		before func()
	}{
		{"at work", secret("web", 1, "0", "pending-install", 30), true, nil},
		{"the same, deployed", web, true, nil},
		{"of another namespace", secret("dba", 1, "2", "deployed", 30), false, nil},
		{"listed again", secret("dba", 1, "2", "deployed", 30), false, nil},
		{"another revision of the same", secret("web", 2, "3", "deployed", 30), false, nil},
		{"without objects", secret("web", 3, "4", "deployed", 0), true, nil},
		{"there before", web, true, nil},
		{"listed when there is room", secret("dba", 1, "2", "deployed", 30), true, func() { r.forget(web) }},
		{"grown too large", secret("dba", 1, "5", "deployed", 60), false, nil},
		{"in the room that it left", web, true, nil},
		{"in the room of what a list did not bring", secret("web", 2, "3", "deployed", 30), true, func() { r.keepOnly("web", nil) }},
		{"after a list of its own namespace", secret("dba", 1, "6", "deployed", 30), false, func() { r.keepOnly("dba", nil) }},
		{"after a list of all", secret("dba", 1, "6", "deployed", 30), true, func() { r.keepOnly("", nil) }},
	} {
		if step.before != nil {
			step.before()
		}
		into := registry.New()
		into.Put(r.reduce(step.secret).entry)
		if into.Complete() != step.room || r.kept > r.most {
			t.Errorf("%s: there is room: %t, want %t; %d bytes are kept of %d", step.name, into.Complete(), step.room, r.kept, r.most)
		}
	}
	if named != 5 {
		t.Errorf("%d times was a record named for which there is no room, want 5", named)
	}
	if r.keepOnly("", nil); r.kept != 0 || len(r.known) != 0 {
		t.Errorf("of nothing %d bytes are kept", r.kept)
	}
}
