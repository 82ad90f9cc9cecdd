// SPDX-License-Identifier: Apache-2.0

package values

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// ago is a time before now; 0 is an unknown time.
func ago(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return now.Add(-d)
}

// facts are those of an ordinary BundleDeployment with its Secret, which last changed an hour ago.
func facts(change func(*Facts)) Facts {
	f := Facts{Type: DeploymentType, Read: true,
		Owner: Owner{Kind: "BundleDeployment", UID: "uid", Hash: "hash", Changed: ago(time.Hour)},
		Secret: &Secret{Type: DeploymentType, Hash: "hash", HashKnown: true, OwnerKind: "BundleDeployment",
			OwnerUID: "uid", Changed: ago(time.Hour)}}
	change(&f)
	return f
}

// TestClassify has the rows of docs/fleet-behavior.md, 6.4, with both sides of each limit.
func TestClassify(t *testing.T) {
	const young, old = Window, Window + time.Second
	gone := func(f *Facts) { f.Secret = nil }
	for _, tt := range []struct {
		name   string
		facts  Facts
		state  State
		reason Reason
	}{
		{"equal", facts(func(*Facts) {}), OK, Equal},
		{"no values", facts(func(f *Facts) { f.Secret, f.Owner.Hash = nil, "" }), OK, NotNeeded},
		{"no values, a user's Secret with that name", facts(func(f *Facts) {
			f.Secret.Type, f.Owner.Hash = "Opaque", ""
		}), OK, NotNeeded},
		{"no values, and the Secrets were not read", facts(func(f *Facts) {
			f.Secret, f.Owner.Hash, f.Read = nil, "", false
		}), OK, NotNeeded},

		{"left over", facts(func(f *Facts) { f.Owner.Hash = "" }), Leftover, Lasting},
		{"left over after a change of the BundleDeployment", facts(func(f *Facts) {
			f.Owner.Hash, f.Owner.Changed = "", ago(young)
		}), Pending, Recent},
		{"left over after a change of the Secret", facts(func(f *Facts) {
			f.Owner.Hash, f.Secret.Changed = "", ago(young)
		}), Pending, Recent},
		{"left over, just after the limit", facts(func(f *Facts) {
			f.Owner.Hash, f.Secret.Changed = "", ago(old)
		}), Leftover, Lasting},
		{"left over and being deleted", facts(func(f *Facts) {
			f.Owner.Hash, f.Secret.Deleting = "", true
		}), OK, NotNeeded},
		{"left over, times unknown", facts(func(f *Facts) {
			f.Owner.Hash, f.Secret.Changed = "", ago(0)
		}), Pending, NoTime},
		{"hash discarded by the controller", facts(func(f *Facts) {
			f.Owner.Hash, f.Owner.Waiting = "", true
		}), Repair, WaitsForIt},
		{"hash discarded, and no Secret", facts(func(f *Facts) {
			f.Owner.Hash, f.Owner.Waiting, f.Secret = "", true, nil
		}), Repair, WaitsForIt},

		{"missing", facts(gone), Missing, Lasting},
		{"new hash, no Secret yet (before 0.14.1)", facts(func(f *Facts) { gone(f); f.Owner.Changed = ago(young) }),
			Pending, Recent},
		{"missing, just after the limit", facts(func(f *Facts) { gone(f); f.Owner.Changed = ago(old) }), Missing,
			Lasting},
		{"missing, and used after the last change", facts(func(f *Facts) {
			gone(f)
			f.Owner.Changed,
				f.Owner.Used = ago(30*time.Second), ago(29*time.Second)
		}), Missing, UsedSince},
		{"missing, times unknown", facts(func(f *Facts) { gone(f); f.Owner.Changed = ago(0) }), Pending, NoTime},
		{"missing, times unknown, deployed long ago",
			facts(func(f *Facts) { gone(f); f.Owner.Changed, f.Owner.Used = ago(0), ago(old) }), Missing, UsedSince},
		{"missing, times unknown, deployed now", facts(func(f *Facts) {
			gone(f)
			f.Owner.Changed, f.Owner.Used = ago(0),
				ago(young)
		}), Pending, NoTime},
		{"missing and waiting", facts(func(f *Facts) { gone(f); f.Owner.Waiting, f.Owner.Changed = true, ago(young) }),
			Pending, Recent},
		{"waiting, used before", facts(func(f *Facts) {
			gone(f)
			f.Owner.Waiting, f.Owner.Changed, f.Owner.Used = true, ago(young), ago(time.Second)
		}), Pending, Recent},
		{"waiting for ever", facts(func(f *Facts) { gone(f); f.Owner.Waiting = true }), Missing, Lasting},
		{"not read", facts(func(f *Facts) { gone(f); f.Read = false }), Unknown, NotRead},
		{"missing, being deleted", facts(func(f *Facts) { gone(f); f.Owner.Deleting = true }), OK, OwnerDeleted},

		{"different", facts(func(f *Facts) { f.Secret.Hash = "other" }), Mismatch, Lasting},
		{"new Secret, old hash (0.14.1+)", facts(func(f *Facts) {
			f.Secret.Hash, f.Secret.Changed = "other", ago(young)
		}), Pending, Recent},
		{"new hash, old Secret (before 0.14.1)", facts(func(f *Facts) {
			f.Secret.Hash, f.Owner.Changed = "other", ago(young)
		}), Pending, Recent},
		{"different, just after the limit", facts(func(f *Facts) {
			f.Secret.Hash, f.Secret.Changed, f.Owner.Changed = "other", ago(old), ago(old)
		}), Mismatch, Lasting},
		{"different, the Bundle has changed", facts(func(f *Facts) {
			f.Secret.Hash, f.Owner.Behind = "other", true
		}), Pending, OwnerBehind},
		{"different, used after both changes", facts(func(f *Facts) {
			f.Secret.Hash, f.Secret.Changed, f.Owner.Changed, f.Owner.Used = "other", ago(30*time.Second),
				ago(30*time.Second), ago(29*time.Second)
		}), Mismatch, UsedSince},
		{"different, used before the Secret changed", facts(func(f *Facts) {
			f.Secret.Hash, f.Secret.Changed, f.Owner.Used = "other", ago(30*time.Second), ago(31*time.Second)
		}), Pending, Recent},
		{"different, the time of the Secret is unknown", facts(func(f *Facts) {
			f.Secret.Hash, f.Secret.Changed, f.Owner.Used = "other", ago(0), ago(old)
		}), Pending, NoTime},
		{"different, just edited", facts(func(f *Facts) {
			f.Secret.Hash, f.Secret.Changed, f.Secret.Editor, f.Secret.Edited = "other", ago(time.Second),
				"kubectl-edit", ago(time.Second)
		}), Mismatch, Edited},
		{"edited, and the owner changed after that", facts(func(f *Facts) {
			f.Secret.Hash, f.Secret.Editor, f.Secret.Edited, f.Owner.Changed = "other", "kubectl-edit",
				ago(2*time.Second), ago(time.Second)
		}), Pending, Recent},
		{"edited, the time of the owner is unknown", facts(func(f *Facts) {
			f.Secret.Hash, f.Secret.Editor, f.Secret.Edited, f.Owner.Changed = "other", "kubectl-edit", ago(time.Hour),
				ago(0)
		}), Pending, NoTime},
		{"updated during a capture", facts(func(f *Facts) {
			f.Captured, f.Secret.Hash, f.Secret.Changed = true, "other", ago(captureWindow)
		}), Pending, Recent},
		{"updated long before a capture", facts(func(f *Facts) {
			f.Captured, f.Secret.Hash, f.Secret.Changed = true, "other", ago(captureWindow+time.Second)
		}), Mismatch, Lasting},
		{"a capture with an old Secret", facts(func(f *Facts) {
			f.Captured, f.Secret.Hash, f.Owner.Changed = true, "other", ago(old)
		}), Mismatch, Lasting},
		{"the Secret without data, hash empty", facts(func(f *Facts) { f.Secret.Hash = "" }), Mismatch, Lasting},
		{"masked", facts(func(f *Facts) {
			f.Secret.Hash, f.Secret.HashKnown = "", false
		}), Unknown, HashUnknown},
		{"equal, but waiting", facts(func(f *Facts) { f.Owner.Waiting = true }), Repair, WaitsForIt},

		{"current values emptied", facts(func(f *Facts) {
			f.Secret.Emptied, f.Owner.Current = true, true
		}), Emptied, Lasting},
		{"no current values yet", facts(func(f *Facts) { f.Secret.Emptied = true }), OK, Equal},
		{"current values emptied a moment ago", facts(func(f *Facts) {
			f.Secret.Emptied, f.Owner.Current, f.Secret.Changed = true, true, ago(young)
		}), Pending, Recent},

		{"another type", facts(func(f *Facts) { f.Secret.Type, f.Secret.Hash = "Opaque", "" }), Foreign, ""},
		{"another type, the right data", facts(func(f *Facts) { f.Secret.Type = "Opaque" }), Foreign, Equal},
		{"no type, as in a capture of metadata", facts(func(f *Facts) {
			f.Secret.Type, f.Secret.HashKnown = "", false
		}), Unknown, HashUnknown},

		{"no owner yet", facts(func(f *Facts) {
			f.Secret.OwnerKind, f.Secret.OwnerUID, f.Secret.Changed = "", "", ago(young)
		}), Pending, Recent},
		{"no owner", facts(func(f *Facts) { f.Secret.OwnerKind, f.Secret.OwnerUID = "", "" }), OK, NoOwner},
		{"the owner was created again", facts(func(f *Facts) { f.Secret.OwnerUID = "old" }), OK, OtherOwner},
		{"an owner of another kind", facts(func(f *Facts) { f.Secret.OwnerKind = "Bundle" }), OK, OtherOwner},
		{"another owner, time unknown", facts(func(f *Facts) {
			f.Secret.OwnerUID, f.Secret.Changed = "old", ago(0)
		}), OK, Equal},
	} {
		got := Classify(tt.facts, now, Controller{})
		if got.State != tt.state || got.Reason != tt.reason {
			t.Errorf("%s: %s %s, want %s %s", tt.name, got.State, got.Reason, tt.state, tt.reason)
		}
		if inline := Classify(tt.facts, now, ControllerOf("v0.12.0")); inline != (Result{State: OK, Reason: Inline}) {
			t.Errorf("%s: with inline values %+v", tt.name, inline)
		}
		accuses := func(r Result) bool {
			return r.State == Missing || r.State == Mismatch || r.State == Leftover
		}
		if got := Classify(tt.facts, time.Time{}, Controller{}); accuses(got) && got.Reason == Lasting {
			t.Errorf("%s: %s at an unknown time", tt.name, got.State)
		}
	}
}

