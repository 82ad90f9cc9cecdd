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
)

// TestForgedRecordGuard has a record of a tenant that states the set of bundle eleven for an agent of the tenant, in
// the mode deny. No request of Fleet's agent is denied, also if the real record is missing or the object has no Helm
// annotations. Requests of other users are still denied, unless only the tenant's record shows the owner.
func TestForgedRecordGuard(t *testing.T) {
	const fleet, tenant = "system:serviceaccount:cattle-fleet-system:fleet-agent",
		"system:serviceaccount:a-tenant:fleet-agent"
	e, err := desired.ReadRevision(record.Record{Bundle: "eleven", Namespace: "a-tenant", AgentNamespace: "a-tenant",
		Objects: record.ConfigMaps("web", 11)}.Value())
	if err != nil {
		t.Fatal(err)
	}
	unread := desired.NewRevision(desired.Release{Name: release.Name{Namespace: "web", Name: "eleven", Revision: 1},
		Status: desired.Unreadable}, nil)
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
		{"Fleet, no Helm annotations", fleet, bare, false, "passed Fleet eleven 0", nil},
		{"a user, no Helm annotations", "alice", bare, false, "denied Deleted eleven forbidden 0", nil},
		{"Fleet, no real record, no Helm annotations", fleet, bare, true, "passed Fleet eleven 0", nil},
		{"a user, no real record, no Helm annotations", "alice", bare, true, "warned Deleted eleven 0",
			[]string{"Deleted", "OwnerInDoubt only release records of other namespaces"}},
		{"Fleet, no real record", fleet, eleven, true, "passed Fleet eleven 0", nil},
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
			if summary(got) != tc.want {
				t.Errorf("answer: %s, want %s", summary(got), tc.want)
			}
			checkWarnings(t, tc.warnings, got.Warnings)
			if text := messages(got); strings.Contains(text, "at most") != (tc.old == eleven && !tc.alone) &&
				text != "" {
				t.Errorf("a count although the owner is not known, or no count although it is: %s", text)
			}
		})
	}
}

// messages returns all warnings of an answer, and its message.
func messages(r admission.Response) string {
	text := strings.Join(r.Warnings, "\n")
	if r.Result != nil {
		text += r.Result.Message
	}
	return text
}

// TestForgedBacklog has a record of a tenant that states the set and an object of bundle eleven, while other records of
// the tenant wait to be read. Requests of users are still denied. A service account is only warned, because a record
// that waits may show that it is Fleet's.
func TestForgedBacklog(t *testing.T) {
	const operator, deployer = "system:serviceaccount:web:operator",
		"system:serviceaccount:cattle-fleet-system:deployer"
	bare, named := eleven, eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	named.ReleaseName = "" // one Helm annotation is left
	deleted, removed := []byte(nil), configMap("")
	tenant, owner, all := []string{"a-tenant"}, []string{"web"}, []string{"a-tenant", "web"}
	for _, tc := range []struct {
		name, user, bundle string
		old                ownership.Metadata
		after              []byte
		behind             []string
		want               string
	}{
		{"deleted", "alice", "eleven", bare, deleted, tenant, "denied Deleted eleven forbidden 0"},
		{"hash and id removed", "alice", "eleven", bare, removed, tenant, "denied Stripped eleven forbidden 0"},
		{"deleted, the tenant's bundle has another name", "alice", "mine", bare, deleted, tenant,
			"denied Deleted  forbidden 0"},
		{"the last Helm annotation removed", "alice", "eleven", named, configMap(metadataJSON(bare)), tenant,
			"denied Stripped eleven forbidden 0"},
		{"deleted, records of the owner wait too", "alice", "eleven", bare, deleted, all, "warned Deleted eleven 0"},
		{"deleted by a service account", operator, "eleven", bare, deleted, nil, "denied Deleted eleven forbidden 0"},
		{"deleted by a service account, records of the tenant wait", operator, "eleven", bare, deleted, tenant,
			"warned Deleted eleven 0"},
		{"deleted by a service account, records of the owner wait", deployer, "eleven", bare, deleted, owner,
			"warned Deleted eleven 0"},
		{"deleted, the object names its release", operator, "eleven", eleven, deleted, tenant,
			"denied Deleted eleven forbidden 0"},
		{"deleted, the object names its release, records of the owner wait", "alice", "eleven", eleven, deleted, owner,
			"warned Deleted eleven 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := setUp(t)
			b.GuardDefault = GuardDeny
			b.Live = func(namespace string) bool { return namespace != "" && !slices.Contains(tc.behind, namespace) }
			e, err := desired.ReadRevision(record.Record{Bundle: tc.bundle, SetID: eleven.SetID, Namespace: "a-tenant",
				Objects: record.ConfigMaps("web", 1)}.Value())
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
			if summary(got) != tc.want {
				t.Errorf("answer: %s, want %s", summary(got), tc.want)
			}
			text := messages(got)
			if strings.Contains(text, " 0/1") || strings.Contains(text, "at most") != (tc.old == eleven) ||
				!strings.Contains(text, "is owned by bundle "+tc.bundle) {
				t.Errorf("messages: %s", text)
			}
		})
	}
}
