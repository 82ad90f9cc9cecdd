// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"bytes"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestStream serves a watch with a list at its beginning and changes, closes the connection, and lets the resource
// version expire.
func TestStream(t *testing.T) {
	server := serveAPI(t)
	w := watchRecords(t, server.config())

	list := server.next()
	for name, want := range map[string]string{"watch": "true", "sendInitialEvents": "true",
		"fieldSelector": "type=helm.sh/release.v1", "allowWatchBookmarks": "true"} {
		if got := list.query.Get(name); got != want || list.path != "/api/v1/secrets" {
			t.Errorf("requested %s with %s=%q, want %q", list.path, name, got, want)
		}
	}
	list.send("ADDED", deployed(t, "web", "a", 1, "5"))
	list.send("ADDED", deployed(t, "web", "b", 1, "6"))
	poll.Until(t, func() error {
		if w.LastMessage().IsZero() {
			return errors.New("no message was received")
		}
		return nil
	})
	if objects, _, _ := w.Size(); w.Synced() || objects != 0 {
		t.Errorf("synced %t with %d objects before the list is complete", w.Synced(), objects)
	}
	list.listed("7")
	w.awaitSync(t)
	w.awaitOwners(t, keyOf("web", "a"), "web/a:1")
	w.awaitOwners(t, keyOf("web", "b"), "web/b:1")

	list.send("MODIFIED", deployed(t, "web", "a", 1, "8")) // a label was set
	list.send("ADDED", deployed(t, "web", "c", 1, "9"))
	w.awaitOwners(t, keyOf("web", "c"), "web/c:1")
	w.awaitOwners(t, keyOf("web", "a"), "web/a:1")
	list.send("DELETED", deployed(t, "web", "a", 1, "10"))
	w.awaitOwners(t, keyOf("web", "a"))
	before := w.LastMessage()
	list.send("BOOKMARK", secretOf("", "", "20", nil, nil))
	poll.Until(t, func() error {
		if !w.LastMessage().After(before) {
			return errors.New("the bookmark was not received")
		}
		return nil
	})

	// The connection is closed: the watch continues after the bookmark, without a list.
	list.end()
	again := server.next()
	if again.query.Get("resourceVersion") != "20" || again.query.Get("sendInitialEvents") != "" {
		t.Errorf("after the connection was closed it requested %v, want resource version 20 without a list",
			again.query)
	}
	again.send("ADDED", deployed(t, "web", "d", 1, "21"))
	w.awaitOwners(t, keyOf("web", "d"), "web/d:1")

	// The version expired: all records are listed again. The index stays until the list is complete, and then loses the
	// records that are not in it.
	again.expire()
	relist := server.next()
	if !w.Synced() || w.LastMessage().IsZero() {
		t.Error("not synced, or no last message, while the list is read again")
	}
	w.awaitOwners(t, keyOf("web", "b"), "web/b:1")
	relist.send("ADDED", deployed(t, "web", "c", 1, "9"))
	relist.listed("30")
	w.awaitOwners(t, keyOf("web", "b"))
	w.awaitOwners(t, keyOf("web", "c"), "web/c:1")
	relist.end()
}

// TestPages reads lists from an API server that cannot stream them: in small pages, and not from its cache, which
// ignores the limit.
func TestPages(t *testing.T) {
	server := serveAPI(t)
	w := watchRecords(t, server.config(), "web", "web")
	refused := server.next()
	if refused.path != "/api/v1/namespaces/web/secrets" {
		t.Errorf("requested %s for the records of a namespace", refused.path)
	}
	refused.answer(http.StatusUnprocessableEntity, &metav1.Status{Status: metav1.StatusFailure,
		Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity})
	first := server.next()
	if got := first.query.Encode(); got != "fieldSelector=type%3Dhelm.sh%2Frelease.v1&limit=10" {
		t.Errorf("requested the first page with %s", got)
	}
	first.answer(http.StatusOK, corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"},
		Items: []corev1.Secret{*deployed(t, "web", "a", 1, "5")}})
	second := server.next()
	if second.query.Get("continue") != "more" {
		t.Errorf("requested the second page with %v", second.query)
	}
	second.answer(http.StatusOK, corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "7"},
		Items: []corev1.Secret{*deployed(t, "web", "b", 1, "6")}})
	w.awaitSync(t)
	w.awaitOwners(t, keyOf("web", "a"), "web/a:1")
	w.awaitOwners(t, keyOf("web", "b"), "web/b:1")
	if watch := server.next(); watch.query.Get("resourceVersion") != "7" || watch.query.Get("watch") != "true" {
		t.Errorf("requested %v after the list", watch.query)
	}
}

