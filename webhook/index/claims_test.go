// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

// TestReadPassesOver goes through objects that no request can be about, and marks that are none of Fleet's.
func TestReadPassesOver(t *testing.T) {
	for name, change := range map[string]func(*record.Record){
		"no name":              func(r *record.Record) { r.Objects[0].Name = "" },
		"a name to begin with": func(r *record.Record) { r.Objects[0].Name, r.Generate = "run-", true },
		"a name too long":      func(r *record.Record) { r.Objects[0].Name = strings.Repeat("a", 254) },
		"a kind too long":      func(r *record.Record) { r.Objects[0].Kind = strings.Repeat("A", 64) },
		"a group too long":     func(r *record.Record) { r.Objects[0].APIVersion = strings.Repeat("a", 254) + "/v1" },
		"a namespace too long": func(r *record.Record) { r.Objects[0].Namespace = strings.Repeat("a", 64) },
	} {
		rec := record.Record{Bundle: "guestbook", Objects: record.ConfigMaps("web", 1)}
		change(&rec)
		if e := read(t, rec); e.Objects != 0 {
			t.Errorf("%s: %d objects", name, e.Objects)
		}
	}
	longest := object.Ref{APIVersion: strings.Repeat("a", 253) + "/v1", Kind: strings.Repeat("A", 63), Namespace: strings.Repeat("a", 63), Name: strings.Repeat("a", 253)}
	if e := read(t, record.Record{Bundle: "guestbook", Objects: []object.Ref{longest}}); e.Objects != 1 {
		t.Errorf("what is as long as may be: %d objects", e.Objects)
	}
	for name, hash := range map[string]string{"no label": "not a label!", "another set's": ownership.Desired("default-x", "", "").Hash} {
		if e := read(t, record.Record{Bundle: "guestbook", Hash: hash, Objects: record.ConfigMaps("web", 1)}); e.Metadata.Hash != "" || e.Metadata.SetID != "" {
			t.Errorf("%s: it wants %q", name, e.Metadata.Hash)
		}
	}
	r := index.New()
	r.Set(read(t, record.Record{Bundle: "guestbook", Objects: []object.Ref{{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Namespace: "web", Name: "c"}}}))
	if got := desiredBy(r, object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "c"}); got != "guestbook:1" {
		t.Errorf("a cluster-scoped object with a namespace in its chart is desired by %q", got)
	}
}

// TestClaims holds what a guard goes by: older revisions, every agent of the release, and what Helm is taking away.
func TestClaims(t *testing.T) {
	r := index.New()
	two, one := record.ConfigMaps("web", 2), record.ConfigMaps("web", 1)
	r.Set(read(t, record.Record{Bundle: "guestbook", Objects: two}))
	r.Set(read(t, record.Record{Bundle: "guestbook", Revision: 2, Status: "pending-upgrade", ServiceAccount: "deployer", AgentNamespace: "agents", Objects: one}))
	claims := func(k object.Key) []string {
		var out []string
		for _, c := range r.Lookup(k) {
			out = append(out, fmt.Sprint(c.Revision, " ", c.Agents, " ", c.Status == desired.Uninstalling))
		}
		return out
	}
	for name, want := range map[string][]string{
		"object-0": {"2 [{agents deployer} {cattle-fleet-system }] false", "1 [{cattle-fleet-system } {agents deployer}] false"},
		"object-1": {"1 [{cattle-fleet-system } {agents deployer}] false"}, // dropped by the account of the second
	} {
		if diff := cmp.Diff(want, claims(configMapKey("web", name))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	r.Delete(release.Name{Namespace: "web", Name: "guestbook", Revision: 2})
	r.Set(read(t, record.Record{Bundle: "guestbook", Status: "uninstalling", Objects: two}))
	k := configMapKey("web", "object-0")
	if diff := cmp.Diff([]string{"1 [{cattle-fleet-system }] true"}, claims(k)); diff != "" || desiredBy(r, k) != "" {
		t.Errorf("uninstalling: owners %q, claims (-want +got):\n%s", desiredBy(r, k), diff)
	}
}

// TestClaimsOfMany has a release that Helm seems to be at work on many times over, as it never is: only the newest counts, and only it costs.
func TestClaimsOfMany(t *testing.T) {
	r := index.New()
	objects, k := record.ConfigMaps("web", 1), configMapKey("web", "object-0")
	r.Set(read(t, record.Record{Bundle: "guestbook", Objects: objects}))
	const pending = 200
	for i := range pending {
		r.Set(read(t, record.Record{Bundle: "guestbook", Revision: 2 + i, Status: "pending-upgrade", ServiceAccount: fmt.Sprintf("a%d", i), Objects: objects}))
	}
	var claims []desired.Release
	allocs := testing.AllocsPerRun(1, func() { claims = r.Lookup(k) })
	if len(claims) != 2 || claims[0].Revision != 1+pending || len(claims[0].Agents) != 2 || allocs > 20 {
		t.Errorf("%d claims, made in %.0f allocations: %+v", len(claims), allocs, claims)
	}
	if known, _, _ := r.Size(); known != 2 {
		t.Errorf("%d objects, want one of each revision that counts", known)
	}
}
