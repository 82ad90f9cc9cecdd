// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// valuesFindings are the findings about values Secrets: "code kind namespace/name", with the whole text.
func valuesFindings(r *report.Audit) map[string]string {
	out := map[string]string{}
	for _, f := range r.Findings {
		if strings.HasPrefix(f.Code, "FD40") {
			out[f.Code+" "+f.Object.Kind+" "+f.Object.Namespace+"/"+f.Object.Name] = texts(f)
		}
	}
	return out
}

// compareFindings compares findings with the expected ones. An expected text is a part of the finding's text.
func compareFindings(t *testing.T, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	for key, text := range want {
		if !strings.Contains(got[key], text) {
			t.Errorf("%s does not contain %q: %s", key, text, got[key])
		}
		if strings.Contains(got[key], "invented-value") {
			t.Errorf("%s shows a value", key)
		}
	}
}

// TestValues audits values Secrets in every state.
func TestValues(t *testing.T) {
	e := newEstate("v0.14.4")
	e.deployment("right", past)
	e.deployment("right-now", recent)
	none, _ := e.deployment("none", past)
	delete(child(none, "spec"), "valuesHash")
	e.removeSecret("cluster-one", "none")
	gone := func(name, changed string) document {
		bd, _ := e.deployment(name, changed)
		e.removeSecret("cluster-one", name)
		return bd
	}
	gone("gone", past)
	gone("gone-now", recent)
	used := gone("gone-used", recent)
	used["status"] = document{"appliedDeploymentID": "id",
		"conditions": []any{document{"type": "Deployed", "status": "True", "lastUpdateTime": "2026-11-20T07:59:31Z"}}}
	delete(child(gone("gone-untimed", past), "metadata"), "managedFields")
	created := child(gone("gone-created", past), "metadata")
	delete(created, "managedFields")
	created["generation"] = 1
	child(gone("gone-waiting", past), "spec")["waitingForValues"] = true
	child(gone("gone-deleting", past), "metadata")["deletionTimestamp"] = past
	other := map[string][]byte{values.KeyValues: []byte(`{"key":"other"}`), values.KeyStaged: []byte(`{}`)}
	_, changed := e.deployment("changed", past)
	changed["data"] = other
	_, changed = e.deployment("changed-now", recent)
	changed["data"] = other
	_, changed = e.deployment("edited", past)
	changed["data"] = other
	child(changed, "metadata")["managedFields"] = []any{managed("", past), document{"manager": "kubectl-edit",
		"time": recent, "fieldsV1": document{"f:data": document{"f:values": document{}}}}}
	_, changed = e.deployment("labelled", past)
	changed["data"] = other
	child(changed, "metadata")["managedFields"] = []any{managed("", past), document{"manager": "kubectl-label",
		"time": recent, "fieldsV1": document{"f:metadata": document{}}}}
	_, changed = e.deployment("changed-untimed", past)
	changed["data"] = other
	delete(child(changed, "metadata"), "managedFields")
	for _, name := range []string{"behind", "behind-refused"} {
		_, changed = e.deployment(name, past)
		changed["data"] = other
		b, _ := e.bundle(name, past)
		child(b, "status")["observedGeneration"] = 1
		if name == "behind-refused" { // because of the hash
			child(b, "status")["conditions"] = []any{document{"type": "Ready", "status": "False", "reason": "Error",
				"message": "targeting error"}}
		}
	}
	gone("foreign", past)
	e.secret("cluster-one", "foreign", "Opaque", "", past)
	_, right := e.deployment("foreign-right", past)
	right["type"] = "Opaque"
	repair, _ := e.deployment("repair", past)
	repair["spec"] = document{"waitingForValues": true}
	leftover, _ := e.deployment("leftover", past)
	leftover["spec"] = document{}
	e.secret("cluster-one", "unknown", values.DeploymentType, "", past)
	_, ownerless := e.deployment("ownerless", past)
	delete(child(ownerless, "metadata"), "ownerReferences")
	lost := map[string][]byte{values.KeyValues: nil, values.KeyStaged: []byte(someValues)}
	for _, name := range []string{"emptied", "emptied-rollout"} {
		bd, secret := e.deployment(name, past)
		secret["data"] = lost
		child(bd, "spec")["valuesHash"] = values.DeploymentHash(nil, []byte(someValues))
		if name == "emptied-rollout" {
			child(bd, "spec")["stagedDeploymentID"] = "next" // the current deployment may have no values
		}
	}
	restored, _ := e.deployment("restored", past)
	child(restored, "metadata")["uid"] = "new"

	e.bundle("right", past)
	e.bundle("emptied", past)
	e.bundle("gone", past)
	e.removeSecret("fleet-local", "gone")
	_, changed = e.bundle("changed", past)
	changed["data"] = map[string][]byte{"values.yaml": []byte(`{"key":"other"}`)}
	e.bundle("job", recent)
	e.removeSecret("fleet-local", "job")
	killed, _ := e.bundle("killed", past)
	child(killed, "status")["observedGeneration"] = 1
	e.removeSecret("fleet-local", "killed")
	helm, _ := e.bundle("helm", past)
	child(helm, "metadata")["labels"] = document{"fleet.cattle.io/fleet-helm-name": "helm"}
	e.removeSecret("fleet-local", "helm")

	want := map[string]string{
		"FD401 BundleDeployment cluster-one/gone-now":        "do not match yet",
		"FD401 BundleDeployment cluster-one/gone-untimed":    "do not show when they last changed",
		"FD401 BundleDeployment cluster-one/changed-now":     "the last change was at " + recent,
		"FD401 BundleDeployment cluster-one/changed-untimed": "do not show when they last changed",
		"FD401 BundleDeployment cluster-one/repair":          "waitingForValues",
		"FD401 Bundle fleet-local/job":                       "do not match yet",
		"FD402 BundleDeployment cluster-one/gone": "the values Secret of its Bundle fleet-local/gone is " +
			"missing or different too",
		"FD402 BundleDeployment cluster-one/gone-used": "used the Secret with this hash at 2026-11-20T07:59:31Z",
		"FD402 BundleDeployment cluster-one/gone-created": "kubectl fleetdoctor repair bundle/gone-created " +
			"-n fleet-local --code=FD402 --allow=deploy",
		"FD402 BundleDeployment cluster-one/gone-waiting":   "fleet-controller v0.14.4: it waits",
		"FD402 BundleDeployment cluster-one/foreign":        `a Secret of type "Opaque" has its name`,
		"FD403 BundleDeployment cluster-one/changed":        "fleet-controller v0.14.4: it does not repair this",
		"FD401 BundleDeployment cluster-one/behind":         "has not observed the last change of the Bundle",
		"FD403 BundleDeployment cluster-one/behind-refused": "updates no target of the bundle",
		"FD403 BundleDeployment cluster-one/edited": "field manager kubectl-edit changed the Secret at " +
			recent,
		"FD403 BundleDeployment cluster-one/emptied": "kubectl fleetdoctor repair bundle/emptied -n fleet-local " +
			"--code=FD403 --allow=deploy",
		"FD401 BundleDeployment cluster-one/labelled": "do not match yet",
		"FD404 Bundle fleet-local/gone":               "does not exist",
		"FD404 Bundle fleet-local/changed":            "does not have the stated hash",
		"FD404 Bundle fleet-local/killed":             "has observed generation 1 of 2",
		"FD405 Secret cluster-one/foreign-right":      `has type "Opaque"`,
		"FD405 Secret cluster-one/leftover":           "its BundleDeployment has no values",
		"FD405 Secret cluster-one/unknown":            "its BundleDeployment does not exist",
		"FD405 Secret cluster-one/ownerless":          "has no owner",
		"FD405 Secret cluster-one/restored":           "an owner that is not the present BundleDeployment",
	}
	got, err := reportOf(audit.Run(t.Context(), e.open(t), audit.Options{Commands: cases.Commands}))
	if err != nil {
		t.Fatal(err)
	}
	compareFindings(t, want, valuesFindings(got))
	if len(got.Gaps) != 0 {
		t.Errorf("gaps: %+v", got.Gaps)
	}
}

