// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The metrics of an API server. They count since its start; with several API servers, one of them answers.
const (
	metricFailOpen = "apiserver_admission_webhook_fail_open_count"
	metricRejected = "apiserver_admission_webhook_rejection_count"
	metricDuration = "apiserver_admission_webhook_admission_duration_seconds"
)

// Calls are the calls of one webhook that one API server has counted since its start.
type Calls struct {
	// Total is the number of calls.
	Total uint64 `json:"total"`
	// FailedOpen is the number of requests that went on without an answer, as failurePolicy Ignore has it.
	FailedOpen uint64 `json:"failedOpen"`
	// Refused is the number of requests that the webhook denied.
	Refused uint64 `json:"refused"`
	// Failed is the number of requests that were refused for want of an answer.
	Failed uint64 `json:"failed"`
	// MeanSeconds is the mean duration of a call.
	MeanSeconds float64 `json:"meanSeconds"`
}

// maxLine is the limit of a line of metrics, in bytes.
const maxLine = 1 << 20

// parseMetrics reads the calls of webhooks, by name, from /metrics of an API server. It skips all other metrics, which are megabytes, unparsed.
func parseMetrics(from io.Reader, webhooks ...string) (map[string]Calls, error) {
	var kept bytes.Buffer
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		l := lines.Bytes()
		if bytes.Contains(l[:min(len(l), 80)], []byte("apiserver_admission_webhook_")) {
			kept.Write(l)
			kept.WriteByte('\n')
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&kept)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	calls := map[string]Calls{}
	sums := map[string]float64{}
	for _, name := range []string{metricFailOpen, metricRejected, metricDuration} {
		for _, m := range families[name].GetMetric() {
			webhook := label(m, "name")
			if !slices.Contains(webhooks, webhook) {
				continue
			}
			c := calls[webhook]
			switch n := uint64(m.GetCounter().GetValue()); {
			case name == metricFailOpen:
				c.FailedOpen += n
			case name == metricRejected && label(m, "error_type") == "no_error":
				c.Refused += n
			case name == metricRejected:
				c.Failed += n
			default:
				c.Total += m.GetHistogram().GetSampleCount()
				sums[webhook] += m.GetHistogram().GetSampleSum()
			}
			calls[webhook] = c
		}
	}
	for name, c := range calls {
		if c.Total > 0 {
			c.MeanSeconds = sums[name] / float64(c.Total)
			calls[name] = c
		}
	}
	return calls, nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
