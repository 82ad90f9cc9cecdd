// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/publish"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	entries "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

const journalReady, journalMissing = report.Ready, report.Missing

// journalAuditor follows views, with a clock and a client that keeps objects.
type journalAuditor struct {
	follower view.Follower
	now      time.Time
	client   *fake.Clientset
	*publish.Journal
}

func journalNewAuditor() *journalAuditor {
	a := &journalAuditor{now: views.Begin, client: fake.NewClientset()}
	a.restart()
	return a
}

func (a *journalAuditor) restart() {
	a.Journal = publish.NewJournal(a.client.CoreV1(), publish.Options{Namespace: "auditor",
		Log: logr.Discard(),
		Now: func() time.Time { return a.now }})
	a.follower = view.Follower{}
}

// show shows views, and writes what vanished.
func (a *journalAuditor) show(t *testing.T, all ...*view.View) {
	t.Helper()
	for _, v := range all {
		a.now = v.Evaluated
		a.Update(a.follower.Next(v))
		if err := a.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func (a *journalAuditor) books(t *testing.T) []corev1.ConfigMap {
	t.Helper()
	list, err := a.client.CoreV1().ConfigMaps("auditor").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// read returns the entries.
func (a *journalAuditor) read(t *testing.T) []entries.Entry {
	t.Helper()
	var out []entries.Entry
	for _, book := range a.books(t) {
		if book.Labels[entries.Label] != "true" {
			t.Errorf("ConfigMap %s has the labels %v", book.Name, book.Labels)
		}
		found, damaged := entries.Decode(book.Data[entries.Key])
		if damaged > 0 {
			t.Errorf("ConfigMap %s has %d damaged entries", book.Name, damaged)
		}
		out = append(out, found...)
	}
	return out
}

// TestDeleted checks the entry of an object that vanished.
func TestDeleted(t *testing.T) {
	a := journalNewAuditor()
	before := views.Deployment("web", journalReady, report.Modified)
	before.Objects[1].Detail.Changes = []view.Change{{Path: "data.a", Manager: "kubectl", Time: "2026-01-02T03:04:05Z"}}
	after := views.Deployment("web", journalMissing, journalMissing)
	after.Commit = "0123abc"
	a.show(t, views.Of(1, before), views.Of(3, after), views.Of(5, after))
	want := []entries.Entry{{Event: entries.Deleted, From: views.Begin.Add(time.Second),
		To: views.Begin.Add(3 * time.Second), Cluster: "fleet-default/edge", BundleDeployment: "cluster-edge/web",
		Bundle: "fleet-default/web", Release: "shop/web", Revision: 1, Commit: "0123abc", Total: 2,
		Objects: []entries.Object{{Ref: views.ConfigMap("a").Value()},
			{Ref: views.ConfigMap("b").Value(), LastWriter: "kubectl"}}}}
	if diff := cmp.Diff(want, a.read(t)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// TestTakeover checks that the next leader writes what the former one did not write, and nothing twice.
func TestTakeover(t *testing.T) {
	former := journalNewAuditor()
	next := journalNewAuditor()
	next.client = former.client
	next.restart()
	for i, v := range []*view.View{views.Of(1, views.Deployment("web", journalReady, journalReady)),
		views.Of(4, views.Deployment("web", journalMissing, journalReady)), views.Of(8, views.Deployment("web",
			journalMissing, journalMissing))} {
		if i < 2 { // then it was killed
			former.show(t, v)
		}
		later := *v
		later.Evaluated = v.Evaluated.Add(700 * time.Millisecond)
		next.now = later.Evaluated
		next.Update(next.follower.Next(&later))
	}
	if err := next.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range next.read(t) {
		got = append(got, e.Objects[0].Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("objects of the entries (-want +got):\n%s", diff)
	}
}

// TestDiscard checks that a replica that does not lead forgets what the leader has written long ago.
func TestDiscard(t *testing.T) {
	a := journalNewAuditor()
	for _, v := range []*view.View{views.Of(1, views.Deployment("web", journalReady, journalReady)),
		views.Of(4, views.Deployment("web", journalMissing, journalReady)), views.Of(8, views.Deployment("web",
			journalMissing, journalMissing))} {
		a.Update(a.follower.Next(v))
	}
	a.Discard(views.Begin.Add(6 * time.Second))
	if err := a.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := a.read(t); len(got) != 1 || got[0].Objects[0].Name != "b" {
		t.Errorf("the entries are %+v", got)
	}
}

// TestDropped checks that an object that a new revision does not have is no deleted one.
func TestDropped(t *testing.T) {
	a := journalNewAuditor()
	after := views.Deployment("web", journalReady)
	after.Revision = 2
	a.show(t, views.Of(1, views.Deployment("web", journalReady, journalReady)), views.Of(2, after))
	got := a.read(t)
	if len(got) != 1 || got[0].Event != entries.Dropped || got[0].Revision != 2 || got[0].By == "" {
		t.Errorf("the entries are %+v", got)
	}
}

// TestJournalUninstalled checks who uninstalled a release: nobody is named unless the cluster shows it.
func TestJournalUninstalled(t *testing.T) {
	predicted := views.Of(1, views.Deployment("web", journalReady))
	predicted.Releases[0].Uninstall = true
	kept := views.Of(2)
	kept.Fleet = views.Of(2, views.Deployment("web")).Fleet
	unread := views.Of(2)
	unread.FleetRead = nil
	for name, test := range map[string]struct {
		before, after *view.View
		want          string
	}{
		"predicted": {predicted, kept, "the agent in cattle-fleet-system: its garbage collection was about to " +
			"uninstall the release"},
		"with its BundleDeployment": {views.Of(1, views.Deployment("web", journalReady)), views.Of(2),
			"the agent in cattle-fleet-system: the BundleDeployment of the release was deleted"},
		"alone":     {views.Of(1, views.Deployment("web", journalReady)), kept, ""},
		"not known": {views.Of(1, views.Deployment("web", journalReady)), unread, ""},
	} {
		a := journalNewAuditor()
		a.show(t, test.before, test.after)
		got := a.read(t)
		if len(got) != 1 || got[0].Event != entries.Uninstalled || got[0].Total != 1 || got[0].By != test.want {
			t.Errorf("%s: the entries are %+v", name, got)
		}
	}
}

// TestJournalKeepResources checks that an entry does not name objects that stay.
func TestJournalKeepResources(t *testing.T) {
	before := views.Of(1, views.Deployment("web", journalReady))
	before.Releases[0].KeepResources = true
	a := journalNewAuditor()
	a.show(t, before, views.Of(2))
	if got := a.read(t); len(got) != 1 || !got[0].KeepResources || len(got[0].Objects) != 0 || got[0].Total != 0 {
		t.Errorf("the entries are %+v", got)
	}
}

// TestQuiet checks that nothing is requested while nothing vanishes, except once in an hour.
func TestQuiet(t *testing.T) {
	a := journalNewAuditor()
	d := views.Deployment("web", journalReady)
	for seconds := range 3600 {
		a.show(t, views.Of(seconds, d))
	}
	if n := len(a.client.Actions()); n != 1 {
		t.Errorf("%d requests in an hour, want 1: %v", n, a.client.Actions())
	}
}

// TestJournalBound writes more than the journal keeps, with names of the greatest length.
func TestJournalBound(t *testing.T) {
	a := journalNewAuditor()
	long := strings.Repeat("n", 253)
	newView := func(seconds int, namespace string, s report.State) *view.View {
		d := views.Deployment("web")
		d.Release = namespace + "/web"
		for i := range 600 {
			ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop",
				Name: fmt.Sprintf("%s%03d", long, i)}
			d.Objects = append(d.Objects, view.Object{Ref: view.RefOf(ref), State: s})
		}
		return views.Of(seconds, d)
	}
	for i := range 60 {
		namespace := fmt.Sprint("shop-", i%6)
		a.show(t, newView(2*i, namespace, journalReady), newView(2*i+1, namespace, journalMissing))
	}
	books := a.books(t)
	if len(books) != 20 {
		t.Errorf("%d ConfigMaps, want 20", len(books))
	}
	for _, b := range books {
		if raw, err := json.Marshal(b); err != nil || len(raw) > 1<<20 {
			t.Errorf("ConfigMap %s has %d bytes: %v", b.Name, len(raw), err)
		}
	}
	got := a.read(t)
	last := got[len(got)-1]
	if last.Total != 600 || len(last.Objects) != 500 || !last.To.Equal(views.Begin.Add(119*time.Second)) {
		t.Errorf("the newest entry is of %s and has %d of %d objects", last.To, len(last.Objects), last.Total)
	}
}

// TestShare checks that many entries about the releases of one namespace do not push out those about others.
func TestShare(t *testing.T) {
	a := journalNewAuditor()
	of := func(seconds int, namespace string, s report.State) *view.View {
		d := views.Deployment("web")
		d.Release, d.Namespace, d.ID.Namespace = namespace+"/web", namespace, namespace
		for i := range 500 {
			d.Objects = append(d.Objects, view.Object{State: s, Ref: view.RefOf(object.Ref{APIVersion: "v1",
				Kind: "ConfigMap", Namespace: namespace, Name: fmt.Sprintf("%s%03d", strings.Repeat("n", 200), i)})})
		}
		return views.Of(seconds, d)
	}
	a.show(t, of(0, "shop", journalReady), of(1, "shop", journalMissing))
	for i := range 60 {
		if i == 30 {
			a.restart()
		}
		a.show(t, of(2*i+2, "tenant", journalReady), of(2*i+3, "tenant", journalMissing))
	}
	a.show(t, of(200, "shop", journalReady), of(201, "shop", journalMissing))
	got := map[string]int{}
	for _, e := range a.read(t) {
		got[e.Release]++
	}
	if got["shop/web"] != 3 || got["tenant/web"] < 10 || got["tenant/web"] > 40 {
		t.Errorf("entries by release: %v", got)
	}
}

// TestOld checks that entries are removed after 30 days, also by an journalAuditor that was started again.
func TestOld(t *testing.T) {
	a := journalNewAuditor()
	a.show(t, views.Of(1, views.Deployment("web", journalReady)), views.Of(2, views.Deployment("web", journalMissing)))
	const day = 24 * 3600
	a.restart()
	a.show(t, views.Of(29*day))
	if n := len(a.read(t)); n != 1 {
		t.Errorf("%d entries after 29 days, want 1", n)
	}
	a.show(t, views.Of(31*day))
	if n := len(a.books(t)); n != 0 {
		t.Errorf("%d ConfigMaps after 31 days, want none", n)
	}
}

// TestAgain checks that entries are written later if a request fails, or if another writer was faster.
func TestAgain(t *testing.T) {
	a := journalNewAuditor()
	a.show(t, views.Of(1, views.Deployment("web", journalReady, journalReady)), views.Of(2, views.Deployment("web",
		journalMissing, journalReady)))
	fail := true
	a.client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return fail, nil, errors.New("connection refused")
	})
	v := views.Of(3, views.Deployment("web", journalMissing, journalMissing))
	a.now = v.Evaluated
	a.Update(a.follower.Next(v))
	if err := a.Write(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("writing returned %v", err)
	}
	fail = false
	if err := a.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(a.read(t)); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}