// TestValuesVersions checks that the controller's version decides: values inline need no Secret, and 0.15.3 repairs a
// mismatch.
func TestValuesVersions(t *testing.T) {
	for version, want := range map[string]map[string]string{
		"v0.12.0": {},
		"v0.12.1": {"FD402 BundleDeployment cluster-one/gone": "updates no target",
			"FD403 BundleDeployment cluster-one/changed": "does not repair"},
		"v0.14.3": {"FD402 BundleDeployment cluster-one/gone": "#4599",
			"FD403 BundleDeployment cluster-one/changed": "does not repair"},
		"v0.15.3": {"FD402 BundleDeployment cluster-one/gone": "it waits",
			"FD403 BundleDeployment cluster-one/changed": "stores empty current values"},
		"dev": {"FD402 BundleDeployment cluster-one/gone": "is not known",
			"FD403 BundleDeployment cluster-one/changed": "is not known"},
	} {
		e := newEstate(version)
		e.deployment("gone", past)
		e.removeSecret("cluster-one", "gone")
		_, changed := e.deployment("changed", past)
		changed["data"] = map[string][]byte{values.KeyValues: nil, values.KeyStaged: []byte(someValues)}
		got, err := reportOf(audit.Run(t.Context(), e.open(t), audit.Options{Commands: cases.Commands}))
		if err != nil {
			t.Fatal(err)
		}
		compareFindings(t, want, valuesFindings(got))
	}
}

