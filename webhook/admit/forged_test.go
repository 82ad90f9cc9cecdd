// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/guard"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
)

// TestForgedRecord has a tenant's record claim bundle eleven's set for an agent of the tenant, under deny. Fleet's own agent is refused nothing,
// also where the real record is not there or the object lacks Helm's annotations; everybody else is refused what they were.
func TestForgedRecord(t *testing.T) {
	const fleet, tenant = "system:serviceaccount:cattle-fleet-system:fleet-agent", "system:serviceaccount:a-tenant:fleet-agent"
	e, err := registry.Read(record.Record{Bundle: "eleven", Namespace: "a-tenant", AgentNamespace: "a-tenant", Objects: record.ConfigMaps("web", 11)}.Value())
	if err != nil {
		t.Fatal(err)
	}
	unread := registry.Damaged(release.Name{Namespace: "web", Name: "eleven", Revision: 1})
	bare := eleven
	bare.ReleaseName, bare.ReleaseNamespace = "", ""
	for _, tc := range []struct {
		name, user string
		old        ownership.Marks
		alone      bool
		want       string
		warnings   []string
	}{
		{"Fleet", fleet, eleven, false, "passed Fleet eleven 0", nil},
		{"the tenant", tenant, eleven, false, "denied Deleted eleven forbidden 0", nil},
		{"Fleet, of what lacks Helm's annotations", fleet, bare, false, "warned Deleted eleven 0", []string{"at most 10/11", "several releases state its set"}},
		{"somebody, of what lacks Helm's annotations", "alice", bare, false, "denied Deleted eleven forbidden 0", nil},
		{"Fleet, without the real record, of what lacks Helm's annotations", fleet, bare, true, "warned Deleted eleven 0", []string{"at most 10/11", "not every release"}},
		{"Fleet, without the real record", fleet, eleven, true, "warned Deleted eleven 0", []string{"at most 10/11", "name release web/eleven"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := setUp(t)
			b.GuardDefault = guard.Deny
			if tc.alone {
				b.registry.Put(unread)
			}
			b.registry.Put(e)
			req := request(admissionv1.Delete, configMap(marked(tc.old)), nil)
			req.UserInfo.Username = tc.user
			got := admit.Guard(b.Options).Handle(t.Context(), req)
			if said(got) != tc.want {
				t.Errorf("answer: %s, want %s", said(got), tc.want)
			}
			checkWarnings(t, tc.warnings, got.Warnings)
		})
	}
}
