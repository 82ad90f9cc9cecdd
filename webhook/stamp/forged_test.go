// SPDX-License-Identifier: Apache-2.0

package stamp_test

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/stamp"
)

// with adds records to a registry.
func with(tb testing.TB, r *index.Index, records ...record.Record) *index.Index {
	tb.Helper()
	for _, rec := range records {
		e, err := index.Read(rec.Value())
		if err != nil {
			tb.Fatal(err)
		}
		r.Set(e)
	}
	return r
}

// TestForgedRecord has a tenant's record, of a namespace that sorts first, claim the object and the set id of another bundle. No request gives
// the object to the tenant's release.
func TestForgedRecord(t *testing.T) {
	forged, none := ownership.Wanted("default-guestbook", "guestbook", "a-tenant"), ownership.Marks{}
	bare := ownership.Marks{Hash: guestbook.Hash, SetID: guestbook.SetID}
	left := guestbook
	left.Hash, left.SetID = gone.Hash, gone.SetID
	same := record.Record{Bundle: "guestbook", Namespace: "a-tenant", Objects: record.ConfigMaps("web", 1)}
	old := same
	old.SetID = gone.SetID
	undesired := same
	undesired.Objects = []object.Ref{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "object-7"}}
	for _, tc := range []struct {
		name      string
		forged    record.Record
		req       stamp.Request
		want      stamp.Reason
		namespace string // of the release that it is decided for, empty for none
	}{
		{"Helm's alone", same, stamp.Request{New: marked(helmOnly(guestbook))}, stamp.Adopted, "web"},
		{"all there", same, stamp.Request{New: marked(guestbook)}, stamp.Owned, "web"},
		{"all taken away", same, stamp.Request{Old: marked(guestbook), New: marked(none)}, stamp.Restored, "web"},
		{"hash and id taken away", same, stamp.Request{Old: marked(guestbook), New: marked(helmOnly(guestbook))}, stamp.Restored, "web"},
		{"Helm's taken away", same, stamp.Request{Old: marked(guestbook), New: marked(bare)}, stamp.Owned, "web"},
		{"the id alone left", same, stamp.Request{Old: marked(guestbook), New: marked(ownership.Marks{SetID: guestbook.SetID})}, stamp.Restored, "web"},
		{"the set alone", same, stamp.Request{New: marked(bare)}, stamp.Contested, ""},
		{"the hash alone", same, stamp.Request{New: marked(ownership.Marks{Hash: guestbook.Hash})}, stamp.Contested, ""},
		{"the set alone, taken away", same, stamp.Request{Old: marked(bare), New: marked(none)}, stamp.Contested, ""},
		{"nothing, exact", same, stamp.Request{Exact: true, New: marked(none)}, stamp.Contested, ""},
		{"Helm's changed to the tenant's", same, stamp.Request{Old: marked(guestbook), New: marked(helmOnly(forged))}, stamp.Foreign, "web"},
		{"a set from before, taken away", old, stamp.Request{Exact: true, Old: marked(left), New: marked(none)}, stamp.Contested, ""},
		{"a set from before", old, stamp.Request{Old: marked(left), New: marked(left)}, stamp.Foreign, "web"},
		{"no more desired, taken away", undesired, stamp.Request{Key: key("object-7"), Exact: true, Old: marked(guestbook), New: marked(none)}, stamp.Foreign, "a-tenant"},
		{"no more desired, the hash taken away", undesired, stamp.Request{Key: key("object-7"), Old: marked(guestbook), New: marked(helmOnly(guestbook))},
			stamp.Foreign, "a-tenant"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.req.Key == (object.Key{}) {
				tc.req.Key = key("object-0")
			}
			got := stamp.Decide(with(t, cluster(t), tc.forged), tc.req)
			if got.Reason != tc.want || got.Release.Namespace != tc.namespace || got.Reason.Stamps() != (len(got.Set) > 0) {
				t.Errorf("%s for %q, writes %v; want %s for %q", got.Reason, got.Release.Release(), got.Set, tc.want, tc.namespace)
			}
		})
	}
}

// TestForgedAlone has a forged record state the set of a bundle whose own record cannot be read: what says no more than the set is left alone.
func TestForgedAlone(t *testing.T) {
	r := index.New()
	r.Set(desired.NewRevision[struct{}](desired.Release{Name: release.Name{Namespace: "web", Name: "guestbook", Revision: 1}, Status: desired.Unreadable}, nil))
	with(t, r, record.Record{Bundle: "guestbook", Namespace: "a-tenant", Objects: record.ConfigMaps("web", 1)})
	for name, req := range map[string]stamp.Request{
		"the hash":                {New: marked(ownership.Marks{Hash: guestbook.Hash})},
		"the id":                  {New: marked(ownership.Marks{SetID: guestbook.SetID})},
		"the hash, taken away":    {Old: marked(ownership.Marks{Hash: guestbook.Hash}), New: marked(ownership.Marks{})},
		"all there, taken away":   {Old: marked(guestbook), New: marked(ownership.Marks{})},
		"Helm's of the other one": {New: marked(helmOnly(guestbook))},
	} {
		req.Key = key("object-0")
		if d := stamp.Decide(r, req); len(d.Set) > 0 {
			t.Errorf("%s: %s, writes %v", name, d.Reason, d.Set)
		}
	}
}