// TestScoped reads two namespaces. Synced and LastMessage wait for both.
func TestScoped(t *testing.T) {
	server := serveAPI(t)
	w := watchRecords(t, server.config(), "db", "web")
	streams := map[string]*exchange{}
	for range 2 {
		e := server.next()
		streams[e.path] = e
	}
	web, db := streams["/api/v1/namespaces/web/secrets"], streams["/api/v1/namespaces/db/secrets"]
	if web == nil || db == nil {
		t.Fatalf("requested %v", streams)
	}
	web.send("ADDED", deployed(t, "web", "a", 1, "5"))
	web.listed("6")
	w.awaitOwners(t, keyOf("web", "a"), "web/a:1")
	if w.Synced() || !w.LastMessage().IsZero() {
		t.Errorf("synced %t, last message %s, before the first message about one namespace", w.Synced(),
			w.LastMessage())
	}
	db.send("ADDED", deployed(t, "db", "a", 1, "7"))
	db.listed("8")
	w.awaitSync(t)
	received := w.LastMessage() // of web, the first one
	web.send("BOOKMARK", secretOf("", "", "9", nil, nil))
	poll.Until(t, func() error {
		if !w.LastMessage().After(received) {
			return errors.New("the bookmark was not received")
		}
		return nil
	})
	received = w.LastMessage() // of db
	web.send("ADDED", deployed(t, "web", "b", 1, "10"))
	w.awaitOwners(t, keyOf("web", "b"), "web/b:1")
	if !w.LastMessage().Equal(received) {
		t.Error("LastMessage is not of the namespace with the oldest message")
	}
	// A list of one namespace does not change the other.
	web.expire()
	relist := server.next()
	relist.listed("20")
	w.awaitOwners(t, keyOf("web", "a"))
	w.awaitOwners(t, keyOf("db", "a"), "db/a:1")
}

