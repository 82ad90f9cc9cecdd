// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	rec "github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
)

// secretOf is the Secret of a release's record with so many objects.
func secretOf(namespace, name string, revision int, version, status string, objects int) *corev1.Secret {
	n := release.Name{Namespace: namespace, Name: name, Revision: revision}
	value := rec.Record{Bundle: name, Namespace: namespace, Revision: revision, Status: status, Objects: rec.ConfigMaps("", objects)}.Value()
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: n.SecretName(), ResourceVersion: version},
		Data: map[string][]byte{release.DataKey: value}}
}

// TestRoom has a reader with room for four records, one of each namespace, and none reserved: what has room keeps it.
func TestRoom(t *testing.T) {
	named := 0
	r := newRecordReader(New(), funcr.New(func(_, _ string) { named++ }, funcr.Options{}), nil)
	one, err := Read(secretOf("web", "guestbook", 1, "1", "deployed", 30).Data[release.DataKey])
	if err != nil {
		t.Fatal(err)
	}
	r.budget.limits = limits{total: one.Bytes() * 9 / 2, perNamespace: one.Bytes() * 7 / 4}
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
		{"the next takes more than a namespace may have", secret("evil", "b", 1, "1", "deployed"), false, nil},
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
		into := New()
		into.Set(r.keepNow(t, step.secret))
		if into.Complete() != step.room || r.budget.taken() > r.budget.total {
			t.Errorf("%s: there is room: %t, want %t; %d bytes are taken of %d: %v", step.name, into.Complete(), step.room, r.budget.taken(), r.budget.total, r.budget.namespaces)
		}
	}
	if named == 0 {
		t.Error("whom there is no room for was not named")
	}
	if r.keepOnly("", nil); r.budget.taken() != 0 || len(r.budget.namespaces)+len(r.budget.revisions) > 0 {
		t.Errorf("when all is gone, %d bytes are taken: %v, %v", r.budget.taken(), r.budget.namespaces, r.budget.revisions)
	}
}

// keepNow reads a Secret as a list does, without the queue.
func (r *recordReader) keepNow(t *testing.T, s *corev1.Secret) *Revision {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.current(s); ok {
		return known.revision
	}
	return r.keep(s, r.read(s)).revision
}

// TestFlood fills all that one namespace may have, as often as it likes: a namespace that comes later still has room.
func TestFlood(t *testing.T) {
	r := newBudget()
	for i := range 10_000 {
		r.take(release.Name{Namespace: "evil", Name: "a", Revision: i}, 1<<20)
		r.take(release.Name{Namespace: "more-evil", Name: "b", Revision: i}, 1<<20)
	}
	for i := range 15 {
		if !r.take(release.Name{Namespace: "web", Name: "guestbook", Revision: i}, 1<<20) {
			t.Fatalf("no room for MiB %d of another namespace, %d of %d are taken: %v", i, r.taken(), r.total, r.namespaces)
		}
	}
}

// taken is how many bytes are taken of all.
func (r *budget) taken() int { return r.used.reserved + r.used.shared }

// fill takes all that a namespace can have, in releases of so many bytes, and says how much that was.
func (r *budget) fill(namespace string, bytes int) (sum int) {
	for i := 0; r.take(release.Name{Namespace: namespace, Name: fmt.Sprint("r", i), Revision: 1}, bytes); i++ {
		sum += bytes
	}
	return sum
}

// TestShares has namespaces, one after another, take all that they can. Each has no more than its share, all together no more than there is, and
// one that has no record yet has room, until there are very many of them.
func TestShares(t *testing.T) {
	r := newBudget()
	for i := range 100 {
		namespace := fmt.Sprintf("a-tenant-%d", i)
		if sum := r.fill(namespace, 100<<10); sum < 100<<10 || sum > defaultLimits.perNamespace {
			t.Fatalf("%s takes %d KiB", namespace, sum>>10)
		}
	}
	if r.taken() > defaultLimits.total {
		t.Errorf("%d bytes are taken", r.taken())
	}
	guestbook := release.Name{Namespace: "kube-apps", Name: "guestbook", Revision: 1}
	if !r.take(guestbook, 200*2*110) {
		t.Error("no room for a release of 200 objects in a namespace without a record")
	}
	spaces := len(r.namespaces)
	for i := range 1000 {
		r.fill(fmt.Sprintf("b-tenant-%d", i), 128<<10)
	}
	if got := len(r.namespaces); got < 256 || r.taken() > defaultLimits.total {
		t.Errorf("%d namespaces have room, %d before; %d bytes are taken", got, spaces, r.taken())
	}
	if !r.take(guestbook, 200*2*110) {
		t.Error("a release that is known has lost its room")
	}
	next := guestbook
	if next.Revision = 2; !r.take(next, 200*2*110) {
		t.Error("no room for an upgrade of a release that is known")
	}
}

// TestSharesInOrder has the same namespaces come in the order of a list, as after a restart, and in the reverse order: the first bytes of each have
// room in both.
func TestSharesInOrder(t *testing.T) {
	const namespaces, small = 200, 100 << 10
	for name, first := range map[string]int{"by name": 0, "in reverse": namespaces - 1} {
		r := newBudget()
		for i := range namespaces {
			i = max(i, first) - min(i, first) // from either end
			namespace := fmt.Sprintf("tenant-%03d", i)
			if i%2 == 0 { // a tenant that takes what it can
				r.fill(namespace, 64<<10)
			} else if !r.take(release.Name{Namespace: namespace, Name: "guestbook", Revision: 1}, small) {
				t.Errorf("%s: no room for %s", name, namespace)
			}
		}
	}
}

// TestSpacesReturned has a random-looking sequence of releases grow, shrink and go: what is counted as taken is what the releases have.
func TestSpacesReturned(t *testing.T) {
	r := newBudget()
	r.limits = limits{total: 100, perNamespace: 40, reserved: 40, first: 10}
	for i := range 20_000 {
		n := release.Name{Namespace: fmt.Sprint(i * 7 % 11), Name: fmt.Sprint(i * 13 % 5), Revision: i % 3}
		had := r.revisions[n.Release()][n.Revision]
		if bytes := i * 31 % 17; !r.take(n, bytes) && bytes <= had {
			t.Fatalf("step %d: no room for %d bytes in place of %d", i, bytes, had)
		}
		reserve, rest, charged := 0, 0, 0
		for _, s := range r.namespaces {
			reserve, rest = reserve+s.reserved, rest+s.shared
		}
		for name := range r.revisions {
			charged += r.charge(name)
		}
		if reserve != r.used.reserved || rest != r.used.shared || reserve+rest != charged || reserve > r.reserved || rest > r.total-r.reserved {
			t.Fatalf("step %d: %d and %d bytes are taken, of namespaces %d and %d, for releases of %d bytes", i, r.used.reserved, r.used.shared, reserve, rest, charged)
		}
	}
	for name := range r.revisions {
		namespace, named, _ := strings.Cut(name, "/")
		for revision := range 3 {
			r.take(release.Name{Namespace: namespace, Name: named, Revision: revision}, 0)
		}
	}
	if r.taken() != 0 || len(r.namespaces)+len(r.revisions) > 0 {
		t.Errorf("when all is gone, %d bytes are taken: %v", r.taken(), r.namespaces)
	}
}
