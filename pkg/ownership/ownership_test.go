// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClassify(t *testing.T) {
	want := Desired("default-guestbook", "guestbook", "web")
	other := Desired("default-other", "other", "web")
	with := func(change func(*Metadata)) Metadata {
		m := want
		change(&m)
		return m
	}
	for _, tc := range []struct {
		name       string
		have       Metadata
		want       Class
		idMismatch bool
	}{
		{"all five", want, Owned, false},
		{"hash only", Metadata{Hash: want.Hash}, Owned, true},
		{"hash with another id", with(func(m *Metadata) { m.SetID = "default-x" }), Owned, true},
		{"hash with another release", with(func(m *Metadata) { m.ReleaseName = "x" }), Owned, false},
		{"no metadata", Metadata{}, Unmarked, false},
		{"managed-by only", Metadata{ManagedBy: "Helm"}, Unmarked, false},
		{"managed by another tool", Metadata{ManagedBy: "kustomize"}, Unmarked, false},
		{"Helm annotations of this release", with(func(m *Metadata) { m.Hash, m.SetID = "", "" }), HelmOnly, false},
		{"the release without managed-by", with(func(m *Metadata) {
			m.Hash, m.SetID, m.ManagedBy = "", "", ""
		}), HelmOnly, false},
		{"Helm annotations of another release", Metadata{ManagedBy: "Helm", ReleaseName: "other",
			ReleaseNamespace: "web"}, ForeignOwner, false},
		{"a release with this name in another namespace", Metadata{ManagedBy: "Helm", ReleaseName: "guestbook",
			ReleaseNamespace: "x"}, ForeignOwner, false},
		{"id without hash", with(func(m *Metadata) { m.Hash = "" }), HashStripped, false},
		{"id with another hash", with(func(m *Metadata) { m.Hash = other.Hash }), Inconsistent, false},
		{"another set", other, ForeignOwner, false},
		{"another hash only", Metadata{Hash: other.Hash}, ForeignOwner, false},
		{"another id only", Metadata{SetID: other.SetID}, ForeignOwner, false},
		{"another id with Helm annotations of this release", with(func(m *Metadata) {
			m.Hash, m.SetID = "", other.SetID
		}), ForeignOwner, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, idMismatch := Classify(tc.have, want); got != tc.want || idMismatch != tc.idMismatch {
				t.Errorf("got %q, %v, want %q, %v", got, idMismatch, tc.want, tc.idMismatch)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	want := Desired("default-guestbook", "guestbook", "web")
	if got := Changes(want, want); len(got) != 0 {
		t.Errorf("an owned object is changed: %v", got)
	}
	show := func(changes []Change) []string {
		var out []string
		for _, c := range changes {
			line := c.Field() + " " + c.Name
			for _, v := range []*string{c.Old, c.New} {
				if v == nil {
					line += " none"
				} else {
					line += " " + strconv.Quote(*v)
				}
			}
			out = append(out, line)
		}
		return out
	}
	// A key with an empty value is set.
	have := FromValues(map[string]string{"objectset.rio.cattle.io/id": "default-old", "meta.helm.sh/release-name": "",
		"app.kubernetes.io/managed-by": "Helm"})
	diff := cmp.Diff([]string{
		`label objectset.rio.cattle.io/hash none "c5c68538ff9800def965853a87784a250ad1f566"`,
		`annotation objectset.rio.cattle.io/id "default-old" "default-guestbook"`,
		`annotation meta.helm.sh/release-name "" "guestbook"`,
		`annotation meta.helm.sh/release-namespace none "web"`,
	}, show(Changes(have, want)))
	if diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	diff = cmp.Diff([]string{
		`label objectset.rio.cattle.io/hash "c5c68538ff9800def965853a87784a250ad1f566" none`,
		`annotation objectset.rio.cattle.io/id "default-guestbook" "default-old"`,
		`annotation meta.helm.sh/release-name "guestbook" ""`,
		`annotation meta.helm.sh/release-namespace "web" none`,
	}, show(Changes(want, have)))
	if diff != "" {
		t.Errorf("reverse (-want +got):\n%s", diff)
	}
	if got := Changes(Metadata{}, want); len(got) != 5 {
		t.Errorf("an object without metadata needs %d keys, want 5", len(got))
	}
	for _, m := range []Metadata{want, have, {}} {
		if got := FromValues(m.Values()); !got.Equal(m) {
			t.Errorf("%v became %v", m, got)
		}
	}
}

// TestTruthTable checks that every situation is in the table once, with an answer of each policy.
func TestTruthTable(t *testing.T) {
	seen := map[Situation]bool{}
	for _, r := range TruthTable {
		if seen[r.Situation] || r.Description == "" || len(r.Answers) != len(Policies) {
			t.Errorf("row %+v", r)
		}
		seen[r.Situation] = true
		// The policy if-unowned takes every object that the stricter policy takes.
		if r.Answers[TakeUnmarked] == Take && r.Answers[IfUnowned] != Take {
			t.Errorf("%s: %s takes it and %s does not", r.Situation, TakeUnmarked, IfUnowned)
		}
	}
}