// TestController has the versions on both sides of each change.
func TestController(t *testing.T) {
	type features struct{ Inline, Waits, Repairs, Loses bool }
	for tag, want := range map[string]features{
		"dev":                       {},
		"":                          {},
		"v0.10.10":                  {Inline: true},
		"v0.10.11":                  {},
		"v0.11.5":                   {Inline: true},
		"v0.11.6":                   {},
		"v0.12.0":                   {Inline: true},
		"v0.12.1-rc.1":              {Inline: true},
		"v0.12.1":                   {},
		"v0.12.2":                   {},
		"v0.13.0":                   {},
		"v105.0.0-up0.12.0":         {Inline: true},
		"v0.14.0":                   {},
		"v0.14.1":                   {Loses: true},
		"v0.14.3":                   {Loses: true},
		"v0.14.4":                   {Waits: true},
		"v0.15.2":                   {Waits: true},
		"v0.15.3":                   {Waits: true, Repairs: true},
		"v0.15.3-rc.1":              {Waits: true},
		"v0.16.0":                   {Waits: true, Repairs: true},
		"108.0.0-up0.15.3-security": {Waits: true},
	} {
		c := ControllerOf(tag)
		got := features{c.Inline(), c.Waits(), c.RepairsMismatch(), c.LosesValues()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tag, diff)
		}
	}
}
