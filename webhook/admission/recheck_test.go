// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

// TestRecheck has a new service account of a release delete what the record that names it, which comes later, does not want any more.
func TestRecheck(t *testing.T) {
	const delay = 300 * time.Millisecond
	for name, test := range map[string]struct {
		recordAfter, requestFor time.Duration
		want                    string
		took                    time.Duration
	}{
		"the record is a moment late": {recordAfter: delay / 2, requestFor: time.Second, want: "passed Fleet eleven 0", took: delay},
		"the record is too late":      {recordAfter: 2 * delay, requestFor: time.Second, want: "denied Deleted eleven forbidden 0", took: delay},
		"nobody waits for an answer":  {recordAfter: delay / 2, requestFor: delay / 3, want: "denied Deleted eleven forbidden 0", took: delay / 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := setUp(t)
				b.GuardDefault, b.RecheckDelay = GuardDeny, delay
				next, err := index.Read(record.Record{Bundle: "eleven", Revision: 2, Status: "pending-upgrade", AgentNamespace: "agents", ServiceAccount: "deployer",
					Objects: nil}.Value())
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(test.recordAfter, func() { b.index.Set(next) })
				req := request(admissionv1.Delete, configMap(metadataJSON(eleven)), nil)
				req.UserInfo.Username = "system:serviceaccount:agents:deployer"
				ctx, cancel := context.WithTimeout(t.Context(), test.requestFor)
				defer cancel()
				start := time.Now()
				if got := said(Validating(b.Options).Handle(ctx, req)); got != test.want {
					t.Errorf("answer: %s, want %s", got, test.want)
				}
				if took := time.Since(start); took != test.took || len(b.outcomes) != 1 {
					t.Errorf("took %s, want %s, and told %d times of it", took, test.took, len(b.outcomes))
				}
			})
		})
	}
}

// TestOnlyDenialsWait holds that nothing else waits.
func TestOnlyDenialsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t)
		b.RecheckDelay = time.Hour
		start := time.Now()
		if got := said(Validating(b.Options).Handle(t.Context(), request(admissionv1.Delete, configMap(metadataJSON(eleven)), nil))); got != "warned Deleted eleven 0" {
			t.Errorf("answer: %s", got)
		}
		if got := said(Mutating(b.Options).Handle(t.Context(), request(admissionv1.Update, configMap(metadataJSON(eleven)), configMap("")))); got != "stamped Restored eleven 2" {
			t.Errorf("answer: %s", got)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("took %s", took)
		}
	})
}

// TestHandover has Fleet's agent write the marks of another bundle, whose record comes later, over those of the one that owns the object.
func TestHandover(t *testing.T) {
	const delay = 300 * time.Millisecond
	renamed := ownership.Desired("default-renamed", "renamed", "web")
	for name, test := range map[string]struct {
		recordAfter time.Duration
		user, want  string
	}{
		"the record is a moment late": {delay / 2, "system:serviceaccount:agents:deployer", "passed Owned renamed 0"},
		"the record is too late":      {2 * delay, "system:serviceaccount:cattle-fleet-system:fleet-agent", "passed Foreign eleven 0"},
		"it is not Fleet":             {2 * delay, "alice", "stamped Restored eleven 3"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := setUp(t)
				b.RecheckDelay = delay
				next, err := index.Read(record.Record{Bundle: "renamed", Status: "pending-install", Objects: record.ConfigMaps("web", 11)}.Value())
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(test.recordAfter, func() { b.index.Set(next) })
				req := request(admissionv1.Update, configMap(metadataJSON(eleven)), configMap(metadataJSON(renamed)))
				req.UserInfo.Username = test.user
				if got := said(Mutating(b.Options).Handle(t.Context(), req)); got != test.want {
					t.Errorf("answer: %s, want %s", got, test.want)
				}
			})
		})
	}
}

// TestStaleGuard holds that where changes are not heard of nothing is denied, and nobody's marks are written over; all else is as ever.
func TestStaleGuard(t *testing.T) {
	b := setUp(t)
	b.GuardDefault, b.stale = GuardDeny, true
	renamed := ownership.Desired("default-renamed", "renamed", "web")
	got := Validating(b.Options).Handle(t.Context(), request(admissionv1.Delete, configMap(metadataJSON(eleven)), nil))
	if said(got) != "warned Deleted eleven 0" {
		t.Errorf("a deletion: %s", said(got))
	}
	checkWarnings(t, []string{"Deleted eleven will be at most 10/11", "Stale"}, got.Warnings)
	for want, after := range map[string][]byte{"warned Foreign eleven 0": configMap(metadataJSON(renamed)), "stamped Restored eleven 2": configMap("")} {
		if got := said(Mutating(b.Options).Handle(t.Context(), request(admissionv1.Update, configMap(metadataJSON(eleven)), after))); got != want {
			t.Errorf("an update: %s, want %s", got, want)
		}
	}
}

// TestBehind holds that only records of the release's own namespace that are not read yet weaken a denial, and that of any namespace they keep
// an owner who is not known.
func TestBehind(t *testing.T) {
	renamed := ownership.Desired("default-renamed", "renamed", "web")
	for behind, want := range map[string][]string{
		"web":  {"warned Deleted eleven 0", "warned Foreign eleven 0"},
		"evil": {"denied Deleted eleven forbidden 0", "warned Foreign eleven 0"},
	} {
		b := setUp(t)
		b.GuardDefault = GuardDeny
		b.Live = func(namespace string) bool { return namespace != "" && namespace != behind }
		if got := said(Validating(b.Options).Handle(t.Context(), request(admissionv1.Delete, configMap(metadataJSON(eleven)), nil))); got != want[0] {
			t.Errorf("%s is behind: a deletion: %s, want %s", behind, got, want[0])
		}
		if got := said(Mutating(b.Options).Handle(t.Context(), request(admissionv1.Update, configMap(metadataJSON(eleven)), configMap(metadataJSON(renamed))))); got != want[1] {
			t.Errorf("%s is behind: an update: %s, want %s", behind, got, want[1])
		}
	}
}

// TestLiveAgain holds that a denial is one also while a watch begins anew, of whatever way the marks go.
func TestLiveAgain(t *testing.T) {
	for want, after := range map[string][]byte{"denied Deleted eleven forbidden 0": nil, "denied Stripped eleven forbidden 0": configMap("")} {
		synctest.Test(t, func(t *testing.T) {
			b := setUp(t)
			b.GuardDefault, b.RecheckDelay = GuardDeny, 300*time.Millisecond
			start := time.Now()
			b.Live = func(string) bool { return time.Since(start) > 100*time.Millisecond }
			handler, op := Validating(b.Options), admissionv1.Delete
			if after != nil {
				handler, op = Mutating(b.Options), admissionv1.Update
			}
			if got := said(handler.Handle(t.Context(), request(op, configMap(metadataJSON(eleven)), after))); got != want {
				t.Errorf("answer: %s, want %s", got, want)
			}
		})
	}
}
