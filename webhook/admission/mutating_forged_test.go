// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

// with adds records to an index.
func with(tb testing.TB, r *index.Index, records ...record.Record) *index.Index {
	tb.Helper()
	for _, rec := range records {
		e, err := desired.ReadRevision(rec.Value())
		if err != nil {
			tb.Fatal(err)
		}
		r.Set(e)
	}
	return r
}

// TestForgedRecord has a record of a tenant that states an object and the set of another bundle. The namespace of the
// tenant is the first in order. No request assigns the object to the tenant's release.
func TestForgedRecord(t *testing.T) {
	forged, none := ownership.Desired("default-guestbook", "guestbook", "a-tenant"), ownership.Metadata{}
	bare := ownership.Metadata{Hash: guestbook.Hash, SetID: guestbook.SetID}
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
		req       write
		want      Reason
		namespace string // of the release in the result; empty for none
	}{
		{"Helm annotations only", same, write{New: withMetadata(helmOnly(guestbook))}, Adopted, "web"},
		{"all metadata", same, write{New: withMetadata(guestbook)}, Owned, "web"},
		{"all removed", same, write{Old: withMetadata(guestbook), New: withMetadata(none)}, Restored, "web"},
		{"hash and id removed", same, write{Old: withMetadata(guestbook), New: withMetadata(helmOnly(guestbook))},
			Restored, "web"},
		{"Helm annotations removed", same, write{Old: withMetadata(guestbook), New: withMetadata(bare)}, Owned, "web"},
		{"all but the id removed", same, write{Old: withMetadata(guestbook),
			New: withMetadata(ownership.Metadata{SetID: guestbook.SetID})}, Restored, "web"},
		{"hash and id only", same, write{New: withMetadata(bare)}, Contested, ""},
		{"hash only", same, write{New: withMetadata(ownership.Metadata{Hash: guestbook.Hash})}, Contested, ""},
		{"hash and id only, removed", same, write{Old: withMetadata(bare), New: withMetadata(none)}, Contested, ""},
		{"no metadata, exact", same, write{Exact: true, New: withMetadata(none)}, Contested, ""},
		{"Helm annotations changed to the tenant's", same,
			write{Old: withMetadata(guestbook), New: withMetadata(helmOnly(forged))}, Foreign, "web"},
		{"an earlier set, removed", old, write{Exact: true, Old: withMetadata(left), New: withMetadata(none)},
			Contested, ""},
		{"an earlier set", old, write{Old: withMetadata(left), New: withMetadata(left)}, Foreign, "web"},
		{"not desired by the owner, all removed", undesired,
			write{Key: configMapKey("object-7"), Exact: true, Old: withMetadata(guestbook), New: withMetadata(none)},
			Foreign, "a-tenant"},
		{"not desired by the owner, hash and id removed", undesired,
			write{Key: configMapKey("object-7"), Old: withMetadata(guestbook), New: withMetadata(helmOnly(guestbook))},
			Foreign, "a-tenant"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.req.Key == (object.Key{}) {
				tc.req.Key = configMapKey("object-0")
			}
			got := mutateIn(with(t, mutatingIndex(t), tc.forged), tc.req)
			if got.reason != tc.want || got.release.Namespace != tc.namespace ||
				got.reason.stamps() != (len(got.set) > 0) {
				t.Errorf("%s for %q, writes %v; want %s for %q", got.reason, got.release.Release(), got.set, tc.want,
					tc.namespace)
			}
		})
	}
}

// TestForgedAlone has a forged record that states the set of a bundle, while the record of this bundle could not be
// read. An object that names only the set is not changed.
func TestForgedAlone(t *testing.T) {
	r := index.New()
	r.Set(desired.NewRevision(desired.Release{Name: release.Name{Namespace: "web", Name: "guestbook", Revision: 1},
		Status: desired.Unreadable}, nil))
	with(t, r, record.Record{Bundle: "guestbook", Namespace: "a-tenant", Objects: record.ConfigMaps("web", 1)})
	for name, req := range map[string]write{
		"the hash": {New: withMetadata(ownership.Metadata{Hash: guestbook.Hash})},
		"the id":   {New: withMetadata(ownership.Metadata{SetID: guestbook.SetID})},
		"the hash, removed": {Old: withMetadata(ownership.Metadata{Hash: guestbook.Hash}),
			New: withMetadata(ownership.Metadata{})},
		"all metadata, removed":                {Old: withMetadata(guestbook), New: withMetadata(ownership.Metadata{})},
		"Helm annotations of the real release": {New: withMetadata(helmOnly(guestbook))},
	} {
		req.Key = configMapKey("object-0")
		if d := mutateIn(r, req); len(d.set) > 0 {
			t.Errorf("%s: %s, writes %v", name, d.reason, d.set)
		}
	}
}

