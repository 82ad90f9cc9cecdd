// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// live is a capture that stands for a cluster: what it does not have, the cluster does not have.
type live struct{ source.Source }

// Describe implements source.Source.
func (l live) Describe(ctx context.Context) (source.Description, error) {
	d, err := l.Source.Describe(ctx)
	d.Origin, d.Earliest = source.OriginCluster, false
	return d, err
}

// Kinds implements source.Source.
func (l live) Kinds(ctx context.Context) (*source.Kinds, error) {
	kinds, err := l.Source.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	out := &source.Kinds{}
	for _, k := range kinds.Every() {
		out.Add(k)
	}
	out.MissingMeans(source.Failure{Reason: source.KindNotServed})
	return out, nil
}

// List implements source.Source.
func (l live) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	cover, err := l.Source.List(ctx, q, yield)
	for _, f := range cover.Failures() {
		if f.Reason == source.NotInSnapshot || f.Reason == source.KindNotServed {
			cover = source.Covered()
		}
	}
	if kinds, kindsErr := l.Kinds(ctx); kindsErr == nil {
		if _, f, served := kinds.Lookup(q.Kind); !served {
			cover = source.NotCovered(f)
		}
	}
	return cover, err
}

// unequal are the parts of a report that differ between a cluster and its snapshot: the numbers of hidden values,
// because equal values have equal masks only in one object; names of Contents, which are hashes, and the ids of their
// findings; and the user in an address with a password.
var unequal = regexp.MustCompile(`(://([a-z]+:)?|\()?[a-zA-Z0-9+]*(\*\*\*|hmac_[0-9a-z]{16})[a-zA-Z0-9+/=]*\)?` +
	`|s-[0-9a-f]{61}(:[0-9a-f]{64})?|FD60[13]-[0-9a-f]{10}`)

// reported returns the report of an audit as JSON, line by line, without those parts.
func reported(t *testing.T, src source.Source, desired audit.Desired) []string {
	t.Helper()
	found, err := audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands, Desired: desired,
		Pause: func(context.Context) error { return nil }})
	if err != nil {
		return []string{err.Error()}
	}
	out := found.Report()
	out.Source = report.Source{}
	raw, err := json.MarshalIndent(out, "", " ")
	must(t, err)
	return strings.Split(unequal.ReplaceAllString(string(raw), "***"), "\n")
}

// TestTakeOfCases takes a snapshot of every case, and one of the snapshot: an audit of each has the same report.
func TestTakeOfCases(t *testing.T) {
	files, err := filepath.Glob(testdata + "cases/*.yaml")
	must(t, err)
	more, err := filepath.Glob(testdata + "preflights/*.yaml")
	must(t, err)
	taken := 0
	for _, file := range append(files, more...) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			var head struct {
				NotCaptured []string `json:"notCaptured"`
			}
			description := map[string]any{}
			capture, err := cases.Read(file, &description)
			must(t, err)
			raw, err := json.Marshal(description)
			must(t, err)
			must(t, json.Unmarshal(raw, &head))
			must(t, capture.Complete(head.NotCaptured))
			captured, err := capture.Open(t.Context())
			must(t, err)
			src := live{captured}
			path, ok := tryTake(t, src)
			if !ok {
				return
			}
			taken++
			got := open(t, path)
			again, ok := tryTake(t, got)
			if !ok {
				t.Fatal("no snapshot can be taken of the snapshot")
			}
			sources := []audit.Desired{audit.DesiredRelease, audit.DesiredAuto}
			if strings.Contains(file, "desired-values-secret") {
				sources = sources[:1] // a value of its Secret is the word "secret", which is the name of a kind
			}
			for _, desired := range sources {
				want := reported(t, src, desired)
				if diff := cmp.Diff(want, reported(t, got, desired)); diff != "" {
					t.Errorf("%s (-capture +snapshot):\n%s", desired, diff)
				}
				if diff := cmp.Diff(want, reported(t, open(t, again), desired)); diff != "" {
					t.Errorf("%s (-capture +snapshot of the snapshot):\n%s", desired, diff)
				}
			}
		})
	}
	if taken < len(files)/2 {
		t.Errorf("only %d snapshots were taken", taken)
	}
}
