// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	client "k8s.io/client-go/kubernetes/typed/events/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/publish"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

const ready, missing, modified = report.Ready, report.Missing, report.Modified

// recorder is a client that keeps the Events that are created.
type recorder struct {
	client.EventInterface
	created []*eventsv1.Event
	fail    func(*eventsv1.Event) error
}

func (r *recorder) Events(string) client.EventInterface { return r }

func (r *recorder) Create(_ context.Context, e *eventsv1.Event, _ metav1.CreateOptions) (*eventsv1.Event, error) {
	if r.fail != nil {
		if err := r.fail(e); err != nil {
			return nil, err
		}
	}
	r.created = append(r.created, e)
	return e, nil
}

// told returns the Events since the last call.
func (r *recorder) told() []string {
	var out []string
	for _, e := range r.created {
		out = append(out, fmt.Sprintf("%s %s %s/%s: %s", e.Type, e.Reason, e.Regarding.Kind, e.Regarding.Name, e.Note))
	}
	r.created = nil
	return out
}

// auditor follows views, with a clock.
type auditor struct {
	follower view.Follower
	now      time.Time
	failed   error // of the last write
	*recorder
	*publish.Events
}

func newAuditor() *auditor {
	a := &auditor{recorder: &recorder{}, now: views.Begin}
	a.Events = publish.NewEvents(a.recorder, publish.Options{Instance: "auditor-0", Log: logr.Discard(),
		Now: func() time.Time { return a.now }})
	return a
}

// at shows a view at a time, and writes what is due.
func (a *auditor) at(t *testing.T, seconds int, d ...*view.Deployment) []string {
	t.Helper()
	v := views.Of(seconds, d...)
	a.now = v.Evaluated
	a.Update(a.follower.Next(v))
	a.failed = a.Write(t.Context())
	return a.told()
}

