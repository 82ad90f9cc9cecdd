// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// TestDesired checks the desired objects of a manifest: they have a namespace, are in order, and the last of several
// duplicates is used.
func TestDesired(t *testing.T) {
	w := &builder{tb: t}
	w.secret("system", "one").bd("one", "a", "web/a:2").
		record("web/a:1", "superseded", "a", "system", "dropped", "theme").
		record("web/a:2", "deployed", "a", "system", "theme", "other", "theme").
		record("web/a:3", "failed", "a", "system", "later")
	w.c.Records[release.Name{Namespace: "web", Name: "a", Revision: 2}].Hooks = []release.Hook{{Kind: "Job",
		Name: "migrate"}}
	w.c.Records[release.Name{Namespace: "web", Name: "a", Revision: 2}].Objects[2].Raw = []byte("last")
	s := w.build()
	d := s.Deployments[0]
	var got []string
	for i, want := range d.Desired {
		if want.Index != i || want.Deployment != d.ID() {
			t.Errorf("%s has index %d at %d", want.Key(), want.Index, i)
		}
		got = append(got, want.Key().String())
	}
	if diff := cmp.Diff([]string{"configmap web/theme", "configmap web/other"}, got); diff != "" {
		t.Errorf("desired (-want +got):\n%s", diff)
	}
	if string(d.Desired[0].Raw) != "last" {
		t.Errorf("of two duplicates, the first one is used: %s", d.Desired[0].Raw)
	}
	earlier := map[KindName]bool{{"ConfigMap", "dropped"}: true, {"ConfigMap", "theme"}: true}
	if diff := cmp.Diff(earlier, d.Earlier); diff != "" || !d.EarlierKnown {
		t.Errorf("earlier (-want +got), known %v:\n%s", d.EarlierKnown, diff)
	}
	if !d.Hooks[KindName{"Job", "migrate"}] {
		t.Error("the hook is missing")
	}
	if len(d.RecordProblems) != 1 || d.RecordProblems[0].Status != "failed" ||
		d.RecordProblems[0].Record.Revision != 3 {
		t.Errorf("record problems %+v", d.RecordProblems)
	}
	key := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "theme"}.Key()
	if len(s.On(s.Clusters[0].ID).Of(key)) != 1 {
		t.Errorf("%d deployments desire it", len(s.On(s.Clusters[0].ID).Of(key)))
	}
}

// TestNewest checks that the objects of the newest revision are known if the one that the status names is not recorded.
func TestNewest(t *testing.T) {
	w := &builder{tb: t}
	w.secret("system", "one").bd("one", "a", "web/a:2").record("web/a:4", "failed", "a", "system", "theme").
		record("web/a:5", "failed", "a", "system", "later")
	d := w.build().Deployments[0]
	if len(d.Newest) != 1 || d.Newest[0].Name != "later" || len(d.Desired) > 0 {
		t.Errorf("newest %v, desired %v", d.Newest, d.Desired)
	}
	if d.Newest[0].Namespace != "web" {
		t.Errorf("its namespace is not that of the release: %v", d.Newest)
	}
}
