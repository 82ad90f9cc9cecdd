// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"io"
	"slices"

	"github.com/prometheus/common/model"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// The metrics of an API server. They count since its start. With several API servers, one of them answers.
const (
	metricFailOpen = "apiserver_admission_webhook_fail_open_count"
	metricRejected = "apiserver_admission_webhook_rejection_count"
	metricDuration = "apiserver_admission_webhook_admission_duration_seconds"
)

// Calls are the calls of one webhook that one API server has counted since its start.
type Calls struct {
	// Total is the number of calls.
	Total uint64 `json:"total"`
	// FailedOpen is the number of requests that went on without an answer, because the failurePolicy is Ignore.
	FailedOpen uint64 `json:"failedOpen"`
	// Refused is the number of requests that the webhook denied.
	Refused uint64 `json:"refused"`
	// Failed is the number of requests that were refused because the webhook did not answer.
	Failed uint64 `json:"failed"`
	// MeanSeconds is the mean duration of a call.
	MeanSeconds float64 `json:"meanSeconds"`
}

// parseMetrics reads the calls of webhooks, by name, from /metrics of an API server.
func parseMetrics(from io.Reader, webhooks ...string) (map[string]Calls, error) {
	samples, err := install.ReadMetrics(from, "apiserver_admission_webhook_")
	if err != nil {
		return nil, err
	}
	calls := map[string]Calls{}
	for _, s := range samples {
		webhook := string(s.Metric["name"])
		if !slices.Contains(webhooks, webhook) {
			continue
		}
		c := calls[webhook]
		switch n := uint64(s.Value); s.Metric[model.MetricNameLabel] {
		case metricFailOpen:
			c.FailedOpen += n
		case metricRejected:
			if s.Metric["error_type"] == "no_error" {
				c.Refused += n
			} else {
				c.Failed += n
			}
		case metricDuration + "_count":
			c.Total += n
		case metricDuration + "_sum":
			c.MeanSeconds += float64(s.Value) // the sum, until all samples are counted
		}
		calls[webhook] = c
	}
	for name, c := range calls {
		c.MeanSeconds /= float64(max(c.Total, 1))
		calls[name] = c
	}
	return calls, nil
}