// TestHolders has two other records state the set that an object carries: the one that the object's Helm annotations name is its owner, else
// neither is, and nothing is written.
func TestHolders(t *testing.T) {
	r := with(t, cluster(t), record.Record{Bundle: "shop", Namespace: "a-tenant", Objects: record.ConfigMaps("a-tenant", 1)})
	both, one := []string{"a-tenant/shop", "web/shop"}, []string{"bundle shop"}
	for _, tc := range []struct {
		marks ownership.Marks
		names []string
	}{{ownership.Marks{Hash: shop.Hash}, both}, {ownership.Marks{SetID: shop.SetID}, both}, {shop, one}} {
		d := stamp.Decide(r, stamp.Request{Key: key("object-0"), Exact: true, New: marked(tc.marks)})
		if d.Reason != stamp.Foreign || len(d.Set) > 0 {
			t.Errorf("%+v: %s, writes %v", tc.marks, d.Reason, d.Set)
		}
		for _, name := range tc.names {
			if !strings.Contains(d.Warning, name) {
				t.Errorf("%+v: the warning does not name %s: %s", tc.marks, name, d.Warning)
			}
		}
	}
}

// TestDeployedSet holds that ownership metadata which agrees with the deployed release stays, whatever another record states that nobody has
// deployed: one of an agent that moved or got another scope, or one of another release.
func TestDeployedSet(t *testing.T) {
	scoped := ownership.Wanted("default-guestbook-scope", "guestbook", "web")
	objects := record.ConfigMaps("web", 1)
	pending := record.Record{Bundle: "guestbook", SetID: scoped.SetID, AgentNamespace: "other-agents", Revision: 2, Status: "pending-upgrade", Objects: objects}
	failed, deployed := pending, pending
	failed.Status, deployed.Status = "failed", "deployed"
	without := guestbook
	without.SetID = ""
	moved := record.Record{Bundle: "guestbook-moved", SetID: scoped.SetID, AgentNamespace: "other-agents", Objects: objects}
	for _, tc := range []struct {
		name   string
		other  record.Record
		req    stamp.Request
		want   stamp.Reason
		writes string // the set id
	}{
		{"pending, all there", pending, stamp.Request{Old: marked(guestbook), New: marked(guestbook)}, stamp.Owned, ""},
		{"pending, what Fleet writes", pending, stamp.Request{Old: marked(guestbook), New: marked(scoped)}, stamp.Owned, ""},
		{"pending, all taken away", pending, stamp.Request{Old: marked(guestbook), New: marked(ownership.Marks{})}, stamp.Restored, guestbook.SetID},
		{"pending, of the new set, all taken away", pending, stamp.Request{Old: marked(scoped), New: marked(ownership.Marks{})}, stamp.Restored, scoped.SetID},
		{"pending, the id is lacking", pending, stamp.Request{Old: marked(without), New: marked(without)}, stamp.Restored, guestbook.SetID},
		{"failed, all there", failed, stamp.Request{Old: marked(guestbook), New: marked(guestbook)}, stamp.Owned, ""},
		{"deployed, what was before", deployed, stamp.Request{Old: marked(guestbook), New: marked(guestbook)}, stamp.Adopted, scoped.SetID},
		{"another release, all there", moved, stamp.Request{Old: marked(guestbook), New: marked(guestbook)}, stamp.Owned, ""},
		{"another release, all taken away", moved, stamp.Request{Old: marked(guestbook), New: marked(ownership.Marks{})}, stamp.Restored, guestbook.SetID},
		{"another release, that takes it over", moved, stamp.Request{Old: marked(guestbook),
			New: marked(ownership.Wanted(scoped.SetID, "guestbook-moved", "web"))}, stamp.Owned, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.req.Key = key("object-0")
			r := with(t, cluster(t), tc.other)
			got := stamp.Decide(r, tc.req)
			if got.Reason != tc.want {
				t.Errorf("%s, %q; want %s", got.Reason, got.Warning, tc.want)
			}
			if tc.writes == "" && len(got.Set) > 0 || tc.writes != "" && got.Release.Metadata.SetID != tc.writes {
				t.Errorf("writes %v, want the set %q", got.Set, tc.writes)
			}
			again(t, r, tc.req, got)
		})
	}
}
