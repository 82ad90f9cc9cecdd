// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/metrics"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
)

// alertsText is the text about the alerts.
const alertsText = `## Alerts

The rules for Prometheus are in manifests/auditor/alerts.yaml, and dashboards for Grafana of a fleet, of a cluster ` +
	`and of a bundle in manifests/auditor/dashboards. Alerts about an object name it in the labels object_namespace ` +
	`and object. An alert about a dependency has a name of its own: a bundle that waits has not failed, and does not ` +
	`count as a stuck rollout.
`

// metricsText is the beginning of the page about metrics.
//
//go:embed metrics.md
var metricsText string

// asCode lists names as code.
func asCode(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

// metricsPage describes the metrics of the auditor.
func metricsPage() ([]byte, error) {
	var b bytes.Buffer
	all := metrics.Families()
	ofDeployments := asCode(all[0].Labels[:slices.Index(all[0].Labels, "state")])
	b.WriteString("# Metrics of the auditor\n\n" + generated + metricsText + "\n## Metrics\n\n(deployment) stands " +
		"for the labels of a bundle deployment: " + ofDeployments + ".\n\n| metric | type | " +
		"labels | series | meaning |\n|---|---|---|---|---|\n")
	for _, f := range all {
		kind := "gauge"
		switch {
		case f.Histogram():
			kind = "histogram"
		case f.Type() == prometheus.CounterValue:
			kind = "counter"
		}
		labels := asCode(f.Labels)
		if own, found := strings.CutPrefix(labels, ofDeployments); found {
			labels = "(deployment)" + own
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, kind, labels, f.Bound, f.Help)
	}
	err := alerts(&b)
	return b.Bytes(), err
}

// alerts adds the alerts, and the records beside them.
func alerts(b *bytes.Buffer) error {
	raw, err := os.ReadFile("manifests/auditor/alerts.yaml")
	if err != nil {
		return err
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Record, For  string
				Labels, Annotations map[string]string
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := sigsyaml.Unmarshal(raw, &file); err != nil {
		return err
	}
	var records []string
	b.WriteString("\n" + alertsText + "\n| alert | severity | for | explanation |\n|---|---|---|---|\n")
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				records = append(records, r.Record)
				continue
			}
			page := strings.TrimPrefix(r.Annotations["runbook_url"], check.Pages)
			title := page
			if code, ok := strings.CutPrefix(page, "findings.md#"); ok {
				title = strings.ToUpper(code)
			}
			fmt.Fprintf(b, "| %s | %s | %s | [%s](%s) |\n", r.Alert, r.Labels["severity"], r.For, title, page)
		}
	}
	b.WriteString("\nThe same file records Fleet's numbers beside the actual ones: `" + strings.Join(records, "`, `") +
		"`.\n")
	return nil
}
