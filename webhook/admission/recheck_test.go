// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
)

// TestRecheck has a new service account delete an object that the next revision of a release does not desire. The
// record of this revision, which names the account, arrives after the request.
func TestRecheck(t *testing.T) {
	const delay = 300 * time.Millisecond
	for name, test := range map[string]struct {
		recordAfter, requestFor time.Duration
		want                    string
		took                    time.Duration
	}{
		"the record arrives during the wait": {recordAfter: delay / 2, requestFor: time.Second,
			want: "passed Fleet eleven 0", took: delay},
		"the record arrives after the wait": {recordAfter: 2 * delay, requestFor: time.Second,
			want: "denied Deleted eleven forbidden 0", took: delay},
		"the request ends during the wait": {recordAfter: delay / 2, requestFor: delay / 3,
			want: "denied Deleted eleven forbidden 0", took: delay / 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := setUp(t)
				b.GuardDefault, b.RecheckDelay = GuardDeny, delay
				next, err := desired.ReadRevision(record.Record{Bundle: "eleven", Revision: 2,
					Status: "pending-upgrade", AgentNamespace: "agents", ServiceAccount: "deployer",
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
				if got := summary(Validating(b.Options).Handle(ctx, req)); got != test.want {
					t.Errorf("answer: %s, want %s", got, test.want)
				}
				if took := time.Since(start); took != test.took || len(b.outcomes) != 1 {
					t.Errorf("took %s, want %s; %d outcomes", took, test.took, len(b.outcomes))
				}
			})
		})
	}
}

// TestOnlyDenialsWait checks that requests which pass do not wait.
func TestOnlyDenialsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t)
		b.RecheckDelay = time.Hour
		start := time.Now()
		if got := summary(Validating(b.Options).Handle(t.Context(),
			request(admissionv1.Delete, configMap(metadataJSON(eleven)), nil))); got != "warned Deleted eleven 0" {
			t.Errorf("answer: %s", got)
		}
		if got := summary(Mutating(b.Options).Handle(t.Context(),
			request(admissionv1.Update, configMap(metadataJSON(eleven)),
				configMap("")))); got != "stamped Restored eleven 2" {
			t.Errorf("answer: %s", got)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("took %s", took)
		}
	})
}

// TestHandover has Fleet's agent replace the metadata of an object with that of another bundle. The record of this
// bundle arrives after the request.
func TestHandover(t *testing.T) {
	const delay = 300 * time.Millisecond
	renamed := ownership.Desired("default-renamed", "renamed", "web")
	for name, test := range map[string]struct {
		recordAfter time.Duration
		user, want  string
	}{
		"the record arrives during the wait": {delay / 2, "system:serviceaccount:agents:deployer",
			"passed Owned renamed 0"},
		"the record arrives after the wait": {2 * delay, "system:serviceaccount:cattle-fleet-system:fleet-agent",
			"passed Foreign eleven 0"},
		"another user": {2 * delay, "alice", "stamped Restored eleven 3"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := setUp(t)
				b.RecheckDelay = delay
				next, err := desired.ReadRevision(record.Record{Bundle: "renamed", Status: "pending-install",
					Objects: record.ConfigMaps("web", 11)}.Value())
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(test.recordAfter, func() { b.index.Set(next) })
				req := request(admissionv1.Update, configMap(metadataJSON(eleven)), configMap(metadataJSON(renamed)))
				req.UserInfo.Username = test.user
				if got := summary(Mutating(b.Options).Handle(t.Context(), req)); got != test.want {
					t.Errorf("answer: %s, want %s", got, test.want)
				}
			})
		})
	}
}

// TestStaleGuard checks that no request is denied, and the metadata of an unknown owner is not replaced, while the
// index may be out of date.
func TestStaleGuard(t *testing.T) {
	b := setUp(t)
	b.GuardDefault, b.stale = GuardDeny, true
	renamed := ownership.Desired("default-renamed", "renamed", "web")
	got := Validating(b.Options).Handle(t.Context(), request(admissionv1.Delete, configMap(metadataJSON(eleven)), nil))
	if summary(got) != "warned Deleted eleven 0" {
		t.Errorf("a deletion: %s", summary(got))
	}
	checkWarnings(t, []string{"Deleted eleven will be at most 10/11", "Stale"}, got.Warnings)
	for want, after := range map[string][]byte{"warned Foreign eleven 0": configMap(metadataJSON(renamed)),
		"stamped Restored eleven 2": configMap("")} {
		if got := summary(Mutating(b.Options).Handle(t.Context(),
			request(admissionv1.Update, configMap(metadataJSON(eleven)), after))); got != want {
			t.Errorf("an update: %s, want %s", got, want)
		}
	}
}

// TestBehind checks that records that wait to be read turn a denial into a warning only in the namespace of the
// release. In any namespace they protect the metadata of an unknown owner.
func TestBehind(t *testing.T) {
	renamed := ownership.Desired("default-renamed", "renamed", "web")
	for behind, want := range map[string][]string{
		"web":  {"warned Deleted eleven 0", "warned Foreign eleven 0"},
		"evil": {"denied Deleted eleven forbidden 0", "warned Foreign eleven 0"},
	} {
		b := setUp(t)
		b.GuardDefault = GuardDeny
		b.Live = func(namespace string) bool { return namespace != "" && namespace != behind }
		if got := summary(Validating(b.Options).Handle(t.Context(),
			request(admissionv1.Delete, configMap(metadataJSON(eleven)), nil))); got != want[0] {
			t.Errorf("%s is behind: a deletion: %s, want %s", behind, got, want[0])
		}
		if got := summary(Mutating(b.Options).Handle(t.Context(),
			request(admissionv1.Update, configMap(metadataJSON(eleven)),
				configMap(metadataJSON(renamed))))); got != want[1] {
			t.Errorf("%s is behind: an update: %s, want %s", behind, got, want[1])
		}
	}
}

// TestLiveAgain checks that requests are denied also if the watch is interrupted for less than the wait.
func TestLiveAgain(t *testing.T) {
	for want, after := range map[string][]byte{"denied Deleted eleven forbidden 0": nil,
		"denied Stripped eleven forbidden 0": configMap("")} {
		synctest.Test(t, func(t *testing.T) {
			b := setUp(t)
			b.GuardDefault, b.RecheckDelay = GuardDeny, 300*time.Millisecond
			start := time.Now()
			b.Live = func(string) bool { return time.Since(start) > 100*time.Millisecond }
			handler, op := Validating(b.Options), admissionv1.Delete
			if after != nil {
				handler, op = Mutating(b.Options), admissionv1.Update
			}
			if got := summary(handler.Handle(t.Context(), request(op, configMap(metadataJSON(eleven)),
				after))); got != want {
				t.Errorf("answer: %s, want %s", got, want)
			}
		})
	}
}