// TestValuesNotCaptured checks that nothing is missing or different if a capture has no Secrets, only those of
// releases, or no data.
func TestValuesNotCaptured(t *testing.T) {
	capture := func(change func(estate)) estate {
		e := newEstate("v0.16.0")
		e.deployment("guestbook", past)
		e.bundle("guestbook", past)
		change(e)
		return e
	}
	removeSecrets := func(e estate) {
		maps.DeleteFunc(e, func(key string, _ document) bool { return strings.HasPrefix(key, "Secret/") })
	}
	mask := func(data any) func(estate) {
		return func(e estate) {
			for key, d := range e {
				if strings.HasPrefix(key, "Secret/") {
					d["data"] = data
				}
			}
		}
	}
	for name, tt := range map[string]struct {
		estate estate
		gap    string
	}{
		"no Secrets": {capture(removeSecrets), "listing values Secrets"},
		"only those of agents and releases": {capture(func(e estate) {
			removeSecrets(e)
			e.secret("cattle-fleet-system", "fleet-agent", "Opaque", "", past)
			e.secret("web", "sh.helm.release.v1.guestbook.v1", "helm.sh/release.v1", "", past)
		}), "listing values Secrets"},
		"no data": {capture(mask(nil)), "values Secrets"},
		"masked data": {capture(mask(map[string]string{values.KeyValues: "REDACTED", values.KeyStaged: "REDACTED",
			"values.yaml": "***"})), "values Secrets"},
		"masked text": {capture(mask(map[string][]byte{values.KeyValues: []byte("***"), values.KeyStaged: {},
			"values.yaml": {}})), "values Secrets"},
	} {
		got, err := reportOf(audit.Run(t.Context(), tt.estate.open(t), audit.Options{Commands: cases.Commands}))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if found := valuesFindings(got); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
		if !slices.ContainsFunc(got.Gaps, func(g report.Gap) bool { return g.What == tt.gap }) {
			t.Errorf("%s: no gap %q: %+v", name, tt.gap, got.Gaps)
		}
	}
}

// moving simulates a cluster that is in one state until the pause, and in another one after it.
type moving struct {
	source.Source
	after source.Source
	cause error // of the pause

	mu      sync.Mutex // guards pauses and queries
	pauses  int
	queries []source.Query // for Secrets, after the pause
}

func (m *moving) Describe(ctx context.Context) (source.Description, error) {
	return faulty{Source: m.Source}.Describe(ctx)
}

func (m *moving) pause(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pauses++
	return m.cause
}

func (m *moving) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if m.paused(q) {
		return m.after.List(ctx, q, yield)
	}
	return m.Source.List(ctx, q, yield)
}

// paused reports whether the cluster is in the later state. Then it also records a query for Secrets.
func (m *moving) paused(q source.Query) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pauses > 0 && q.Kind.Kind == "Secret" {
		m.queries = append(m.queries, q)
	}
	return m.pauses > 0
}

