// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/comparison"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// maxDiffering is the number of differing results that a note names.
const maxDiffering = 10

// audit runs the audit. With --as-version, it also returns the audit of the versions that run if the source is a
// snapshot. A live cluster changes between two audits, so that its results may differ for other reasons.
func (o *options) audit(ctx context.Context, in *input.Reading) (found, actual *engine.Audit, err error) {
	if o.auditOptions.AsVersion != "" && in.Cluster == nil {
		running := o.auditOptions
		running.AsVersion = ""
		if actual, err = engine.Run(ctx, in.Source, running); err != nil {
			return nil, nil, err
		}
	}
	found, err = engine.Run(ctx, in.Source, o.auditOptions)
	return found, actual, err
}

// differing is the note with the results that differ from those of the versions that run.
func differing(running, as *report.Audit) string {
	c := comparison.Compare(running, as, "")
	var names []string
	for _, f := range c.Findings {
		how := map[bool]string{true: "only then", false: "not then"}[f.Before == ""]
		if f.Before != "" && f.After != "" {
			how = "another severity"
		}
		names = append(names, fmt.Sprintf("%s %s (%s)", f.Code, f.Object.Key(), how))
	}
	for _, r := range c.Resources {
		names = append(names, r.Key().String())
	}
	for _, bd := range c.BundleDeployments {
		names = append(names, "bundle deployment "+bd.Namespace+"/"+bd.Name)
	}
	if len(names) == 0 {
		return "no result differs from those of the version that runs"
	}
	rest := ""
	if n := len(names) - maxDiffering; n > 0 {
		rest = fmt.Sprintf(" and %d more: compare --%s lists them", n, flags.AsVersionFlag)
	}
	return fmt.Sprintf("results that differ from those of the version that runs: %d: %s%s", len(names),
		strings.Join(names[:min(len(names), maxDiffering)], ", "), rest)
}

// noteDiffering adds the note to a report. actual is nil if there is no audit to compare with.
func (o *options) noteDiffering(a *report.Audit, actual *engine.Audit) *report.Audit {
	if o.auditOptions.AsVersion == "" {
		return a
	}
	out := *a
	note := "a snapshot shows which results differ: a live cluster changes between two audits"
	if actual != nil {
		note = differing(actual.Unmerged(), a)
	}
	out.Notes = slices.Concat(a.Notes, []string{note})
	return &out
}
