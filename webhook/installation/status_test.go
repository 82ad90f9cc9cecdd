// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// healthy returns the facts of an installation without problems.
func healthy(t *testing.T) *Facts {
	t.Helper()
	f := &Facts{Facts: install.Facts{TakenAt: now,
		Installation: &install.Installation{Namespace: install.Namespace, Named: install.Namespace},
		HelmRelease: &helm.Release{Namespace: install.Namespace, Name: Name, Version: 1,
			Info: &helm.Info{Status: common.StatusDeployed}}}, Test: &Test{Result: Works}}
	for _, o := range render(t, Values{}) {
		for _, w := range rawWebhooks(o) {
			set(w, "Y2E=", "clientConfig", "caBundle")
		}
		switch o.GroupVersionKind() {
		case install.DeploymentKind:
			o.Object["status"] = availableStatus(2)
			f.Deployment = o
		case install.MutatingKind:
			f.Mutating.Object = o
		case install.ValidatingKind:
			f.Validating.Object = o
		}
	}
	return f
}

// set writes a value into a map of maps.
func set(in map[string]any, value any, fields ...string) {
	last := len(fields) - 1
	for _, f := range fields[:last] {
		next, ok := in[f].(map[string]any)
		if !ok {
			next = map[string]any{}
			in[f] = next
		}
		in = next
	}
	in[fields[last]] = value
}

// result is a check without its texts.
type result struct {
	Name    string
	State   install.State
	Details int
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*Facts)
		state  install.State
		// checks that are not OK
		checks []result
	}{
		{name: "nothing wrong", change: func(*Facts) {}, state: install.OK},
		{
			name: "not installed", state: install.Wrong, checks: []result{{"installed", install.Wrong, 0}},
			change: func(f *Facts) { f.Installation = &install.Installation{Namespace: install.Namespace} },
		},
		{
			name: "failurePolicy is edited", state: install.Wrong, checks: []result{{"mutating", install.Wrong, 1}},
			change: func(f *Facts) { set(rawWebhooks(f.Mutating.Object)[0], "Fail", "failurePolicy") },
		},
		{
			name: "no caBundle", state: install.Wrong, checks: []result{{"validating", install.Wrong, 1}},
			change: func(f *Facts) { set(rawWebhooks(f.Validating.Object)[0], "", "clientConfig", "caBundle") },
		},
		{
			name: "all reads are forbidden", state: install.Unknown, checks: []result{
				{"release", install.Unknown, 0},
				{"mutating", install.Unknown, 0},
				{"validating", install.Unknown, 0},
				{"test", install.Unknown, 0},
			},
			change: func(f *Facts) {
				f.HelmRelease, f.HelmReleaseReason = nil, "forbidden"
				f.Mutating, f.Validating = install.Reading{Reason: "forbidden"}, install.Reading{Reason: "forbidden"}
				f.Test = &Test{Result: ResultUnknown}
			},
		},
		{
			name: "disabled", state: install.Wrong, checks: []result{
				{"mutating", install.Wrong, 0},
				{"validating", install.Wrong, 0},
			},
			change: func(f *Facts) { f.Mutating, f.Validating, f.Test = install.Reading{}, install.Reading{}, nil },
		},
		{
			name: "no replica is ready", state: install.Wrong, checks: []result{{"deployment", install.Wrong, 1}},
			change: func(f *Facts) { f.Deployment.Object["status"] = availableStatus(1) },
		},
		{
			name: "no object to test with", state: install.Note, checks: []result{{"test", install.Note, 0}},
			change: func(f *Facts) { f.Test = &Test{Result: NoObject} },
		},
		{
			name: "the test is not allowed", state: install.Unknown, checks: []result{{"test", install.Unknown, 2}},
			change: func(f *Facts) { f.Test = &Test{Result: ResultUnknown, Strip: &Response{Answer: Refused}} },
		},
		{
			name: "no handler answers", state: install.Wrong, checks: []result{{"test", install.Wrong, 0}},
			change: func(f *Facts) { f.Test = &Test{Result: NotCalled} },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := healthy(t)
			tc.change(f)
			s := Evaluate(f)
			var checks []result
			for _, c := range s.Checks {
				if c.State != install.OK {
					checks = append(checks, result{c.Name, c.State, len(c.Details)})
				}
			}
			if diff := cmp.Diff(tc.checks, checks); diff != "" {
				t.Errorf("checks that are not OK (-want +got):\n%s", diff)
			}
			if s.State != tc.state {
				t.Errorf("state %s, want %s", s.State, tc.state)
			}
		})
	}
}

// availableStatus is the status of a Deployment whose replicas are all available.
func availableStatus(n int64) map[string]any {
	condition := func(kind, reason string) any {
		return map[string]any{"type": kind, "status": "True", "reason": reason}
	}
	return map[string]any{"observedGeneration": int64(1), "replicas": n, "readyReplicas": n, "availableReplicas": n,
		"updatedReplicas": n,
		"conditions":      []any{condition("Available", ""), condition("Progressing", "NewReplicaSetAvailable")}}
}

// TestRemedies checks that the status of an installation by Fleet does not name `webhook install`, which refuses to
// change it.
func TestRemedies(t *testing.T) {
	t.Parallel()
	for _, byFleet := range []bool{false, true} {
		f := healthy(t)
		f.Mutating = install.Reading{}
		if byFleet {
			f.Fleet = "other/doctor"
		}
		text := ""
		for _, c := range Evaluate(f).Checks {
			text += c.Message
		}
		if strings.Contains(text, "`webhook install`") == byFleet || strings.Contains(text, "by Fleet") != byFleet {
			t.Errorf("by Fleet: %t: %s", byFleet, text)
		}
	}
}