// TestSharedSet has two other records that state the set of an object. The owner is the release that the Helm
// annotations name. In both cases nothing is written.
func TestSharedSet(t *testing.T) {
	r := with(t, mutatingIndex(t), record.Record{Bundle: "shop", Namespace: "a-tenant",
		Objects: record.ConfigMaps("a-tenant", 1)})
	both, one := []string{"a-tenant/shop", "web/shop"}, []string{"bundle shop"}
	for _, tc := range []struct {
		have  ownership.Metadata
		names []string
	}{{ownership.Metadata{Hash: shop.Hash}, both}, {ownership.Metadata{SetID: shop.SetID}, both}, {shop, one}} {
		d := mutateIn(r, write{Key: configMapKey("object-0"), Exact: true, New: withMetadata(tc.have)})
		if d.reason != Foreign || len(d.set) > 0 {
			t.Errorf("%+v: %s, writes %v", tc.have, d.reason, d.set)
		}
		for _, name := range tc.names {
			if !strings.Contains(text(d.warnings), name) {
				t.Errorf("%+v: the warning does not name %s: %s", tc.have, name, text(d.warnings))
			}
		}
	}
}

// TestDeployedSet checks that the ownership metadata of the deployed release stays, although another record states
// another set: a record of an agent that moved or got another scope, or a record of another release.
func TestDeployedSet(t *testing.T) {
	scoped := ownership.Desired("default-guestbook-scope", "guestbook", "web")
	objects := record.ConfigMaps("web", 1)
	pending := record.Record{Bundle: "guestbook", SetID: scoped.SetID, AgentNamespace: "other-agents", Revision: 2,
		Status: "pending-upgrade", Objects: objects}
	failed, deployed := pending, pending
	failed.Status, deployed.Status = "failed", "deployed"
	without := guestbook
	without.SetID = ""
	moved := record.Record{Bundle: "guestbook-moved", SetID: scoped.SetID, AgentNamespace: "other-agents",
		Objects: objects}
	for _, tc := range []struct {
		name   string
		other  record.Record
		req    write
		want   Reason
		writes string // the set id
	}{
		{"pending, all metadata", pending, write{Old: withMetadata(guestbook), New: withMetadata(guestbook)}, Owned,
			""},
		{"pending, Fleet writes the new set", pending, write{Old: withMetadata(guestbook), New: withMetadata(scoped)},
			Owned, ""},
		{"pending, all removed", pending, write{Old: withMetadata(guestbook), New: withMetadata(ownership.Metadata{})},
			Restored, guestbook.SetID},
		{"pending, all of the new set removed", pending,
			write{Old: withMetadata(scoped), New: withMetadata(ownership.Metadata{})}, Restored, scoped.SetID},
		{"pending, no id", pending, write{Old: withMetadata(without), New: withMetadata(without)}, Restored,
			guestbook.SetID},
		{"failed, all metadata", failed, write{Old: withMetadata(guestbook), New: withMetadata(guestbook)}, Owned, ""},
		{"deployed, the earlier set", deployed, write{Old: withMetadata(guestbook), New: withMetadata(guestbook)},
			Adopted, scoped.SetID},
		{"another release, all metadata", moved, write{Old: withMetadata(guestbook), New: withMetadata(guestbook)},
			Owned, ""},
		{"another release, all removed", moved, write{Old: withMetadata(guestbook),
			New: withMetadata(ownership.Metadata{})}, Restored, guestbook.SetID},
		{"another release, which takes the object over", moved, write{Old: withMetadata(guestbook),
			New: withMetadata(ownership.Desired(scoped.SetID, "guestbook-moved", "web"))}, Owned, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.req.Key = configMapKey("object-0")
			r := with(t, mutatingIndex(t), tc.other)
			got := mutateIn(r, tc.req)
			if got.reason != tc.want {
				t.Errorf("%s, %q; want %s", got.reason, text(got.warnings), tc.want)
			}
			if tc.writes == "" && len(got.set) > 0 {
				t.Errorf("writes %v", got.set)
			}
			if tc.writes != "" && got.release.Metadata.SetID != tc.writes {
				t.Errorf("writes %v, want the set %q", got.set, tc.writes)
			}
			again(t, r, tc.req, got)
		})
	}
}
