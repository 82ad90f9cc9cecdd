// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

func keys(objects []*Object) []string {
	var out []string
	for _, w := range objects {
		out = append(out, w.Key().String())
	}
	return out
}

// TestRender checks a rendered bundle deployment: its desired objects, the objects that only its release has, and the
// claims on each object.
func TestRender(t *testing.T) {
	w := &builder{tb: t}
	w.secret("system", "one").bd("one", "a", "web/a:1").bd("one", "b", "web/b:1").
		record("web/a:1", "deployed", "a", "system", "kept", "dropped", "shared").
		record("web/b:1", "deployed", "b", "system", "shared")
	rendered := func(name, raw string) release.Object {
		return release.Object{Ref: object.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: name}, Raw: []byte(raw)}
	}
	s := w.build(&Rendering{Deployment: object.DeploymentID{Namespace: "one", Name: "a"}, ReleaseName: "a",
		ReleaseNamespace: "web", Objects: []release.Object{rendered("kept", "new"), rendered("added", "{}")},
		Unstable: map[object.Ref][]string{{APIVersion: "v1", Kind: "ConfigMap", Name: "added"}: {"/data/random"}}})
	d := s.Deployments[0]
	if diff := cmp.Diff([]string{"configmap web/kept", "configmap web/added"}, keys(d.Desired)); diff != "" {
		t.Errorf("desired (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"configmap web/kept", "configmap web/dropped", "configmap web/shared"},
		keys(d.Removed)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/data/random"}, d.Desired[1].Unstable); diff != "" || d.From != FromBundle ||
		d.Problem != "" {
		t.Errorf("unstable (-want +got), from %q, problem %q:\n%s", d.From, d.Problem, diff)
	}
	for name, want := range map[string]int{"kept": 1, "added": 1, "dropped": 0, "shared": 1} {
		key := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name}.Key()
		if got := len(s.On(s.Clusters[0].ID).Of(key)); got != want {
			t.Errorf("%d deployments desire %s, want %d", got, name, want)
		}
	}
	if _, recorded := d.Recorded[d.Desired[0].Key()]; !recorded || !d.Earlier[KindName{"ConfigMap", "dropped"}] {
		t.Error("the recorded objects of the release are missing")
	}
}

// TestUnstable checks that unstable fields are attributed to the object in the correct namespace, not to an object with
// the same name.
func TestUnstable(t *testing.T) {
	w := &builder{tb: t}
	w.secret("system", "one").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", "system")
	r := &Rendering{Deployment: object.DeploymentID{Namespace: "one", Name: "a"}, ReleaseName: "a",
		ReleaseNamespace: "web", Unstable: map[object.Ref][]string{}}
	for _, namespace := range []string{"", "shop", "till"} {
		ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "same"}
		r.Objects = append(r.Objects, release.Object{Ref: ref, Raw: []byte("{}")})
		if namespace != "till" {
			r.Unstable[ref] = []string{"/data/" + namespace}
		}
	}
	s := w.build(r)
	got := map[string][]string{}
	for _, w := range s.Deployments[0].Desired {
		got[w.Namespace] = w.Unstable
	}
	if diff := cmp.Diff(map[string][]string{"web": {"/data/"}, "shop": {"/data/shop"}, "till": nil}, got); diff != "" {
		t.Errorf("unstable (-want +got):\n%s", diff)
	}
}

// TestKept checks which objects Helm does not delete.
func TestKept(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`:   true,
		`{"metadata":{"annotations":{"helm.sh/resource-policy":"delete"}}}`: false,
		`{"metadata":{}}`: false,
		`damaged`:         false,
	} {
		if got := (&Object{Raw: []byte(raw)}).Kept(); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}
