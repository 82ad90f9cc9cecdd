// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/views"
)

// TestSample compares the view of a sample cluster with its report.
func TestSample(t *testing.T) {
	for _, name := range []string{"clean", "sick", "drift"} {
		v := views.Sample(t, name)
		if len(v.Deployments) == 0 || len(v.Releases) == 0 || len(v.Fleet) == 0 {
			t.Errorf("%s: the view has %d bundle deployments, %d releases and %d objects of Fleet", name,
				len(v.Deployments), len(v.Releases), len(v.Fleet))
		}
		for _, d := range v.Deployments {
			var got report.Counts
			for _, o := range d.Objects {
				if o.State == report.Missing {
					got.Missing++
				}
				if (o.Detail == nil) != (o.State == report.Ready) {
					t.Errorf("%s: %s is %s and has the detail %v", name, o.Ref.Value().Key(), o.State, o.Detail)
				}
			}
			if got.Missing != d.Counts.Missing {
				t.Errorf("%s: %s has %d missing objects, want %d", name, d.Name, got.Missing, d.Counts.Missing)
			}
		}
		for _, kind := range []string{state.Bundle, state.BundleDeployment} {
			for _, o := range v.Fleet {
				if o.Kind == kind && o.Size == 0 {
					t.Errorf("%s: %s %s/%s has no size", name, kind, o.Namespace, o.Name)
				}
			}
		}
	}
}

// TestDetails checks that a modified object has its paths and managers.
func TestDetails(t *testing.T) {
	var got []string
	for _, d := range views.Sample(t, "sick").Deployments {
		for _, o := range d.Objects {
			if o.State != report.Modified {
				continue
			}
			for _, c := range o.Detail.Changes {
				got = append(got, o.Ref.Value().Name+" "+c.Path+" "+c.Manager)
			}
		}
	}
	if len(got) == 0 {
		t.Fatal("no object is modified")
	}
	if !strings.Contains(strings.Join(got, "\n"), "kubectl") {
		t.Errorf("no field was written by kubectl: %q", got)
	}
}

// TestSecrets makes views of all cases, and searches them for the values of the Secrets that the cases name.
func TestSecrets(t *testing.T) {
	paths, err := filepath.Glob("../../../test/testdata/cases/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	searched := 0
	for _, path := range paths {
		head := map[string]any{}
		capture, err := cases.Read(path, &head)
		if err != nil {
			t.Fatal(err)
		}
		expect, _ := head["expect"].(map[string]any)
		secrets, _ := expect["secrets"].([]any)
		if len(secrets) == 0 {
			continue
		}
		s, err := capture.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found, err := audit.Run(t.Context(), s, audit.Options{Commands: cases.Commands})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		shown, err := json.Marshal(view.New(found, views.Begin))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			searched++
			if strings.Contains(string(shown), fmt.Sprint(secret)) {
				t.Errorf("%s: the view has the value of a Secret", path)
			}
		}
	}
	if searched == 0 {
		t.Error("no value was searched for")
	}
}

