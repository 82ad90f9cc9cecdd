// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"maps"
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
		name string
		have Metadata
		want Verdict
	}{
		{"all five", want, Verdict{}},
		{"hash alone", Metadata{Hash: want.Hash}, Verdict{IDMismatch: true}},
		{"hash with another id", with(func(m *Metadata) { m.SetID = "default-x" }), Verdict{IDMismatch: true}},
		{"hash with another release", with(func(m *Metadata) { m.ReleaseName = "x" }), Verdict{}},
		{"nothing", Metadata{}, Verdict{Reason: Unmarked}},
		{"managed-by alone", Metadata{ManagedBy: "Helm"}, Verdict{Reason: Unmarked}},
		{"managed by another tool", Metadata{ManagedBy: "kustomize"}, Verdict{Reason: Unmarked}},
		{"Helm's marks of this release", with(func(m *Metadata) { m.Hash, m.SetID = "", "" }), Verdict{Reason: HelmOnly}},
		{"the release without managed-by", with(func(m *Metadata) { m.Hash, m.SetID, m.ManagedBy = "", "", "" }), Verdict{Reason: HelmOnly}},
		{"Helm's marks of another release", Metadata{ManagedBy: "Helm", ReleaseName: "other", ReleaseNamespace: "web"}, Verdict{Reason: ForeignOwner}},
		{"that release in another namespace", Metadata{ManagedBy: "Helm", ReleaseName: "guestbook", ReleaseNamespace: "x"}, Verdict{Reason: ForeignOwner}},
		{"id without hash", with(func(m *Metadata) { m.Hash = "" }), Verdict{Reason: HashStripped}},
		{"id with another hash", with(func(m *Metadata) { m.Hash = other.Hash }), Verdict{Reason: Inconsistent}},
		{"another set", other, Verdict{Reason: ForeignOwner}},
		{"another hash alone", Metadata{Hash: other.Hash}, Verdict{Reason: ForeignOwner}},
		{"another id alone", Metadata{SetID: other.SetID}, Verdict{Reason: ForeignOwner}},
		{"another id with Helm's marks of this release", with(func(m *Metadata) { m.Hash, m.SetID = "", other.SetID }), Verdict{Reason: ForeignOwner}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Classify(tc.have, want); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	want := Desired("default-guestbook", "guestbook", "web").Stamps()
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
	// A key that is empty is not one that is not there.
	have := Stamps{"objectset.rio.cattle.io/id": "default-old", "meta.helm.sh/release-name": "", "app.kubernetes.io/managed-by": "Helm"}
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
		t.Errorf("back (-want +got):\n%s", diff)
	}
	if got := Changes(Stamps{}, want); len(got) != 5 {
		t.Errorf("an unmarked object needs %d keys, want 5", len(got))
	}
	if got := want.Marks().Stamps(); !maps.Equal(got, want) {
		t.Errorf("%v became %v", want, got)
	}
}
