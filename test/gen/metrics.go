// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
)

// metricsText is the beginning of the page about metrics.
//
//go:embed metrics.md
var metricsText string

// metricsPage describes the metrics of the auditor.
func metricsPage() ([]byte, error) {
	var b bytes.Buffer
	all := metrics.Families()
	own, _ := all[0].OwnLabels()
	ofDeployments := all[0].Labels[:len(all[0].Labels)-len(own)]
	b.WriteString("# Metrics of the auditor\n\n" + generated + metricsText + "\n## Metrics\n\n(deployment) stands for " +
		"the labels of a bundle deployment: `" + strings.Join(ofDeployments, "`, `") + "`.\n\n| metric | type | labels " +
		"| series | meaning |\n|---|---|---|---|---|\n")
	for _, f := range all {
		kind := "gauge"
		switch {
		case f.Histogram:
			kind = "histogram"
		case f.Type == prometheus.CounterValue:
			kind = "counter"
		}
		own, ofDeployment := f.OwnLabels()
		var labels []string
		if ofDeployment {
			labels = append(labels, "(deployment)")
		}
		for _, l := range own {
			labels = append(labels, "`"+l+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, kind, strings.Join(labels, ", "), f.Bound, f.Help)
	}
	return b.Bytes(), nil
}
