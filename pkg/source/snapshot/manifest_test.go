// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// label is the label of the objects that a manifest states as captured.
const label = "example.com/set"

var (
	forbidden = source.Failure{Reason: source.Forbidden, Detail: "not for this user"}
	unserved  = source.Failure{Reason: source.KindNotServed, Detail: "not served"}
)

// manifest returns the manifest of a snapshot with one ConfigMap in namespace a.
func manifest() snapshot.Manifest {
	captured := func(kind string, objects int, selector string, coverage source.Coverage) snapshot.Captured {
		c := snapshot.Captured{Version: "v1", Kind: kind, Objects: objects, LabelSelector: selector}
		c.State(coverage)
		return c
	}
	return snapshot.Manifest{
		APIVersion: snapshot.ManifestAPIVersion, Kind: snapshot.ManifestKind, Complete: true,
		TakenAt:  time.Unix(1_800_000_000, 0).UTC(),
		Versions: snapshot.Versions{Kubernetes: "v1.34.1"},
		Captured: []snapshot.Captured{
			captured("ConfigMap", 1, "", source.Covered()),
			captured("Secret", 0, "", source.CoveredIn([]string{"b"}, forbidden).With("c", &forbidden)),
			captured("Pod", 0, label, source.Covered()),
		},
		Gaps: []snapshot.Gap{{Gap: source.Gap{What: "pods", Reason: "why"}},
			{Gap: source.Gap{What: "secrets", Reason: "Forbidden"}, Listed: true}},
		Resources: []snapshot.Resource{{Version: "v1", Kind: "ConfigMap", Name: "configmaps", Namespaced: true},
			{Version: "v1", Kind: "Secret", Name: "secrets", Namespaced: true},
			{Version: "v1", Kind: "Pod", Name: "pods", Namespaced: true}, {Version: "v1", Kind: "Service",
				Name: "services", Namespaced: true}},
		UnknownGroups: map[string]source.Failure{"metrics.example.com/v1": forbidden},
		NotListed:     unserved,
		Unmasked:      &source.Unmasked{Contents: map[string]source.Unreadable{"s-1": {Damaged: "it is damaged"}}},
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	out, err := json.MarshalIndent(v, "", "  ")
	must(t, err)
	return string(out)
}

// TestManifest checks that a manifest replaces what objects prove.
func TestManifest(t *testing.T) {
	m := manifest()
	s := open(t, write(t, entry{"cm.json", obj(cmA)}, entry{"MANIFEST", jsonOf(t, m)}))
	d := describe(t, s)
	if !d.Complete || d.Partial() || !d.Live() || !d.TakenAt.Equal(m.TakenAt) || d.Earliest ||
		d.KubernetesVersion != "v1.34.1" {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff([]source.Gap{{What: "pods", Reason: "why"}}, d.Gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if damaged, _ := d.Unmasked.Content("s-1"); damaged.Damaged == "" {
		t.Error("the results before masking are lost")
	}
	missing := source.Failure{Reason: source.NotInSnapshot,
		Detail: "no whole List of the kind was captured in that namespace"}
	selected := source.Failure{Reason: source.NotInSnapshot, Detail: "only objects with the label " + label +
		" were captured"}
	for _, tc := range []struct {
		kind, namespace string
		query           source.Query
		want            source.Failure // zero if the namespace is covered
	}{
		{"ConfigMap", "z", source.Query{}, source.Failure{}},
		{"Secret", "a", source.Query{}, forbidden},
		{"Secret", "b", source.Query{}, source.Failure{}},
		{"Secret", "c", source.Query{}, forbidden},
		{"Service", "a", source.Query{}, missing},
		{"Pod", "a", source.Query{}, selected},
		{"Pod", "a", source.Query{LabelSelector: "other"}, selected},
		{"Pod", "a", source.Query{LabelSelector: "!" + label}, selected},
		{"Pod", "a", source.Query{LabelSelector: label}, source.Failure{}},
		{"Pod", "a", source.Query{LabelSelector: label + " in (x, y)"}, source.Failure{}},
		{"Node", "", source.Query{}, unserved},
	} {
		tc.query.Kind = schema.GroupVersionKind{Version: "v1", Kind: tc.kind}
		cover, err := s.List(t.Context(), tc.query, func(source.Object) error { return nil })
		must(t, err)
		got, covered := cover.Of(tc.namespace)
		if covered != (tc.want == source.Failure{}) || !covered && got != tc.want {
			t.Errorf("%s in %q with %q: %+v, want %+v", tc.kind, tc.namespace, tc.query.LabelSelector, got, tc.want)
		}
	}
	kinds, err := s.Kinds(t.Context())
	must(t, err)
	if _, f, ok := kinds.Lookup(schema.GroupVersionKind{Group: "metrics.example.com", Version: "v1", Kind: "X"}); ok ||
		f != forbidden {
		t.Errorf("a kind of an API that did not answer: %+v", f)
	}
}

// TestManifestOfAnother checks that a manifest does not count for objects that it does not describe.
func TestManifestOfAnother(t *testing.T) {
	old := manifest()
	old.APIVersion = "fleetdoctor.io/v9"
	files := []entry{{"cm.json", obj(cmA)}, {"MANIFEST", jsonOf(t, manifest())}}
	for name, tc := range map[string]struct {
		files []entry
		gap   string
	}{
		"an object is lost":    {files[1:], "1 of 1 objects of kind ConfigMap"},
		"an object is damaged": {[]entry{{"cm.json", obj(cmA)[:40]}, files[1]}, "1 of 1 objects of kind ConfigMap"},
		"another version":      {[]entry{files[0], {"MANIFEST", jsonOf(t, old)}}, ""},
		"two snapshots": {append(slices.Clone(files), entry{"second/MANIFEST", files[1].text}),
			"the manifests of the snapshots"},
		"the manifest is no JSON": {[]entry{files[0], {"MANIFEST.json", files[1].text[:200]}}, ""},
		"a field has another type": {[]entry{files[0],
			{"MANIFEST", `{"apiVersion":"fleetdoctor.io/v1alpha1","kind":"Snapshot","captured":"all"}`}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, write(t, tc.files...))
			d := describe(t, s)
			if d.Complete || len(d.Gaps) == 0 {
				t.Errorf("%+v", d)
			}
			if tc.gap != "" && !slices.ContainsFunc(d.Gaps, func(g source.Gap) bool { return g.What == tc.gap }) {
				t.Errorf("no gap %q in %+v", tc.gap, d.Gaps)
			}
			cover, err := s.List(t.Context(), source.Query{Kind: schema.GroupVersionKind{Version: "v1",
				Kind: "ConfigMap"}}, func(source.Object) error { return nil })
			must(t, err)
			if _, covered := cover.Of("z"); covered {
				t.Error("an object that is not in the snapshot counts as missing")
			}
		})
	}
}
