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

// secretOf is the Secret of a release's record with so many objects.
func secretOf(namespace, name string, revision int, version, status string, objects int) *corev1.Secret {
	n := release.Name{Namespace: namespace, Name: name, Revision: revision}
	value := rec.Record{Bundle: name, Namespace: namespace, Revision: revision, Status: status, Objects: rec.ConfigMaps("", objects)}.Value()
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: n.SecretName(), ResourceVersion: version},
		Data: map[string][]byte{release.DataKey: value}}
}

// TestRoom has a reader with room for four records: a namespace gets half of it, and what has room keeps it.
func TestRoom(t *testing.T) {
	named := 0
	r := newReader(registry.New(), funcr.New(func(_, _ string) { named++ }, funcr.Options{}), nil)
	one, err := registry.Read(secretOf("web", "guestbook", 1, "1", "deployed", 30).Data[release.DataKey])
	if err != nil {
		t.Fatal(err)
	}
	r.room.most = one.Bytes * 9 / 2
	secret := func(namespace, name string, revision int, version, status string) *corev1.Secret {
		return secretOf(namespace, name, revision, version, status, 30)
	}
	web := secret("web", "guestbook", 1, "1", "deployed")
	evil := secret("evil", "a", 1, "1", "deployed")
	for _, step := range []struct {
		name   string
		secret *corev1.Secret
		room   bool
		before func()
	}{
		{"at work", secret("web", "guestbook", 1, "0", "pending-install"), true, nil},
		{"the same, deployed", web, true, nil},
		{"one of many of another namespace", evil, true, nil},
		{"the next takes more than is left for others", secret("evil", "b", 1, "1", "deployed"), false, nil},
		{"listed again", secret("evil", "b", 1, "1", "deployed"), false, nil},
		{"another namespace has room", secret("dba", "guestbook", 1, "1", "deployed"), true, nil},
		{"an upgrade has room, though the namespace has its share", secret("web", "guestbook", 2, "2", "pending-upgrade"), true, nil},
		{"so it has when it is deployed", secret("web", "guestbook", 2, "3", "deployed"), true, nil},
		{"and when the one before is superseded", secret("web", "guestbook", 1, "4", "superseded"), true, nil},
		{"a third revision has none", secret("evil", "a", 3, "1", "deployed"), false, func() { r.keepNow(t, secret("evil", "a", 2, "1", "deployed")) }},
		{"without objects", secretOf("evil", "c", 1, "4", "deployed", 0), true, nil},
		{"grown too large", secretOf("dba", "guestbook", 1, "5", "deployed", 120), false, nil},
		{"in the room that it left", secret("dba", "guestbook", 1, "6", "deployed"), true, nil},
		{"in the room of one that is gone", secret("evil", "b", 1, "1", "deployed"), true, func() { r.forget(evil); r.forget(secret("evil", "a", 2, "1", "deployed")) }},
		{"in the room of what a list did not bring", secret("dbb", "guestbook", 1, "1", "deployed"), true, func() { r.keepOnly("web", nil) }},
		{"after a list of another namespace", secret("dbb", "x", 1, "1", "deployed"), false, func() { r.keepOnly("other", nil) }},
		{"after a list of all", secret("dbb", "x", 1, "1", "deployed"), true, func() { r.keepOnly("", nil) }},
	} {
		if step.before != nil {
			step.before()
		}
		into := registry.New()
		into.Put(r.keepNow(t, step.secret))
		if into.Complete() != step.room || r.room.taken > r.room.most {
			t.Errorf("%s: there is room: %t, want %t; %d bytes are taken of %d: %v", step.name, into.Complete(), step.room, r.room.taken, r.room.most, r.room.spaces)
		}
	}
	if named == 0 {
		t.Error("whom there is no room for was not named")
	}
	if r.keepOnly("", nil); r.room.taken != 0 || len(r.room.spaces)+len(r.room.revisions) > 0 {
		t.Errorf("when all is gone, %d bytes are taken: %v, %v", r.room.taken, r.room.spaces, r.room.revisions)
	}
}

// keepNow reads a Secret as a list does, without the queue.
func (r *reader) keepNow(t *testing.T, s *corev1.Secret) *registry.Entry {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.current(s); ok {
		return known.entry
	}
	return r.keep(s, r.read(s)).entry
}

// TestFlood fills all that one namespace may have, as often as it likes: a namespace that comes later still has room.
func TestFlood(t *testing.T) {
	r := newRoom()
	for i := range 10_000 {
		r.take(release.Name{Namespace: "evil", Name: "a", Revision: i}, 1<<20)
		r.take(release.Name{Namespace: "more-evil", Name: "b", Revision: i}, 1<<20)
	}
	for i := range 15 {
		if !r.take(release.Name{Namespace: "web", Name: "guestbook", Revision: i}, 1<<20) {
			t.Fatalf("no room for MiB %d of another namespace, %d of %d are taken: %v", i, r.taken, r.most, r.spaces)
		}
	}
}
