// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// TestEvidence has the record of release tenant/app, and objects that name it or another release.
func TestEvidence(t *testing.T) {
	inNamespace := func(ns string) object.Key { return object.Key{Kind: "ConfigMap", Namespace: ns, Name: "a"} }
	role := object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "a"}
	namespace := func(name string) object.Key { return object.Key{Kind: "Namespace", Name: name} }
	all := map[string]object.Key{"own": inNamespace("tenant"), "second": inNamespace("a-tenant"),
		"system": inNamespace("kube-system"), "role": role, "own Namespace": namespace("tenant"),
		"other Namespace": namespace("kube-system")}
	names, other := Desired("default-app", "app", "tenant"), Desired("default-app", "app", "shop")
	for _, tc := range []struct {
		name      string
		seen      []string
		have      Metadata
		confirms  []string
		confirmed bool
	}{
		{"nothing", nil, names, []string{"own"}, false},
		{"its own namespace", []string{"own"}, names, []string{"own"}, false},
		{"another namespace", []string{"second"}, names, []string{"own", "second"}, true},
		{"its own Namespace", []string{"own Namespace"}, names, []string{"own", "own Namespace"}, true},
		{"a cluster-scoped object", []string{"role"}, names, []string{"other Namespace", "own", "own Namespace", "role",
			"second", "system"}, true},
		{"objects with the same set of another release", []string{"second", "role"}, other, []string{"own"}, false},
		{"objects with the hash alone", []string{"second", "role"}, Metadata{Hash: names.Hash}, []string{"own"}, false},
	} {
		e := Evidence{Namespace: "tenant", Release: "tenant/app"}
		for _, name := range tc.seen {
			e.Add(all[name], tc.have)
		}
		var confirms []string
		for name, k := range all {
			if e.Confirms(k) {
				confirms = append(confirms, name)
			}
		}
		slices.Sort(confirms)
		if !slices.Equal(confirms, tc.confirms) || e.Confirmed() != tc.confirmed {
			t.Errorf("%s: confirms %v, confirmed %t; want %v, %t", tc.name, confirms, e.Confirmed(), tc.confirms,
				tc.confirmed)
		}
	}
	if e := (Evidence{Trusted: true}); !e.Confirms(all["system"]) || !e.Confirmed() {
		t.Error("a trusted record is not confirmed")
	}
}
