// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
)

// TestConfirmed has an object with the set of a bundle that does not exist any more, and a release record of another
// namespace that states this set and the object. Such a record neither stamps nor denies, unless something confirms it.
func TestConfirmed(t *testing.T) {
	const tenant = "a-tenant"
	bare := ownership.Metadata{Hash: gone.Hash, SetID: gone.SetID}
	hash, id, none := ownership.Metadata{Hash: gone.Hash}, ownership.Metadata{SetID: gone.SetID}, ownership.Metadata{}
	named := ownership.Desired(gone.SetID, "gone", tenant) // all metadata of the record
	trust := func(b *bench) {
		b.namespaces["kube-system"] = map[string]string{ownership.TrustPrefix + tenant: "trusted"}
	}
	adopt, strip, remove := "stamped Adopted", "denied Stripped", "denied Deleted"
	for _, tc := range []struct {
		name          string
		namespace     string // of the record
		before, after *ownership.Metadata
		exact         bool
		change        func(*bench)
		// mutating and validating are the answers, without the bundle.
		mutating, validating string
	}{
		{"the hash", tenant, nil, &hash, false, nil, "warned Unconfirmed", ""},
		{"the id", tenant, nil, &id, false, nil, "warned Unconfirmed", ""},
		{"the id, stored", tenant, &id, &id, false, nil, "warned Unconfirmed", "passed NotOwned"},
		{"hash and id", tenant, &bare, &bare, false, nil, "passed Owned", "passed Harmless"},
		{"all metadata of the release that is gone", tenant, &gone, &gone, false, nil, "passed Owned",
			"passed Harmless"},
		{"the hash, and Helm annotations of the release that is gone", tenant, nil,
			&ownership.Metadata{Hash: gone.Hash, ReleaseName: "gone", ReleaseNamespace: "web"}, false, nil,
			"warned Unconfirmed", ""},
		{"hash and id removed", tenant, &bare, &none, false, nil, "warned Unconfirmed", "warned Stripped"},
		{"all removed", tenant, &gone, &none, false, nil, "warned Unconfirmed", "warned Stripped"},
		{"the id removed", tenant, &bare, &hash, false, nil, "warned Unconfirmed", "warned Stripped"},
		{"the hash changed", tenant, &bare, &ownership.Metadata{Hash: "x", SetID: gone.SetID}, false, nil,
			"warned Unconfirmed", "warned Changed"},
		{"deleted", tenant, &bare, nil, false, nil, "", "warned Deleted"},
		{"all metadata, deleted", tenant, &gone, nil, false, nil, "", "warned Deleted"},
		{"no metadata, exact", tenant, nil, &none, true, nil, "warned Unconfirmed", ""},

		{"a trusted namespace: the hash", tenant, nil, &hash, false, trust, adopt, ""},
		{"a trusted namespace: removed", tenant, &bare, &none, false, trust, strip, strip},
		{"a trusted namespace: deleted", tenant, &bare, nil, false, trust, "", remove},
		{"a trusted namespace: exact", tenant, nil, &none, true, trust, "stamped Exact", ""},
		{"another value of the label", tenant, nil, &hash, false,
			func(b *bench) {
				b.namespaces["kube-system"] = map[string]string{ownership.TrustPrefix + tenant: "true"}
			},
			"warned Unconfirmed", ""},
		{"the label on the namespace of the record", tenant, nil, &hash, false,
			func(b *bench) { b.namespaces[tenant] = map[string]string{ownership.TrustPrefix + tenant: "trusted"} },
			"warned Unconfirmed", ""},
		{"the label for the namespace of the object", tenant, nil, &hash, false,
			func(b *bench) {
				b.namespaces["kube-system"] = map[string]string{ownership.TrustPrefix + "web": "trusted"}
			},
			"warned Unconfirmed", ""},
		{"Fleet's namespace: removed", "cattle-fleet-local-system", &bare, &none, false, nil, strip, strip},
		{"Fleet's namespace: the hash", "cattle-fleet-system", nil, &hash, false, nil, adopt, ""},
		{"the namespace of the object: the hash", "web", nil, &hash, false, nil, adopt, ""},
		{"the namespace of the object: removed", "web", &bare, &none, false, nil, strip, strip},
		{"the object names the release: Helm annotations", tenant, nil,
			&ownership.Metadata{ReleaseName: "gone", ReleaseNamespace: tenant}, false, nil, adopt, ""},
		{"the object names the release: removed", tenant, &named, &none, false, nil, strip, strip},
		{"the object names the release: deleted", tenant, &named, nil, false, nil, "", remove},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := setUp(t)
			b.GuardDefault = GuardDeny
			if tc.change != nil {
				tc.change(b)
			}
			b.index.Replace("", nil) // no other release desires the object
			with(t, b.index, record.Record{Bundle: "gone", Namespace: tc.namespace,
				Objects: record.ConfigMaps("web", 1)})
			req := request(admissionv1.Update, nil, nil)
			switch {
			case tc.before == nil:
				req.Operation = admissionv1.Create
			case tc.after == nil:
				req.Operation = admissionv1.Delete
			}
			if tc.before != nil {
				req.OldObject.Raw = configMap(metadataJSON(*tc.before))
			}
			if tc.after != nil {
				req.Object.Raw = configMap(metadataJSON(*tc.after))
			}
			mutating := Mutating(b.Options)
			if tc.exact {
				mutating = MutatingExact(b.Options)
			}
			for want, handler := range map[string]admission.Handler{"mutating: " + tc.mutating: mutating,
				"validating: " + tc.validating: Validating(b.Options)} {
				if _, want, _ = strings.Cut(want, ": "); want == "" {
					continue
				}
				got := handler.Handle(t.Context(), req)
				if !strings.HasPrefix(summary(got), want) || strings.HasPrefix(want,
					"stamped") != (len(got.Patches) > 0) {
					t.Errorf("answer: %s, want %s", summary(got), want)
				}
				text := messages(got)
				remedy := strings.Contains(text, "label namespace kube-system records.fleetdoctor.io/a-tenant=trusted")
				if remedy != strings.HasPrefix(want, "warned") && tc.before != &gone {
					t.Errorf("messages: %s", text)
				}
				if !strings.HasPrefix(want, "denied") && strings.Contains(text, "at most") {
					t.Errorf("a count although the owner is not known: %s", text)
				}
			}
		})
	}
}

