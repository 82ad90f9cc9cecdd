// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	rec "github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
)

// secretOf returns the Secret of a release's record with a number of objects.
func secretOf(namespace, name string, revision int, version, status string, objects int) *corev1.Secret {
	n := release.Name{Namespace: namespace, Name: name, Revision: revision}
	value := rec.Record{Bundle: name, Namespace: namespace, Revision: revision, Status: status,
		Objects: rec.ConfigMaps("", objects)}.Value()
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: n.SecretName(),
		ResourceVersion: version},
		Data: map[string][]byte{release.DataKey: value}}
}

// TestBudget has a reader with memory for four records, one of each namespace, and no reserved part.
func TestBudget(t *testing.T) {
	logged := 0
	r := newRecordReader(New(), funcr.New(func(_, _ string) { logged++ }, funcr.Options{}), nil)
	one, err := desired.ReadRevision(secretOf("web", "guestbook", 1, "1", "deployed", 30).Data[release.DataKey])
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
		kept   bool
		before func()
	}{
		{"pending", secret("web", "guestbook", 1, "0", "pending-install"), true, nil},
		{"the same, deployed", web, true, nil},
		{"one of another namespace", evil, true, nil},
		{"the next exceeds the share of its namespace", secret("evil", "b", 1, "1", "deployed"), false, nil},
		{"listed again", secret("evil", "b", 1, "1", "deployed"), false, nil},
		{"another namespace has memory left", secret("dba", "guestbook", 1, "1", "deployed"), true, nil},
		{"an upgrade, although the namespace has its share", secret("web", "guestbook", 2, "2", "pending-upgrade"),
			true, nil},
		{"the upgrade, deployed", secret("web", "guestbook", 2, "3", "deployed"), true, nil},
		{"the revision before, superseded", secret("web", "guestbook", 1, "4", "superseded"), true, nil},
		{"a third revision", secret("evil", "a", 3, "1", "deployed"), false,
			func() { r.keepNow(t, secret("evil", "a", 2, "1", "deployed")) }},
		{"without objects", secretOf("evil", "c", 1, "4", "deployed", 0), true, nil},
		{"too large", secretOf("dba", "guestbook", 1, "5", "deployed", 120), false, nil},
		{"in the memory that it left", secret("dba", "guestbook", 1, "6", "deployed"), true, nil},
		{"in the memory of a deleted record", secret("evil", "b", 1, "1", "deployed"), true,
			func() { r.forget(evil); r.forget(secret("evil", "a", 2, "1", "deployed")) }},
		{"in the memory of a record that is not in a list", secret("dbb", "guestbook", 1, "1", "deployed"), true,
			func() { r.keepOnly("web", nil) }},
		{"after a list of another namespace", secret("dbb", "x", 1, "1", "deployed"), false,
			func() { r.keepOnly("other", nil) }},
		{"after a list of all", secret("dbb", "x", 1, "1", "deployed"), true, func() { r.keepOnly("", nil) }},
	} {
		if step.before != nil {
			step.before()
		}
		into := New()
		into.Set(r.keepNow(t, step.secret))
		if complete(into) != step.kept || r.budget.taken() > r.budget.total {
			t.Errorf("%s: within the budget: %t, want %t; %d of %d bytes are used: %v", step.name, complete(into),
				step.kept, r.budget.taken(), r.budget.total, r.budget.namespaces)
		}
	}
	if logged == 0 {
		t.Error("no record over the budget was logged")
	}
	if r.keepOnly("", nil); r.budget.taken() != 0 || len(r.budget.namespaces)+len(r.budget.revisions) > 0 {
		t.Errorf("after all records were removed, %d bytes are used: %v, %v", r.budget.taken(), r.budget.namespaces,
			r.budget.revisions)
	}
}

// keepNow reads a Secret like a list, but without the queue.
func (r *recordReader) keepNow(t *testing.T, s *corev1.Secret) *Revision {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.current(s); ok {
		return known.revision
	}
	return r.keep(s, r.read(s)).revision
}

// TestFlood fills the shares of two namespaces. Memory is left for a later namespace.
func TestFlood(t *testing.T) {
	r := newBudget()
	for i := range 10_000 {
		r.take(release.Name{Namespace: "evil", Name: "a", Revision: i}, 1<<20)
		r.take(release.Name{Namespace: "more-evil", Name: "b", Revision: i}, 1<<20)
	}
	for i := range 15 {
		if !r.take(release.Name{Namespace: "web", Name: "guestbook", Revision: i}, 1<<20) {
			t.Fatalf("no memory for MiB %d of another namespace, %d of %d bytes are used: %v", i, r.taken(), r.total,
				r.namespaces)
		}
	}
}

