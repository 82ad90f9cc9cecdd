// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/guard"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
)

// TestPatience has a new service account of a release delete what the record that names it, which comes later, does not want any more.
func TestPatience(t *testing.T) {
	const patience = 300 * time.Millisecond
	for name, test := range map[string]struct {
		recordAfter, requestFor time.Duration
		want                    string
		took                    time.Duration
	}{
		"the record is a moment late": {recordAfter: patience / 2, requestFor: time.Second, want: "passed Fleet eleven 0", took: patience},
		"the record is too late":      {recordAfter: 2 * patience, requestFor: time.Second, want: "denied Deleted eleven forbidden 0", took: patience},
		"nobody waits for an answer":  {recordAfter: patience / 2, requestFor: patience / 3, want: "denied Deleted eleven forbidden 0", took: patience / 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := setUp(t)
				b.GuardDefault, b.Patience = guard.Deny, patience
				next, err := registry.Read(record.Record{Bundle: "eleven", Revision: 2, Status: "pending-upgrade", AgentNamespace: "agents", ServiceAccount: "deployer",
					Objects: nil}.Value())
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(test.recordAfter, func() { b.registry.Put(next) })
				req := request(admissionv1.Delete, configMap(marked(eleven)), nil)
				req.UserInfo.Username = "system:serviceaccount:agents:deployer"
				ctx, cancel := context.WithTimeout(t.Context(), test.requestFor)
				defer cancel()
				start := time.Now()
				if got := said(admit.Guard(b.Options).Handle(ctx, req)); got != test.want {
					t.Errorf("answer: %s, want %s", got, test.want)
				}
				if took := time.Since(start); took != test.took || len(b.outcomes) != 1 {
					t.Errorf("took %s, want %s, and told %d times of it", took, test.took, len(b.outcomes))
				}
			})
		})
	}
}

// TestPatienceIsForDenials holds that nothing else waits.
func TestPatienceIsForDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t)
		b.Patience = time.Hour
		start := time.Now()
		if got := said(admit.Guard(b.Options).Handle(t.Context(), request(admissionv1.Delete, configMap(marked(eleven)), nil))); got != "warned Deleted eleven 0" {
			t.Errorf("answer: %s", got)
		}
		if got := said(admit.Stamp(b.Options).Handle(t.Context(), request(admissionv1.Update, configMap(marked(eleven)), configMap("")))); got != "stamped Restored eleven 2" {
			t.Errorf("answer: %s", got)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("took %s", took)
		}
	})
}
