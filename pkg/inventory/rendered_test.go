// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

func keys(wants []*Want) []string {
	var out []string
	for _, w := range wants {
		out = append(out, w.Key().String())
	}
	return out
}

// TestRender holds what becomes of a deployment that is rendered: what it desires, what its release has beside that, and what others want.
func TestRender(t *testing.T) {
	w := &world{tb: t}
	w.secret("system", "one").bd("one", "a", "web/a:1").bd("one", "b", "web/b:1").
		record("web/a:1", "deployed", "a", "system", "kept", "dropped", "shared").
		record("web/b:1", "deployed", "b", "system", "shared")
	inv := w.build()
	d := inv.Deployments[0]
	rendered := func(name, raw string) release.Object {
		return release.Object{Ref: object.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: name}, Raw: []byte(raw)}
	}
	inv.Render(d, Rendering{From: FromBundle, ReleaseName: "a", ReleaseNamespace: "web", Objects: []release.Object{rendered("kept", "new"), rendered("added", "{}")},
		Unstable: map[object.Ref][]string{{APIVersion: "v1", Kind: "ConfigMap", Name: "added"}: {"/data/random"}}})
	if diff := cmp.Diff([]string{"configmap web/kept", "configmap web/added"}, keys(d.Desired)); diff != "" {
		t.Errorf("desired (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"configmap web/kept", "configmap web/dropped", "configmap web/shared"}, keys(d.Dropped)); diff != "" {
		t.Errorf("of the release (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/data/random"}, d.Desired[1].Unstable); diff != "" || d.From != FromBundle || d.Problem != "" {
		t.Errorf("unstable (-want +got), from %q, problem %q:\n%s", d.From, d.Problem, diff)
	}
	for name, want := range map[string]int{"kept": 1, "added": 1, "dropped": 0, "shared": 1} {
		key := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name}.Key()
		if got := len(inv.Wants[key]); got != want {
			t.Errorf("%d want %s, want %d", got, name, want)
		}
	}
	if _, recorded := d.Recorded[d.Desired[0].Key()]; !recorded || !d.Earlier[KindName{"ConfigMap", "dropped"}] {
		t.Error("what the release says of the objects is forgotten")
	}
}

// TestUnstable holds that what comes out otherwise each time is that of the very object, and not of its namesake elsewhere.
func TestUnstable(t *testing.T) {
	w := &world{tb: t}
	w.secret("system", "one").bd("one", "a", "web/a:1").record("web/a:1", "deployed", "a", "system")
	inv := w.build()
	r := Rendering{From: FromBundle, ReleaseName: "a", ReleaseNamespace: "web", Unstable: map[object.Ref][]string{}}
	for _, namespace := range []string{"", "shop", "till"} {
		ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "same"}
		r.Objects = append(r.Objects, release.Object{Ref: ref, Raw: []byte("{}")})
		if namespace != "till" {
			r.Unstable[ref] = []string{"/data/" + namespace}
		}
	}
	inv.Render(inv.Deployments[0], r)
	got := map[string][]string{}
	for _, w := range inv.Deployments[0].Desired {
		got[w.Namespace] = w.Unstable
	}
	if diff := cmp.Diff(map[string][]string{"web": {"/data/"}, "shop": {"/data/shop"}, "till": nil}, got); diff != "" {
		t.Errorf("unstable (-want +got):\n%s", diff)
	}
}

// TestOptions holds that options that were taken from files come before those of the BundleDeployment, and that there always are some.
func TestOptions(t *testing.T) {
	bd := &v1alpha1.BundleDeployment{}
	bd.Spec.Options.DefaultNamespace = "web"
	given := &v1alpha1.Options{DefaultNamespace: "shop"}
	for want, d := range map[string]*Deployment{"": {}, "web": {BD: bd}, "shop": {BD: bd, Given: given}} {
		if got := d.Options().DefaultNamespace; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestKeep holds which objects Helm leaves where they are.
func TestKeep(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`:   true,
		`{"metadata":{"annotations":{"helm.sh/resource-policy":"delete"}}}`: false,
		`{"metadata":{}}`: false,
		`damaged`:         false,
	} {
		if got := (&Want{Raw: []byte(raw)}).Keep(); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

// TestHighest holds that of each release the highest revision is known, of others than Fleet too, and of damaged ones.
func TestHighest(t *testing.T) {
	var b Builder
	for revision, status := range map[int]string{1: "superseded", 3: "failed", 2: "deployed"} {
		name := release.Name{Namespace: "tools", Name: "chart", Revision: revision}
		b.AddRecord(&DecodedRecord{&record{Record: Record{Record: release.Record{Name: name, Status: status}}}})
	}
	b.AddRecord(&DecodedRecord{&record{Record: Record{Record: release.Record{Name: release.Name{Namespace: "tools", Name: "odd", Revision: 1}}, Damaged: "cut"}}})
	if last := b.latest["tools/chart"]; last == nil || last.Revision != 3 || last.Status != "failed" {
		t.Errorf("latest %+v", last)
	}
	if last := b.latest["tools/odd"]; last == nil || last.Damaged == "" {
		t.Errorf("latest %+v", last)
	}
}