// taken returns the bytes that all namespaces use.
func (r *budget) taken() int { return r.used.reserved + r.used.shared }

// fill uses all memory that a namespace can have, in releases of a number of bytes, and returns the sum.
func (r *budget) fill(namespace string, bytes int) (sum int) {
	for i := 0; r.take(release.Name{Namespace: namespace, Name: fmt.Sprint("r", i), Revision: 1}, bytes); i++ {
		sum += bytes
	}
	return sum
}

// TestShares has namespaces that use all memory that they can have, one after the other. None exceeds its share, all
// together do not exceed the total, and memory is left for namespaces without records, up to a number of namespaces.
func TestShares(t *testing.T) {
	r := newBudget()
	for i := range 100 {
		namespace := fmt.Sprintf("a-tenant-%d", i)
		if sum := r.fill(namespace, 100<<10); sum < 100<<10 || sum > defaultLimits.perNamespace {
			t.Fatalf("%s uses %d KiB", namespace, sum>>10)
		}
	}
	if r.taken() > defaultLimits.total {
		t.Errorf("%d bytes are used", r.taken())
	}
	guestbook := release.Name{Namespace: "kube-apps", Name: "guestbook", Revision: 1}
	if !r.take(guestbook, 200*2*110) {
		t.Error("no memory for a release of 200 objects in a namespace without records")
	}
	before := len(r.namespaces)
	for i := range 1000 {
		r.fill(fmt.Sprintf("b-tenant-%d", i), 128<<10)
	}
	if got := len(r.namespaces); got < 256 || r.taken() > defaultLimits.total {
		t.Errorf("%d namespaces have memory, %d before; %d bytes are used", got, before, r.taken())
	}
	if !r.take(guestbook, 200*2*110) {
		t.Error("a known release lost its memory")
	}
	next := guestbook
	if next.Revision = 2; !r.take(next, 200*2*110) {
		t.Error("no memory for an upgrade of a known release")
	}
}

// TestSharesInOrder adds the same namespaces in the order of a list, as after a restart, and in the reverse order. In
// both cases memory is left for the first bytes of each.
func TestSharesInOrder(t *testing.T) {
	const namespaces, small = 200, 100 << 10
	for name, first := range map[string]int{"by name": 0, "in reverse": namespaces - 1} {
		r := newBudget()
		for i := range namespaces {
			i = max(i, first) - min(i, first) // from either end
			namespace := fmt.Sprintf("tenant-%03d", i)
			if i%2 == 0 { // a tenant that uses all that it can have
				r.fill(namespace, 64<<10)
			} else if !r.take(release.Name{Namespace: namespace, Name: "guestbook", Revision: 1}, small) {
				t.Errorf("%s: no memory for %s", name, namespace)
			}
		}
	}
}

// TestUsage grows, shrinks and removes releases in a mixed order. The counted bytes are always the sum of the releases'
// bytes.
func TestUsage(t *testing.T) {
	r := newBudget()
	r.limits = limits{total: 100, perNamespace: 40, reserved: 40, first: 10}
	for i := range 20_000 {
		n := release.Name{Namespace: fmt.Sprint(i * 7 % 11), Name: fmt.Sprint(i * 13 % 5), Revision: i % 3}
		had := r.revisions[n.Release()][n.Revision]
		if bytes := i * 31 % 17; !r.take(n, bytes) && bytes <= had {
			t.Fatalf("step %d: no memory for %d bytes instead of %d", i, bytes, had)
		}
		reserve, rest, charged := 0, 0, 0
		for _, s := range r.namespaces {
			reserve, rest = reserve+s.reserved, rest+s.shared
		}
		for name := range r.revisions {
			charged += r.charge(name)
		}
		if reserve > r.reserved || rest > r.total-r.reserved {
			t.Fatalf("step %d: %d and %d bytes are used", i, reserve, rest)
		}
		if r.used != (usage{reserve, rest}) || reserve+rest != charged {
			t.Fatalf("step %d: %d and %d bytes are used, of namespaces %d and %d, for releases of %d bytes", i,
				r.used.reserved, r.used.shared, reserve, rest, charged)
		}
	}
	for name := range r.revisions {
		namespace, named, _ := strings.Cut(name, "/")
		for revision := range 3 {
			r.take(release.Name{Namespace: namespace, Name: named, Revision: revision}, 0)
		}
	}
	if r.taken() != 0 || len(r.namespaces)+len(r.revisions) > 0 {
		t.Errorf("after all releases were removed, %d bytes are used: %v", r.taken(), r.namespaces)
	}
}

// complete reports whether an index has all release records of the cluster.
func complete(x *Index) bool {
	unreadable, all := x.Unreadable()
	return all && len(unreadable) == 0
}