// TestFleetIsNotDenied has Fleet's agent replace the set of a removed bundle by that of its new bundle, and a forged
// record in the namespace of the object that states the old set for another agent.
func TestFleetIsNotDenied(t *testing.T) {
	b := setUp(t)
	b.GuardDefault = GuardDeny
	with(t, b.index, record.Record{Bundle: "gone", AgentNamespace: "a-tenant", Objects: record.ConfigMaps("web", 1)})
	req := request(admissionv1.Update, configMap(metadataJSON(gone)), configMap(metadataJSON(eleven)))
	for user, want := range map[string]string{agent: "passed Fleet gone 0",
		"system:serviceaccount:cattle-fleet-local-system:fleet-agent": "passed Fleet gone 0",
		"system:serviceaccount:web:fleet-agent":                       "denied Changed gone forbidden 0",
		"system:serviceaccount:cattle-fleet-system:other":             "denied Changed gone forbidden 0"} {
		req.UserInfo.Username = user
		if got := summary(Validating(b.Options).Handle(t.Context(), req)); got != want {
			t.Errorf("%s: %s, want %s", user, got, want)
		}
	}
}

// TestPauseOfForgedRecord has a forged record in the namespace of the object: a newer revision of the real release,
// with another set. Fleet writes the real set again after each stamp, until the rate limit pauses the object. The pause
// ends when the record is gone.
func TestPauseOfForgedRecord(t *testing.T) {
	b := setUp(t)
	forged := record.Record{Bundle: "eleven", Revision: 2, SetID: gone.SetID, Objects: record.ConfigMaps("web", 1)}
	with(t, b.index, forged)
	write := func() string {
		return summary(Mutating(b.Options).Handle(t.Context(),
			request(admissionv1.Update, configMap(helmOnlyJSON()), configMap(helmOnlyJSON()))))
	}
	for range 60 {
		if got := write(); got != "stamped Adopted eleven 2" {
			t.Fatal(got)
		}
	}
	if got := write(); got != "warned Braked eleven 0" {
		t.Errorf("over the rate limit: %s", got)
	}
	b.index.Delete(release.Name{Namespace: "web", Name: "eleven", Revision: 2})
	if got := write(); got != "stamped Adopted eleven 2" {
		t.Errorf("without the forged record: %s", got)
	}
	with(t, b.index, forged)
	if got := write(); got != "warned Braked eleven 0" {
		t.Errorf("with the forged record again: %s", got)
	}
}