// TestUnreadable checks that each state of a record that could not be read is counted and logged once, and that the log
// does not quote it.
func TestUnreadable(t *testing.T) {
	server := serveAPI(t)
	w := watchRecords(t, server.config())
	superseded := secretOf("web", "sh.helm.release.v1.old.v1", "3", []byte(secretValue), nil)
	superseded.Labels = map[string]string{"status": "superseded", "owner": "helm"}
	forged := secretOf("evil", "sh.helm.release.v1.a.v1", "4", valueOf(t, "web", "a", 1, configMap("a")), nil)
	renamed := secretOf("web", "sh.helm.release.v1.a.v2", "4", valueOf(t, "web", "a", 3, configMap("a")), nil)
	bad := []*corev1.Secret{
		forged, renamed,
		secretOf("web", "sh.helm.release.v1.bad.v1", "5", []byte(secretValue), nil),
		secretOf("web", "sh.helm.release.v1.none.v1", "6", nil, nil),
		secretOf("web", "sh.helm.release.v1.yaml.v1", "7", valueOf(t, "web", "yaml", 1, "a: ["+secretValue), nil),
		secretOf("web", otherName, "8", []byte(secretValue), nil),
		secretOf("web", "sh.helm.release.v1.huge.v1", "9", valueOf(t, "web", "huge", 1, strings.Repeat("#", 65<<20)),
			nil),
	}
	list := server.next()
	list.send("ADDED", superseded)
	for _, s := range bad {
		list.send("ADDED", s)
	}
	list.listed("10")
	w.awaitSync(t)
	w.awaitDamaged(t, len(bad))
	if !w.HasRelease("web/old") || !w.HasRelease("web/bad") || complete(w) {
		t.Error("a release with an unreadable record is not known, or the index is complete")
	}
	w.awaitOwners(t, keyOf("web", "a"))

	// The same states are listed again, as after a disconnection.
	list.expire()
	relist := server.next()
	for _, s := range bad {
		relist.send("ADDED", s)
	}
	relist.listed("11")
	poll.Until(t, func() error {
		if w.HasRelease("web/old") {
			return errors.New("the list is not complete")
		}
		return nil
	})
	for _, s := range bad {
		if n := w.log.naming(s.Namespace + "/" + s.Name); n != 1 {
			t.Errorf("%s/%s was logged %d times, want once:\n%s", s.Namespace, s.Name, n,
				strings.Join(w.log.all(), "\n"))
		}
	}

	// Another unreadable state is logged again. Then the record is repaired.
	worse := secretOf("web", "sh.helm.release.v1.bad.v1", "12", bytes.Repeat([]byte(secretValue), 2), nil)
	relist.send("MODIFIED", worse)
	poll.Until(t, func() error {
		if w.log.naming("web/sh.helm.release.v1.bad.v1") != 2 {
			return errors.New("not logged again")
		}
		return nil
	})
	relist.send("MODIFIED", deployed(t, "web", "bad", 1, "13"))
	w.awaitDamaged(t, len(bad)-1)
	w.awaitOwners(t, keyOf("web", "bad"), "web/bad:1")
	for _, s := range bad {
		relist.send("DELETED", s)
	}
	w.awaitDamaged(t, 0)
	if !complete(w) {
		t.Error("not complete after all unreadable records were removed")
	}
}

// TestReduced compares the memory for small and for large records with the same objects: it must be equal, because only
// the keys are kept. Records with more objects need more memory, which shows that the measurement is valid.
func TestReduced(t *testing.T) {
	const count, small, large = 40, 50 << 10, 500 << 10
	kept := func(objects, size int) int {
		config := &rest.Config{Host: serveRecords(t, count, objects, size, false), QPS: -1}
		before := live()
		w := watchRecords(t, config)
		w.awaitSync(t)
		if known, releases, damaged := w.Size(); known != count*objects || releases != count || damaged != 0 {
			t.Errorf("%d objects of %d releases, %d unreadable", known, releases, damaged)
		}
		used := live() - before
		runtime.KeepAlive(w)
		t.Logf("%d records of %d KiB with %d objects each use %d KiB", count, size>>10, objects, used>>10)
		return used
	}
	const margin = count * (large - small) / 10
	few, many := kept(10, small), kept(500, large)
	if more := kept(10, large) - few; more > margin || more < -margin {
		t.Errorf("records that are %d KiB larger use %d KiB more", count*(large-small)>>10, more>>10)
	}
	if more := many - few; more < margin {
		t.Errorf("records with %d times as many objects use only %d KiB more", 50, more>>10)
	}
}

// otherName is the name of a Secret that is not the name of a record.
const otherName = "other-name"

// TestForbidden has an API server that refuses all requests at first. The watch tries again; TestBackoff checks the
// waits.
func TestForbidden(t *testing.T) {
	server := serveAPI(t)
	w := watchRecords(t, server.config())
	for range 4 { // a watch and a list each
		server.next().answer(http.StatusForbidden, &metav1.Status{Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "forbidden for this user"})
	}
	if w.Synced() || !w.LastMessage().IsZero() {
		t.Errorf("synced %t, last message %s", w.Synced(), w.LastMessage())
	}
	server.next().listed("1")
	w.awaitSync(t)
	logged := false
	for _, line := range w.log.all() {
		logged = logged || strings.Contains(line, "forbidden for this user")
	}
	if !logged {
		t.Error("the log does not contain the reason")
	}
}
