// SPDX-License-Identifier: Apache-2.0

package settle_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// cluster has objects as JSON, by "Kind namespace".
type cluster struct {
	objects map[string][]string
	unread  string // a kind that cannot be read
	queries []source.Query
}

func (c *cluster) List(_ context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	c.queries = append(c.queries, q)
	if q.Kind.Kind == c.unread {
		return source.NotCovered(source.Failure{Reason: source.Forbidden}), nil
	}
	for _, ns := range append([]string{""}, q.Namespaces...) {
		for _, raw := range c.objects[q.Kind.Kind+" "+ns] {
			if err := yield(source.Object{Item: object.Item{Raw: []byte(raw)}, Kind: q.Kind}); err != nil {
				return source.Coverage{}, err
			}
		}
	}
	return source.Covered(), nil
}

func ref(kind, namespace, name string) object.Ref {
	return object.Ref{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: namespace, Name: name}
}

// TestAsk checks which changes answer a question with no.
func TestAsk(t *testing.T) {
	bundle := func(metadata string) string {
		return `{"metadata":{"namespace":"one","name":"app","uid":"1",` + metadata + `}}`
	}
	first := &metav1.ObjectMeta{Namespace: "one", Name: "app", UID: "1", Generation: 2, ResourceVersion: "7",
		Labels: map[string]string{"a": "b"}}
	same := bundle(`"generation":2,"resourceVersion":"7","labels":{"a":"b"}`)
	app := ref("Bundle", "one", "app")
	all := []settle.Aspect{settle.Presence, settle.Identity, settle.Spec, settle.Version, settle.Numbers}
	for _, tc := range []struct {
		name, now string
		changed   []settle.Aspect
	}{
		{"nothing", same, nil},
		{"the status", bundle(`"generation":2,"resourceVersion":"8","labels":{"a":"b"}`),
			[]settle.Aspect{settle.Version, settle.Numbers}},
		{"the spec", bundle(`"generation":3,"resourceVersion":"8","labels":{"a":"b"}`), all[2:]},
		{"a label", bundle(`"generation":2,"resourceVersion":"8"`), all[2:]},
		{"it is being deleted",
			bundle(`"generation":2,"resourceVersion":"8","labels":{"a":"b"},` +
				`"deletionTimestamp":"2026-11-24T00:00:00Z"`),
			all},
		{"it was deleted", bundle(`"name":"other"`), all},
		{"it could not be decoded", `{"metadata":[]}`, all},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, aspect := range all {
				c := &cluster{objects: map[string][]string{"Bundle one": {tc.now}}}
				q := aspect.Same(app, first)
				answers, err := settle.Ask(t.Context(), c, []settle.Question{q})
				if err != nil {
					t.Fatal(err)
				}
				want := true
				for _, changed := range tc.changed {
					want = want && changed != aspect
				}
				if got := answers.Hold([]settle.Question{q}); got != want {
					t.Errorf("%s: holds %v, want %v", aspect, got, want)
				}
				if len(c.queries) != 1 || !c.queries[0].MetadataOnly {
					t.Errorf("%s: queries %+v", aspect, c.queries)
				}
			}
		})
	}
}

// TestNumbers checks that a heartbeat and the time of a poll do not count.
func TestNumbers(t *testing.T) {
	one, two := &v1alpha1.Cluster{}, &v1alpha1.Cluster{}
	one.UID, two.UID = "1", "1"
	two.ResourceVersion, two.Status.Agent.LastSeen = "9", "2026-11-24T00:00:00Z"
	if a, b := settle.Numbers.Of(one), settle.Numbers.Of(two); a != b {
		t.Errorf("a heartbeat changed %s to %s", a, b)
	}
	two.Status.Summary.Ready = 1
	if settle.Numbers.Of(one) == settle.Numbers.Of(two) {
		t.Error("another number of ready deployments is no change")
	}
	one.Status, two.Status = v1alpha1.ClusterStatus{}, v1alpha1.ClusterStatus{}
	two.UID = types.UID("2")
	if settle.Numbers.Of(one) == settle.Numbers.Of(two) {
		t.Error("another Cluster of the same name is no change")
	}
}

// TestNewest checks when a revision of a release still is the newest one.
func TestNewest(t *testing.T) {
	record := func(revision int, status string) string {
		return fmt.Sprintf(`{"metadata":{"namespace":"web","name":"sh.helm.release.v1.app.v%d",`+
			`"labels":{"status":%q}}}`, revision, status)
	}
	deployed := record(3, "deployed")
	for _, tc := range []struct {
		name    string
		status  string
		records []string
		want    bool
	}{
		{"the same", "deployed", []string{record(2, "superseded"), deployed}, true},
		{"another status", "deployed", []string{record(3, "failed")}, false},
		{"a record without the label", "deployed", []string{record(3, "")}, true},
		{"a status that was not known", "", []string{record(3, "failed")}, true},
		{"a newer revision", "deployed", []string{deployed, record(4, "pending-upgrade")}, false},
		{"uninstalled", "deployed", nil, false},
	} {
		c := &cluster{objects: map[string][]string{"Secret web": tc.records}}
		asked := settle.Newest("east", release.Name{Namespace: "web", Name: "app", Revision: 3}, tc.status)
		answers, err := settle.Ask(t.Context(), c, asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := answers.Hold(asked); got != tc.want {
			t.Errorf("%s: holds %v, want %v", tc.name, got, tc.want)
		}
		if q := c.queries[0]; len(c.queries) != 1 || q.FieldSelector != "type="+release.SecretType {
			t.Errorf("%s: queries %+v", tc.name, c.queries)
		}
	}
}

// TestUnread checks that what cannot be read again does not hold, and is a gap.
func TestUnread(t *testing.T) {
	c := &cluster{unread: "Bundle"}
	asked := []settle.Question{settle.Absent(ref("Bundle", "one", "app")), settle.Absent(ref("Cluster", "one", "a"))}
	answers, err := settle.Ask(t.Context(), c, asked)
	if err != nil {
		t.Fatal(err)
	}
	if answers.Hold(asked[:1]) || !answers.Hold(asked[1:]) {
		t.Errorf("answers %+v", answers)
	}
	if len(answers.Gaps) != 1 || answers.Gaps[0].What != "reading objects of kind Bundle again" {
		t.Errorf("gaps %+v", answers.Gaps)
	}
	later := settle.Answers{}.With(answers).With(settle.Answers{Changed: map[settle.Question]bool{asked[1]: true}})
	if later.Hold(asked[:1]) || later.Hold(asked[1:]) {
		t.Errorf("a later answer replaced an earlier one: %+v", later)
	}
}

// TestManyNamespaces checks that objects in many namespaces are read with one list.
func TestManyNamespaces(t *testing.T) {
	for n, lists := range map[int]int{10: 10, 11: 0} {
		c := &cluster{}
		var asked []settle.Question
		for i := range n {
			asked = append(asked, settle.Absent(ref("Bundle", fmt.Sprintf("ns-%d", i), "app")))
		}
		if _, err := settle.Ask(t.Context(), c, asked); err != nil {
			t.Fatal(err)
		}
		if len(c.queries) != 1 || len(c.queries[0].Namespaces) != lists {
			t.Errorf("%d namespaces: queries %+v", n, c.queries)
		}
	}
}
