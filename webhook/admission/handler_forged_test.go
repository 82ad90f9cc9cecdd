// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

// TestForgedRecordGuard has a tenant's record claim bundle eleven's set for an agent of the tenant, under deny. Fleet's own agent is refused nothing,
// also where the real record is not there or the object lacks Helm's annotations; everybody else is refused what they were.
func TestForgedRecordGuard(t *testing.T) {
	const fleet, tenant = "system:serviceaccount:cattle-fleet-system:fleet-agent", "system:serviceaccount:a-tenant:fleet-agent"
	e, err := index.Read(record.Record{Bundle: "eleven", Namespace: "a-tenant", AgentNamespace: "a-tenant", Objects: record.ConfigMaps("web", 11)}.Value())
	if err != nil {
		t.Fatal(err)
	}
	unread := desired.NewRevision(desired.Release{Name: release.Name{Namespace: "web", Name: "eleven", Revision: 1}, Status: desired.Unreadable}, nil)
	bare := eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	for _, tc := range []struct {
		name, user string
		old        ownership.Metadata
		alone      bool
		want       string
		warnings   []string
	}{
		{"Fleet", fleet, eleven, false, "passed Fleet eleven 0", nil},
		{"the tenant", tenant, eleven, false, "denied Deleted eleven forbidden 0", nil},
		{"Fleet, of what lacks Helm's annotations", fleet, bare, false, "warned Deleted eleven 0", []string{"Deleted", "OwnerInDoubt several releases state its set"}},
		{"somebody, of what lacks Helm's annotations", "alice", bare, false, "denied Deleted eleven forbidden 0", nil},
		{"Fleet, without the real record, of what lacks Helm's annotations", fleet, bare, true, "warned Deleted eleven 0", []string{"Deleted", "OwnerInDoubt not all release records"}},
		{"somebody, without the real record, of what lacks Helm's annotations", "alice", bare, true, "denied Deleted eleven forbidden 0", nil},
		{"Fleet, without the real record", fleet, eleven, true, "warned Deleted eleven 0", []string{"Deleted", "OwnerInDoubt name release web/eleven"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := setUp(t)
			b.GuardDefault = GuardDeny
			if tc.alone {
				b.index.Set(unread)
			}
			b.index.Set(e)
			req := request(admissionv1.Delete, configMap(metadataJSON(tc.old)), nil)
			req.UserInfo.Username = tc.user
			got := Validating(b.Options).Handle(t.Context(), req)
			if said(got) != tc.want {
				t.Errorf("answer: %s, want %s", said(got), tc.want)
			}
			checkWarnings(t, tc.warnings, got.Warnings)
			if text := spoken(got); strings.Contains(text, "at most") != (tc.old == eleven && !tc.alone) && text != "" {
				t.Errorf("a count of an owner who is not known, or none of one who is: %s", text)
			}
		})
	}
}

// spoken is all that an answer says.
func spoken(r admission.Response) string {
	text := strings.Join(r.Warnings, "\n")
	if r.Result != nil {
		text += r.Result.Message
	}
	return text
}

// TestForgedBacklog has a tenant's record claim bundle eleven's set and object, while records of the tenant wait to be read. Strangers are denied
// what they are denied without it. A service account may be Fleet's by a record that waits, and is warned.
func TestForgedBacklog(t *testing.T) {
	const operator, deployer = "system:serviceaccount:web:operator", "system:serviceaccount:cattle-fleet-system:deployer"
	bare, named := eleven, eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	named.ReleaseName = "" // of Helm's annotations one is left
	deleted, stripped := []byte(nil), configMap("")
	tenant, owner, all := []string{"a-tenant"}, []string{"web"}, []string{"a-tenant", "web"}
	for _, tc := range []struct {
		name, user, bundle string
		old                ownership.Metadata
		after              []byte
		behind             []string
		want               string
	}{
		{"deleted", "alice", "eleven", bare, deleted, tenant, "denied Deleted eleven forbidden 0"},
		{"stripped", "alice", "eleven", bare, stripped, tenant, "denied Stripped eleven forbidden 0"},
		{"deleted, which the tenant calls otherwise", "alice", "mine", bare, deleted, tenant, "denied Deleted  forbidden 0"},
		{"Helm's last annotation taken away", "alice", "eleven", named, configMap(metadataJSON(bare)), tenant, "denied Stripped eleven forbidden 0"},
		{"deleted, the real one's records wait too", "alice", "eleven", bare, deleted, all, "warned Deleted eleven 0"},
		{"deleted by a service account", operator, "eleven", bare, deleted, nil, "denied Deleted eleven forbidden 0"},
		{"deleted by one that a record of the tenant may name", operator, "eleven", bare, deleted, tenant, "warned Deleted eleven 0"},
		{"deleted by one that the real one's record may name", deployer, "eleven", bare, deleted, owner, "warned Deleted eleven 0"},
		{"deleted, and it names its release", operator, "eleven", eleven, deleted, tenant, "denied Deleted eleven forbidden 0"},
		{"deleted, and it names a release whose records wait", "alice", "eleven", eleven, deleted, owner, "warned Deleted eleven 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := setUp(t)
			b.GuardDefault = GuardDeny
			b.Live = func(namespace string) bool { return namespace != "" && !slices.Contains(tc.behind, namespace) }
			e, err := index.Read(record.Record{Bundle: tc.bundle, SetID: eleven.SetID, Namespace: "a-tenant", Objects: record.ConfigMaps("web", 1)}.Value())
			if err != nil {
				t.Fatal(err)
			}
			b.index.Set(e)
			op := admissionv1.Delete
			if tc.after != nil {
				op = admissionv1.Update
			}
			req := request(op, configMap(metadataJSON(tc.old)), tc.after)
			req.UserInfo.Username = tc.user
			got := Validating(b.Options).Handle(t.Context(), req)
			if said(got) != tc.want {
				t.Errorf("answer: %s, want %s", said(got), tc.want)
			}
			text := spoken(got)
			if strings.Contains(text, " 0/1") || strings.Contains(text, "at most") != (tc.old == eleven) || !strings.Contains(text, "is owned by bundle "+tc.bundle) {
				t.Errorf("it says: %s", text)
			}
		})
	}
}
