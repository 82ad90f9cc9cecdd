// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	want := Wanted("default-guestbook", "guestbook", "web")
	other := Wanted("default-other", "other", "web")
	with := func(change func(*Marks)) Marks {
		m := want
		change(&m)
		return m
	}
	for _, tc := range []struct {
		name string
		have Marks
		want Verdict
	}{
		{"all five", want, Verdict{}},
		{"hash alone", Marks{Hash: want.Hash}, Verdict{IDMismatch: true}},
		{"hash with another id", with(func(m *Marks) { m.SetID = "default-x" }), Verdict{IDMismatch: true}},
		{"hash with another release", with(func(m *Marks) { m.ReleaseName = "x" }), Verdict{}},
		{"nothing", Marks{}, Verdict{Reason: Unmarked}},
		{"managed-by alone", Marks{ManagedBy: "Helm"}, Verdict{Reason: Unmarked}},
		{"managed by another tool", Marks{ManagedBy: "kustomize"}, Verdict{Reason: Unmarked}},
		{"Helm's marks of this release", with(func(m *Marks) { m.Hash, m.SetID = "", "" }), Verdict{Reason: HelmOnly}},
		{"the release without managed-by", with(func(m *Marks) { m.Hash, m.SetID, m.ManagedBy = "", "", "" }), Verdict{Reason: HelmOnly}},
		{"Helm's marks of another release", Marks{ManagedBy: "Helm", ReleaseName: "other", ReleaseNamespace: "web"}, Verdict{Reason: ForeignOwner}},
		{"that release in another namespace", Marks{ManagedBy: "Helm", ReleaseName: "guestbook", ReleaseNamespace: "x"}, Verdict{Reason: ForeignOwner}},
		{"id without hash", with(func(m *Marks) { m.Hash = "" }), Verdict{Reason: HashStripped}},
		{"id with another hash", with(func(m *Marks) { m.Hash = other.Hash }), Verdict{Reason: Inconsistent}},
		{"another set", other, Verdict{Reason: ForeignOwner}},
		{"another hash alone", Marks{Hash: other.Hash}, Verdict{Reason: ForeignOwner}},
		{"another id alone", Marks{SetID: other.SetID}, Verdict{Reason: ForeignOwner}},
		{"another id with Helm's marks of this release", with(func(m *Marks) { m.Hash, m.SetID = "", other.SetID }), Verdict{Reason: ForeignOwner}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Judge(tc.have, want); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	want := Wanted("default-guestbook", "guestbook", "web")
	if got := Claim(want, want); len(got) != 0 {
		t.Errorf("an owned object is claimed: %v", got)
	}
	have := want
	have.Hash, have.SetID = "", "default-old"
	diff := cmp.Diff([]Change{
		{true, "objectset.rio.cattle.io/hash", "", want.Hash},
		{false, "objectset.rio.cattle.io/id", "default-old", "default-guestbook"},
	}, Claim(have, want))
	if diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Claim(Marks{}, want); len(got) != 5 {
		t.Errorf("an unmarked object needs %d keys, want 5", len(got))
	}
}