func compare(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestOncePerChange checks that each change of state is told once, on the object and on its BundleDeployment.
func TestOncePerChange(t *testing.T) {
	a := newAuditor()
	compare(t, "the first view", a.at(t, 0, views.Deployment("web", ready, missing)))
	compare(t, "an object vanishes", a.at(t, 2, views.Deployment("web", missing, missing)),
		"Warning FleetMissing BundleDeployment/web: the state is Missing, 0 of 2 objects are ready; changed: "+
			"configmap shop/a Missing",
		"Warning FleetMissing ConfigMap/a: the object is not on the cluster, but release shop/web revision 1 has it "+
			"(bundle deployment cluster-edge/web)")
	compare(t, "nothing changes", a.at(t, 200, views.Deployment("web", missing, missing)))
	compare(t, "it is restored", a.at(t, 300, views.Deployment("web", ready, missing)),
		"Warning FleetMissing BundleDeployment/web: the state is Missing, 1 of 2 objects are ready; changed: "+
			"configmap shop/a Ready",
		"Normal FleetReady ConfigMap/a: the object is as desired (bundle deployment cluster-edge/web)")
	compare(t, "it is not known", a.at(t, 400, views.Deployment("web", report.Unknown, missing)))
	compare(t, "it is known again", a.at(t, 500, views.Deployment("web", ready, missing)))
}

// TestInterval checks that an object has at most one Event in a minute, with the state that it has then.
func TestInterval(t *testing.T) {
	a := newAuditor()
	differs := views.Deployment("web", modified)
	differs.Exists = false
	differs.Objects[0].Detail.Changes = []view.Change{{Path: "data.level", Manager: "kubectl-edit"},
		{Path: "data.other"}}
	restored, gone := views.Deployment("web", ready), views.Deployment("web", missing)
	restored.Exists, gone.Exists = false, false

	a.at(t, 0, restored)
	compare(t, "the first change", a.at(t, 1, differs), "Warning FleetModified ConfigMap/a: fields differ from the "+
		"bundle: data.level (by kubectl-edit), data.other (who is not recorded) (bundle deployment cluster-edge/web)")
	for seconds := 2; seconds < 60; seconds += 2 {
		compare(t, "within a minute", a.at(t, seconds, restored))
		compare(t, "within a minute", a.at(t, seconds+1, differs))
	}
	compare(t, "the same state as before", a.at(t, 61, differs))
	compare(t, "another state", a.at(t, 62, gone), "Warning FleetMissing ConfigMap/a: the object is not on the "+
		"cluster, but release shop/web revision 1 has it (bundle deployment cluster-edge/web)")
	compare(t, "within a minute", a.at(t, 63, restored))
	compare(t, "after a minute", a.at(t, 122, restored),
		"Normal FleetReady ConfigMap/a: the object is as desired (bundle deployment cluster-edge/web)")
}

// TestForget checks that Events that waited when the leadership ended are not written later.
func TestForget(t *testing.T) {
	a := newAuditor()
	a.at(t, 0, views.Deployment("web", ready))
	a.fail = func(*eventsv1.Event) error { return errors.New("connection refused") }
	compare(t, "an object vanishes", a.at(t, 2, views.Deployment("web", missing)))
	a.fail = nil
	a.Forget()
	compare(t, "after another replica led", a.at(t, 300, views.Deployment("web", missing)))
	if n := len(a.at(t, 400, views.Deployment("web", ready))); n != 2 {
		t.Errorf("%d Events for a change after that", n)
	}
}

// TestUninstalled checks which object the Event of an uninstalled release is about.
func TestUninstalled(t *testing.T) {
	a := newAuditor()
	a.at(t, 0, views.Deployment("web", ready))
	compare(t, "with its BundleDeployment", a.at(t, 1), "Warning FleetUninstalled Secret/sh.helm.release.v1.web.v1: "+
		"Helm release shop/web of bundle deployment web was uninstalled; it had 1 object; its Bundle does not exist")
	a = newAuditor()
	alone, left := views.Deployment("web", ready), views.Deployment("web")
	alone.Exists, alone.Bundle, left.Release, left.Reason = false, "", "", "NoReleaseRecord"
	a.at(t, 0, alone)
	compare(t, "of its record alone", a.at(t, 1, left), "Warning FleetUninstalled "+
		"Secret/sh.helm.release.v1.web.v1: Helm release shop/web, according to its record of bundle deployment web, "+
		"was uninstalled; it had 1 object; whether its Bundle exists is not known")
	a = newAuditor()
	a.at(t, 0, views.Deployment("web", ready))
	compare(t, "with its BundleDeployment", a.at(t, 1, left), "Warning FleetUninstalled BundleDeployment/web: Helm "+
		"release shop/web of bundle deployment web was uninstalled; it had 1 object; its Bundle exists")
}

// TestKeepResources checks that the Event of an uninstalled release counts no object that stays.
func TestKeepResources(t *testing.T) {
	a := newAuditor()
	before := views.Of(0, views.Deployment("web", ready))
	before.Releases[0].KeepResources = true
	a.Update(a.follower.Next(before))
	compare(t, "with keepResources", a.at(t, 1), "Warning FleetUninstalled Secret/sh.helm.release.v1.web.v1: "+
		"Helm release shop/web of bundle deployment web was uninstalled; its objects stay if its agent uninstalled it "+
		"(keepResources); its Bundle does not exist")
}

// TestBound checks that the Events of a mass deletion are bounded, and that the bundle deployment names their number.
func TestBound(t *testing.T) {
	a := newAuditor()
	before, after := views.Large(1, 5000), views.Large(1, 5000)
	for i := range before.Deployments[0].Objects {
		before.Deployments[0].Objects[i].State = ready
	}
	a.at(t, 0, before.Deployments...)
	got := a.at(t, 1, after.Deployments...)
	if len(got) != 20 {
		t.Errorf("%d Events in the first second, want 20", len(got))
	}
	for range 1000 {
		if err := a.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got = append(got, a.told()...)
	if len(got) != 1000 || a.Dropped() != 4001 {
		t.Errorf("%d Events, and %d dropped, want 1000 and 4001", len(got), a.Dropped())
	}
	if !strings.Contains(got[0], "0 of 5000 objects are ready") || !strings.Contains(got[0], "4995 more") {
		t.Errorf("the first Event is %s", got[0])
	}
}

// TestValid checks what the API requires of an Event.
func TestValid(t *testing.T) {
	a := newAuditor()
	d := views.Deployment("web", report.NotReady)
	d.Objects[0].Detail.Message = strings.Repeat("ä", 2000) + "\n"
	a.at(t, 0, views.Deployment("web", ready))
	v := views.Of(1, d)
	a.now = v.Evaluated
	a.Update(a.follower.Next(v))
	if err := a.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range a.created {
		names[e.Name] = true
		if e.ReportingController == "" || e.ReportingInstance == "" || e.Action == "" ||
			!e.EventTime.Time.Equal(a.now) {
			t.Errorf("the Event lacks a field: %+v", e)
		}
		if len(e.Note) > 1024 || strings.Contains(e.Note, "\n") || !strings.HasPrefix(e.Reason, "Fleet") {
			t.Errorf("the Event has the reason %s and %d bytes: %q", e.Reason, len(e.Note), e.Note)
		}
	}
	if len(names) != 2 || a.created[1].Related.Kind != "BundleDeployment" || a.created[1].Namespace != "shop" {
		t.Errorf("the Events are %+v", a.created)
	}
}

// TestFailures checks that an Event is tried again if the server is not reached, and dropped if it refuses it.
func TestFailures(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
	for name, test := range map[string]struct {
		err     error
		events  int
		dropped int
	}{
		"not reached": {errors.New("connection refused"), 1, 0},
		"refused":     {gone, 0, 1},
		"written":     {apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, "x"), 0, 0},
	} {
		a := newAuditor()
		before, after := views.Deployment("web", ready), views.Deployment("web", missing)
		before.Exists, after.Exists = false, false
		a.at(t, 0, before)
		a.fail = func(*eventsv1.Event) error { return test.err }
		a.at(t, 1, after)
		if again := a.failed != nil; again != (test.events > 0) {
			t.Errorf("%s: writing returned %v", name, a.failed)
		}
		a.fail = nil
		if got := a.at(t, 2, after); len(got) != test.events || a.Dropped() != test.dropped {
			t.Errorf("%s: %d Events, %d dropped, want %d and %d", name, len(got), a.Dropped(), test.events,
				test.dropped)
		}
	}
	a := newAuditor()
	a.at(t, 0, views.Deployment("web", ready))
	a.fail = func(*eventsv1.Event) error { return errors.New("connection refused") }
	a.at(t, 1, views.Deployment("web", missing))
	a.at(t, 2, views.Deployment("web", missing))
	a.at(t, 3, views.Deployment("web", missing))
	a.fail = nil
	if got := a.at(t, 4, views.Deployment("web", missing)); len(got) != 0 || a.Dropped() != 2 {
		t.Errorf("%d Events and %d dropped after three attempts, want 0 and 2", len(got), a.Dropped())
	}
}