// TestValuesAreReadAgain checks what a live cluster reports if a candidate changes, or stays, between the two readings.
func TestValuesAreReadAgain(t *testing.T) {
	gone := newEstate("v0.16.0")
	gone.deployment("guestbook", past)
	gone.removeSecret("cluster-one", "guestbook")
	right := newEstate("v0.16.0")
	right.deployment("guestbook", past)
	deleted := newEstate("v0.16.0")
	updated := newEstate("v0.16.0")
	bd, _ := updated.deployment("guestbook", recent)
	child(bd, "spec")["valuesHash"] = "another"
	restated := newEstate("v0.16.0")
	bd, _ = restated.deployment("guestbook", past)
	child(bd, "metadata")["generation"] = 3
	restated.removeSecret("cluster-one", "guestbook")
	leftover := newEstate("v0.16.0")
	bd, _ = leftover.deployment("guestbook", past)
	delete(child(bd, "spec"), "valuesHash")
	foreign := newEstate("v0.16.0")
	foreign.deployment("guestbook", past)
	foreign.secret("cluster-one", "guestbook", "Opaque", "", past)

	const missing = "FD402 BundleDeployment cluster-one/guestbook"
	for _, tt := range []struct {
		name          string
		before, after estate
		pauses        int
		want          map[string]string
	}{
		{"still missing", gone, gone, 1, map[string]string{missing: "does not exist"}},
		{"written in the meantime", gone, right, 1, map[string]string{}},
		{"the BundleDeployment was deleted", gone, deleted, 1, map[string]string{}},
		{"both changed", gone, updated, 1, map[string]string{}},
		{"the BundleDeployment states another hash", gone, restated, 1, map[string]string{}},
		{"of another type", gone, foreign, 1, map[string]string{missing: "does not exist"}},
		{"removed in the meantime", right, gone, 0, map[string]string{}},
		{"left over", leftover, gone, 0, map[string]string{"FD405 Secret cluster-one/guestbook": "left over"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := &moving{Source: tt.before.open(t), after: tt.after.open(t)}
			got, err := reportOf(audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands, Pause: src.pause}))
			if err != nil {
				t.Fatal(err)
			}
			if src.pauses != tt.pauses {
				t.Errorf("%d pauses, want %d", src.pauses, tt.pauses)
			}
			compareFindings(t, tt.want, valuesFindings(got))
		})
	}
}

// TestValuesPauseEnds checks that the error of the pause ends the audit.
func TestValuesPauseEnds(t *testing.T) {
	gone := newEstate("v0.16.0")
	gone.deployment("guestbook", past)
	gone.removeSecret("cluster-one", "guestbook")
	src := &moving{Source: gone.open(t), after: gone.open(t), cause: context.Canceled}
	if _, err := audit.Run(t.Context(), src, audit.Options{Pause: src.pause}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestManyCandidates checks that many candidates are listed, not read one by one.
func TestManyCandidates(t *testing.T) {
	e := newEstate("v0.16.0")
	for i := range 101 {
		name := fmt.Sprintf("app-%d", i)
		e.deployment(name, past)
		e.removeSecret("cluster-one", name)
	}
	src := &moving{Source: e.open(t), after: e.open(t)}
	got, err := reportOf(audit.Run(t.Context(), src, audit.Options{Pause: src.pause}))
	if err != nil {
		t.Fatal(err)
	}
	if found := valuesFindings(got); len(found) != 101 {
		t.Errorf("%d findings", len(found))
	}
	byName := func(q source.Query) bool { return strings.HasPrefix(q.FieldSelector, "metadata.name=app-") }
	if slices.ContainsFunc(src.queries, byName) {
		t.Errorf("%d requests", len(src.queries))
	}
}

// TestValuesForbidden checks that a user who may not list Secrets gets a gap and no finding, and no gap if nothing
// needs values.
func TestValuesForbidden(t *testing.T) {
	e := newEstate("v0.16.0")
	e.deployment("guestbook", past)
	e.removeSecret("cluster-one", "guestbook")
	for _, want := range []int{1, 0} {
		if want == 0 {
			bd, _ := e.deployment("guestbook", past)
			delete(child(bd, "spec"), "valuesHash")
		}
		src := faulty{Source: e.open(t), lists: map[string]source.Coverage{
			"Secret type=" + values.DeploymentType: forbidden, "Secret type=" + values.BundleType: forbidden}}
		got, err := reportOf(audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands}))
		if err != nil {
			t.Fatal(err)
		}
		var gaps []report.Gap
		for _, g := range got.Gaps {
			if g.What == "listing values Secrets" && g.Reason == string(source.Forbidden) {
				gaps = append(gaps, g)
			}
		}
		if found := valuesFindings(got); len(found) > 0 || len(gaps) != want {
			t.Errorf("findings %v, gaps %+v, want %d", found, got.Gaps, want)
		}
	}
}
