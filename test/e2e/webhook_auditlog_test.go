// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// auditLog is the file to which the shared server logs each completed write of a ConfigMap, and each request of
// the auditor before it handles it.
func auditLog() string { return filepath.Join(built.dir, "audit.log") }

// withAuditLog returns the options of a server with that audit log.
func withAuditLog() ([]cluster.Option, error) {
	policy := filepath.Join(built.dir, "audit-policy.yaml")
	const rules = `
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- {level: Metadata, users: [` + auditor + `], omitStages: [ResponseStarted, ResponseComplete, Panic]}
- level: Metadata
  verbs: [create, update, patch, delete]
  resources: [{resources: [configmaps]}]
  omitStages: [RequestReceived]
`
	if err := os.WriteFile(policy, []byte(rules), 0o600); err != nil {
		return nil, fmt.Errorf("writing the audit policy: %w", err)
	}
	return []cluster.Option{cluster.WithAPIServerFlag("audit-policy-file", policy),
		cluster.WithAPIServerFlag("audit-log-path", auditLog())}, nil
}

// auditAnnotations returns the annotations of the last logged request with this verb for an object.
func auditAnnotations(t *testing.T, verb, namespace, name string) map[string]string {
	t.Helper()
	var last map[string]string
	for _, event := range auditEvents(t) {
		if event.Verb == verb && event.ObjectRef.Namespace == namespace && event.ObjectRef.Name == name {
			last = event.Annotations
		}
	}
	return last
}

// TestWebhookAuditLog checks that the API server's audit log contains the decision of the webhook and the bundle.
func TestWebhookAuditLog(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("hello", greetings("audited")) // a unique name: the log has the requests of all tests
	f.remove(configMap("audited"))
	f.serveWebhook("default")
	f.Apply(t, "helm", b.withHelmOwnership(configMap("audited")))
	if err := f.Client().Delete(t.Context(), configMap("audited"), client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	for verb, want := range map[string]map[string]string{
		"patch": {"stamp.fleetdoctor.io/decision": "stamped", "stamp.fleetdoctor.io/reason": "Adopted",
			"stamp.fleetdoctor.io/bundle": "hello"},
		"delete": {"guard.fleetdoctor.io/decision": "warned", "guard.fleetdoctor.io/reason": "Deleted",
			"guard.fleetdoctor.io/bundle": "hello"},
	} {
		poll.Until(t, func() error { // the server answers before it writes the log
			got := map[string]string{}
			for key, value := range auditAnnotations(t, verb, apps, "audited") {
				if _, ok := want[key]; ok {
					got[key] = value
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("%s (-want +got):\n%s", verb, diff)
			}
			return nil
		})
	}
}
