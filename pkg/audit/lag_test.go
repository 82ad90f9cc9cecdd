// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// rolling is a cluster on which some of Fleet's objects change during each pause.
type rolling struct {
	faulty
	pauses int
	// changes replaces a text in objects of a kind ("Kind old → new"), from a pause on.
	changes map[int][3]string
	// fails is a kind that cannot be read after the first pause.
	fails string
}

func (r *rolling) pause(context.Context) error {
	r.pauses++
	return nil
}

func (r *rolling) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if r.pauses > 0 && q.Kind.Kind == r.fails {
		return source.NotCovered(source.Failure{Reason: source.ReadFailed}), nil
	}
	return r.faulty.List(ctx, q, func(o source.Object) error {
		raw := strings.Replace(string(o.Raw), `"metadata":{`, `"metadata":{"resourceVersion":"7",`, 1)
		for from, c := range r.changes {
			if r.pauses >= from && q.Kind.Kind == c[0] {
				raw = strings.ReplaceAll(raw, c[1], c[2])
			}
		}
		o.Raw = []byte(raw)
		return yield(o)
	})
}

const (
	version = `"resourceVersion":"7"`
	newer   = `"resourceVersion":"8"`
)

// TestLag checks that wrong numbers are reported only if nothing changes while they are read again, and that only
// numbers that may change are.
func TestLag(t *testing.T) {
	lagging := []string{"FD201 BundleDeployment", "FD202 Bundle", "FD203 GitRepo", "FD204 GitRepo", "FD205 Cluster"}
	for _, tc := range []struct {
		name, file string
		changes    map[int][3]string
		fails      string
		pauses     int
		want       []string
	}{
		{name: "nothing changes", pauses: 2, want: lagging},
		{name: "the agent reports the change", changes: map[int][3]string{1: {"BundleDeployment", version, newer}},
			pauses: 1},
		{name: "the agent reports the change late", changes: map[int][3]string{2: {"BundleDeployment", version, newer}},
			pauses: 2},
		{name: "the Bundle changes", changes: map[int][3]string{1: {"Bundle", version, newer}}, pauses: 2,
			want: []string{"FD201 BundleDeployment", "FD203 GitRepo", "FD205 Cluster"}},
		{name: "a poll of the GitRepo, and a heartbeat", changes: map[int][3]string{1: {"GitRepo", version, newer},
			2: {"Cluster", version, newer}}, pauses: 2, want: lagging},
		{name: "the numbers of the GitRepo change", changes: map[int][3]string{1: {"GitRepo", `"ready":11`,
			`"ready":10`}}, pauses: 1,
			want: []string{"FD201 BundleDeployment", "FD202 Bundle", "FD205 Cluster"}},
		{name: "the GitRepo follows after ten seconds",
			changes: map[int][3]string{2: {"GitRepo", `"ready":11`, `"ready":10`}}, pauses: 2,
			want: []string{"FD201 BundleDeployment", "FD202 Bundle", "FD205 Cluster"}},
		{name: "the numbers of the Cluster change", changes: map[int][3]string{1: {"Cluster", `"ready":11`,
			`"ready":10`}}, pauses: 2,
			want: []string{"FD201 BundleDeployment", "FD202 Bundle", "FD203 GitRepo", "FD204 GitRepo"}},
		{name: "the Cluster is another one", changes: map[int][3]string{1: {"Cluster", `"metadata":{`,
			`"metadata":{"uid":"new",`}}, pauses: 2,
			want: []string{"FD201 BundleDeployment", "FD202 Bundle", "FD203 GitRepo", "FD204 GitRepo"}},
		{name: "the second reading fails", fails: "Cluster", pauses: 2, want: []string{"FD201 BundleDeployment",
			"FD202 Bundle", "FD203 GitRepo", "FD204 GitRepo"}},
		{name: "the agent is silent", file: "counts-agent-silent",
			changes: map[int][3]string{1: {"BundleDeployment", version, newer}}, want: lagging},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.file == "" {
				tc.file = "counts-one-deleted"
			}
			src := &rolling{faulty: faulty{Source: readCase(t, casesDir+"/"+tc.file+".yaml").open(t)},
				changes: tc.changes, fails: tc.fails}
			result, err := audit.Run(t.Context(), src, audit.Options{Pause: src.pause})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range result.Findings {
				if strings.HasPrefix(f.Code, "FD20") && f.Cause != "" {
					got = append(got, fmt.Sprint(f.Code, " ", f.Object.Kind))
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" || src.pauses != tc.pauses {
				t.Errorf("%d pauses, want %d; findings (-want +got):\n%s", src.pauses, tc.pauses, diff)
			}
		})
	}
}

// TestLagPauseEnds checks that the error of the pause ends the audit.
func TestLagPauseEnds(t *testing.T) {
	src := faulty{Source: readCase(t, casesDir+"/counts-one-deleted.yaml").open(t)}
	pause := func(context.Context) error { return context.Canceled }
	if _, err := audit.Run(t.Context(), src, audit.Options{Pause: pause}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// TestHeartbeatLag checks that nobody waits for numbers that only the next heartbeat of an agent corrects.
func TestHeartbeatLag(t *testing.T) {
	s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/sick"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	src := &rolling{faulty: faulty{Source: s}}
	result, err := audit.Run(t.Context(), src, audit.Options{Pause: src.pause})
	if err != nil {
		t.Fatal(err)
	}
	reported := slices.ContainsFunc(result.Findings, func(f check.Finding) bool {
		return f.Code == "FD205" && f.Cause == facts.Lag
	})
	if !reported || src.pauses > 0 {
		t.Errorf("FD205 is reported: %t, after %d pauses", reported, src.pauses)
	}
}