// TestTransitions checks the changes of state between two views.
func TestTransitions(t *testing.T) {
	const ready, missing, unknown = report.Ready, report.Missing, report.Unknown
	named := func(n int, d *view.Deployment) *view.Deployment { // without the first objects
		d.Objects = d.Objects[n:]
		return d
	}
	unread := views.Deployment("web")
	unread.Reason, unread.Objects = "Forbidden", nil
	for name, test := range map[string]struct {
		before, after *view.Deployment
		want          []string
	}{
		"equal": {views.Deployment("web", ready, missing), views.Deployment("web", ready, missing), nil},
		"vanished": {views.Deployment("web", ready, ready), views.Deployment("web", ready, missing),
			[]string{"b vanished"}},
		"not known": {views.Deployment("web", unknown), views.Deployment("web", missing),
			[]string{"a Unknown-Missing"}},
		"unread": {views.Deployment("web", ready), unread, nil},
		"new": {named(1, views.Deployment("web", ready, ready)), views.Deployment("web", missing, ready),
			[]string{"a -Missing"}},
		"dropped": {views.Deployment("web", ready, ready, ready), named(1, views.Deployment("web", ready, ready)),
			[]string{"a dropped", "c dropped"}},
		"orphaned": {views.Deployment("web", ready), views.Deployment("web", report.Orphaned),
			[]string{"a Ready-Orphaned"}},
		"another deployment": {views.Deployment("web", ready), views.Deployment("api", missing), nil},
	} {
		var got []string
		for _, x := range step(views.Of(0, test.before), views.Of(1, test.after)).Transitions {
			what := string(x.Before.State + "-" + x.After.State)
			switch {
			case x.Vanished():
				what = "vanished"
			case x.Dropped():
				what = "dropped"
			}
			got = append(got, x.Ref.Value().Name+" "+what)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// step follows views, and returns the last step.
func step(all ...*view.View) *view.Step {
	f, out := view.Follower{}, (*view.Step)(nil)
	for _, v := range all {
		out = f.Next(v)
	}
	return out
}

// TestFirst checks that the first view has no changes.
func TestFirst(t *testing.T) {
	got := step(views.Of(0, views.Deployment("web", report.Missing)))
	if len(got.Transitions)+len(got.Uninstalled) > 0 {
		t.Errorf("the first view has the changes %+v", got)
	}
}

// TestUnread checks that an object which vanished while it could not be read is seen to have vanished afterwards, since
// the last time when it was read.
func TestUnread(t *testing.T) {
	before, after := views.Deployment("web", report.Ready), views.Deployment("web", report.Missing)
	unread := views.Deployment("web")
	unread.Reason, unread.Objects = "Forbidden", nil
	for name, between := range map[string]*view.Deployment{"the record": unread,
		"the object": views.Deployment("web", report.Unknown)} {
		got := step(views.Of(1, before), views.Of(2, between), views.Of(3, between), views.Of(4, after)).Transitions
		if len(got) != 1 || !got[0].Vanished() || !got[0].Since.Equal(views.Begin.Add(time.Second)) {
			t.Errorf("%s was not read: %+v", name, got)
		}
	}
}

// TestUninstalled checks that a release counts as uninstalled only when every record was read.
func TestUninstalled(t *testing.T) {
	before := views.Of(0, views.Deployment("web", report.Ready, report.Missing), views.Deployment("api"))
	left := views.Of(1, views.Deployment("api")) // the BundleDeployment was deleted, its agent was not as fast
	left.Releases = append(left.Releases, &view.Release{Name: "shop/web"})
	left.Fleet = append(left.Fleet, view.FleetObject{Kind: state.Bundle, Namespace: "fleet-default", Name: "web"})
	unread := views.Of(2, views.Deployment("api"))
	unread.RecordsRead[""] = false
	if got := step(before, left, unread).Uninstalled; got != nil {
		t.Errorf("uninstalled are %+v, but not every record was read", got)
	}
	after := views.Of(3, views.Deployment("api"))
	for want, change := range map[view.Presence]func(){
		view.Absent:   func() {},
		view.NotKnown: func() { after.FleetRead[state.Bundle] = false },
		view.Present:  func() { after.Fleet = left.Fleet },
	} {
		after = views.Of(3, views.Deployment("api"))
		change()
		got := step(before, left, unread, after).Uninstalled
		if len(got) != 1 || got[0].Name != "shop/web" || got[0].Bundle != want {
			t.Fatalf("uninstalled are %+v, want a Bundle that is present: %s", got, want)
		}
		if refs := got[0].Refs(); len(refs) != 1 || refs[0] != views.ConfigMap("a") {
			t.Errorf("the release had %v", refs)
		}
	}
}

// TestSize measures two views of 50,000 objects that are ready.
func TestSize(t *testing.T) {
	const deployments, objects, limit = 500, 100, 16 << 20
	newView := func() *view.View {
		v := views.Large(deployments, objects)
		for _, d := range v.Deployments {
			for i := range d.Objects {
				d.Objects[i].State, d.Objects[i].Detail = report.Ready, nil
			}
		}
		return v
	}
	before := heap()
	kept := []*view.View{newView(), newView()}
	if used := heap() - before; used > limit {
		t.Errorf("two views of %d objects use %d bytes, want at most %d", deployments*objects, used, limit)
	}
	runtime.KeepAlive(kept)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestExpired checks that a Job that Kubernetes deleted because of its age did not vanish.
func TestExpired(t *testing.T) {
	capture, err := cases.Read("../../../test/testdata/cases/job-expired.yaml", &map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if err := capture.Complete(nil); err != nil {
		t.Fatal(err)
	}
	s, err := capture.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := audit.Run(t.Context(), s, audit.Options{Commands: cases.Commands})
	if err != nil {
		t.Fatal(err)
	}
	var expired []string
	for _, o := range view.New(found, views.Begin).Deployments[0].Objects {
		if o.Expired() {
			expired = append(expired, o.Ref.Value().Name)
		}
		x := view.Transition{Known: view.Object{State: report.Ready}, After: o}
		if o.State == report.Missing && x.Vanished() == o.Expired() {
			t.Errorf("%s vanished: %v", o.Ref.Value().Name, x.Vanished())
		}
	}
	if diff := cmp.Diff([]string{"expired"}, expired); diff != "" {
		t.Errorf("expired (-want +got):\n%s", diff)
	}
}

// TestOutdated checks that nothing is known in an outdated view, that nothing counts as gone because of it, and that a
// change is found when the state is known again.
func TestOutdated(t *testing.T) {
	before, after := views.Sample(t, "clean"), views.Sample(t, "clean")
	since := before.Evaluated.Add(time.Second)
	after.Evaluated = before.Evaluated.Add(time.Hour)
	gone := &after.Deployments[0].Objects[0]
	gone.State = report.Missing
	gone.Detail = &view.Detail{}
	outdated := before.Outdated(before.Evaluated.Add(time.Minute), since)
	for _, d := range outdated.Deployments {
		stated := d.State != report.Unknown || d.Reason == ""
		if stated || d.Read || len(d.Objects) > 0 || d.Counts != (report.Counts{}) {
			t.Errorf("%s is known: %+v", d.ID, d)
		}
	}
	if len(outdated.Deployments) != len(before.Deployments) || len(outdated.Gaps) != 1 || outdated.Gaps[0].Optional {
		t.Errorf("%d bundle deployments and the gaps %v", len(outdated.Deployments), outdated.Gaps)
	}
	var f view.Follower
	f.Next(before)
	if s := f.Next(outdated); len(s.Transitions)+len(s.Uninstalled) > 0 {
		t.Errorf("the outdated view changes %v and uninstalls %v", s.Transitions, s.Uninstalled)
	}
	s := f.Next(after)
	if len(s.Transitions) != 1 || !s.Transitions[0].Vanished() || !s.Transitions[0].Since.Equal(before.Evaluated) {
		t.Errorf("when the state is known again, these changed: %+v", s.Transitions)
	}
}
