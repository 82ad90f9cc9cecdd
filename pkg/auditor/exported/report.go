// SPDX-License-Identifier: Apache-2.0

// Package exported makes the report of an audit from the metrics that the auditors of many clusters export.
package exported

import (
	"errors"
	"time"

	"github.com/prometheus/common/model"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Answers are what a server answered to the queries.
type Answers struct {
	// Server is its address without credentials, At the time of the answers.
	Server string
	At     time.Time
	// Version is that of this program.
	Version string
	Series  model.Vector
	// Warnings say why answers are not complete.
	Warnings []string
}

// ErrNoAuditor is returned if no auditor exports a metric.
var ErrNoAuditor = errors.New("no auditor exports metrics there: the server has no series of " + prefix + synced)

// Report makes the report, with a finding for each cluster. What no auditor exports, or only one whose state is not the
// present one, is Unknown and a gap. It returns ErrNoAuditor, or an error for series that are not those of an auditor.
func Report(a Answers) (*report.Audit, error) {
	targets, err := targetsOf(a.Series)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		return nil, ErrNoAuditor
	}
	f := &fleet{now: a.At, server: a.Server, targets: targets, used: map[*target]map[string]bool{},
		counts: map[*target]bool{},
		known:  map[deploymentKey]*known{}, unread: map[string][]deploymentKey{}, found: map[foundKey]bool{},
		out: &report.Audit{APIVersion: report.APIVersion, Kind: report.Kind, Tool: report.Tool{Version: a.Version},
			TakenAt: report.Time(a.At), Source: report.Source{Kind: SourceKind, Server: a.Server},
			BundleDeployments: []report.BundleDeployment{}, Findings: []report.Finding{}}}
	f.addDeployments()
	f.addFindings()
	f.addAggregates()
	f.addClusters()
	f.addNotes()
	f.addGaps(a.Warnings)
	f.out.Assemble()
	return f.out, nil
}
