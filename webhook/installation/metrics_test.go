// SPDX-License-Identifier: Apache-2.0

package installation

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sampleMetrics has metrics of an API server: of our webhooks, of another one, and others.
//
//go:embed testdata/metrics.txt
var sampleMetrics string

func TestParseMetrics(t *testing.T) {
	t.Parallel()
	got, err := parseMetrics(strings.NewReader(sampleMetrics), StampWebhook, GuardWebhook)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Calls{StampWebhook: {Total: 4, FailedOpen: 2, MeanSeconds: 0.75},
		GuardWebhook: {Refused: 4, Failed: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if _, err := parseMetrics(strings.NewReader("apiserver_admission_webhook_fail_open_count{ 1\n")); err == nil {
		t.Error("an invalid metric was accepted")
	}
}

func FuzzParseMetrics(f *testing.F) {
	f.Add(sampleMetrics)
	f.Add("apiserver_admission_webhook_fail_open_count 1")
	f.Fuzz(func(_ *testing.T, text string) { // it must return
		_, _ = parseMetrics(strings.NewReader(text), StampWebhook)
	})
}
