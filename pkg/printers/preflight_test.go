// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// TestPreflightGolden compares preflight reports with their golden files.
func TestPreflightGolden(t *testing.T) {
	var out people
	for _, name := range []string{"install", "upgrade", "refused"} {
		found, err := audit.Run(t.Context(), captured(t, "preflights/"+name+".yaml"),
			audit.Options{Commands: cases.Commands, Version: "test", Desired: audit.DesiredBundle, Predict: true})
		if err != nil {
			t.Fatal(err)
		}
		rollouts, _ := preflight.Check(found.Input())
		audited := found.Report()
		head := report.Head{APIVersion: report.APIVersion, Kind: report.KindPreflight, TakenAt: audited.TakenAt,
			Tool: audited.Tool, Source: audited.Source}
		p := &report.Preflight{Head: head, BundleDeployments: rollouts, Gaps: audited.Gaps, Notes: audited.Notes}
		p = p.Redacted(found.Secrets)
		content := out.addDocument(t, name, printers.Preflight(p, printers.Options{}))
		if name == "upgrade" {
			out.Add("upgrade: wide, --diff, in colour", shown(t, "wide", printers.Preflight(p,
				printers.Options{Diff: true, Colour: true})))
			golden.Compare(t, "preflight.json", content)
		}
	}
	out.Compare(t, "preflight.txt")
}

// TestPausedRollout checks that the line of a rollout does not say that a bundle is installed which is paused.
func TestPausedRollout(t *testing.T) {
	p := &report.Preflight{BundleDeployments: []report.Rollout{{Name: "web", Release: "web/web", Paused: true,
		Action: report.RolloutInstall, Verdict: report.VerdictOK, Counts: report.RolloutCounts{Desired: 1, Create: 1}}}}
	got := shown(t, "table", printers.Preflight(p, printers.Options{}))
	const want = "Is paused, and deploys nothing; once it is resumed, it installs release web/web; objects: 1 to create"
	if text := strings.Join(strings.Fields(got), " "); !strings.Contains(text, want) {
		t.Errorf("%q is not in:\n%s", want, got)
	}
}
