// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/bench/writes"
)

// TestRunWebhook measures a few writes to check the whole program. The program itself checks the number of calls
// and the metadata of the objects.
func TestRunWebhook(t *testing.T) {
	var out, progress bytes.Buffer
	if err := run(t.Context(), []string{"-webhook", "-n", "10", "-known", "1000", "-rounds", "2", "-json"}, &out,
		&progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	var doc document
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Writes == nil || len(doc.Writes.Rounds) != 2 || doc.Writes.Known != 1010 || doc.Writes.ObjectBytes != 8192 {
		t.Fatalf("measured: %s", &out)
	}
	cases, runs := 0, 0
	for _, t := range writes.Traffics() {
		cases += len(writes.Operations()) * len(doc.Writes.Clients)
		runs += len(writes.Operations()) * len(doc.Writes.Clients) * len(t.Variants())
	}
	if len(doc.Targets) != cases {
		t.Errorf("%d targets, want %d", len(doc.Targets), cases)
	}
	for _, round := range doc.Writes.Rounds {
		if len(round) != runs {
			t.Errorf("%d runs in a round, want %d", len(round), runs)
		}
		for _, r := range round {
			if r.P50 <= 0 || r.P99 < r.P50 || r.PerSecond <= 0 {
				t.Errorf("not measured: %+v", r)
			}
		}
	}
}

// sampleWrites are nine rounds with one client. For requests that reach a webhook, no-op takes twice the time of
// none, constant four times and ours six times.
func sampleWrites() writes.Result {
	r := writes.Result{Objects: 400, ObjectBytes: 8192, Known: 100_400, Clients: []int{1}}
	for i := range 9 {
		var round []writes.Run
		for _, traffic := range writes.Traffics() {
			for _, op := range writes.Operations() {
				for k, variant := range traffic.Variants() {
					took := time.Millisecond
					switch {
					case traffic == writes.Adopted && k > 1:
						took *= time.Duration(2 * (k - 1)) // 2, 4 and 6
					case variant == writes.Again:
						took += time.Duration(i-4) * 10 * time.Microsecond
					case variant == writes.Ours && traffic == writes.Fleets:
						took += 50 * time.Microsecond
					}
					round = append(round, writes.Run{Case: writes.Case{Traffic: traffic, Clients: 1, Operation: op},
						Variant: variant, P50: took, P99: 2 * took,
						PerSecond: 1 / took.Seconds()})
				}
			}
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

func TestWritesTargets(t *testing.T) {
	// the second of nine ratios from 0.96 to 1.04; it deviates more from 1 than the second to last
	const bound = 1 / 0.97
	want := []target{
		{Name: "ours / no-op, p99: adopted, create, 1 at once", Objects: 400, Figure: 3, Bound: 1.1},
		{Name: "ours / no-op, p99: adopted, update, 1 at once", Objects: 400, Figure: 3, Bound: 1.1},
		{Name: "ours / none, p50: plain, create, 1 at once", Objects: 400, Figure: 1, Bound: bound, Met: true},
		{Name: "ours / none, p50: plain, update, 1 at once", Objects: 400, Figure: 1, Bound: bound, Met: true},
		{Name: "ours / none, p50: fleet, create, 1 at once", Objects: 400, Figure: 1.05, Bound: bound},
		{Name: "ours / none, p50: fleet, update, 1 at once", Objects: 400, Figure: 1.05, Bound: bound},
	}
	if diff := cmp.Diff(want, writesTargets(sampleWrites()), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

func TestPrintWrites(t *testing.T) {
	r := sampleWrites()
	doc := document{Writes: &r, Targets: writesTargets(r)}
	var out strings.Builder
	if err := doc.print(&out); err != nil {
		t.Fatal(err)
	}
	block, err := os.ReadFile("testdata/writes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kubectl fleetdoctor webhook, measured",
		"400 objects of 8 KiB each in a run, 9 rounds, 100400 objects in the webhook's index",
		"\n" + string(block)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not contain %q:\n%s", want, &out)
		}
	}
}

func TestInterval(t *testing.T) {
	for n, want := range map[int][2]float64{1: {1, 1}, 2: {1, 2}, 5: {1, 5}, 6: {1, 6}, 8: {1, 8}, 9: {2, 8},
		12: {3, 10}, 20: {6, 15}} {
		var figures []float64
		for i := range n {
			figures = append(figures, float64(i+1))
		}
		low, high := interval(figures)
		if got := [2]float64{low, high}; got != want {
			t.Errorf("of %d figures: %v, want %v", n, got, want)
		}
	}
}
