// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"bytes"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestPreflightGolden holds every format of what rollouts would meet, byte for byte.
func TestPreflightGolden(t *testing.T) {
	for _, name := range []string{"install", "upgrade", "refused"} {
		found, err := audit.Run(t.Context(), captured(t, "preflights/"+name+".yaml"),
			audit.Options{Commands: check.CommandsOf("kubectl fleetdoctor"), Version: "test", Desired: audit.DesiredBundle, Predict: true})
		if err != nil {
			t.Fatal(err)
		}
		rollouts, _ := preflight.Check(found.Input())
		shown := found.Report()
		p := &report.Preflight{TakenAt: shown.TakenAt, Tool: shown.Tool, Source: shown.Source, BundleDeployments: rollouts, Gaps: shown.Gaps, Notes: shown.Notes}
		p = p.Closed(found.Secrets)
		shownAs := func(format string, o printers.Options) string {
			show, err := printers.NewPreflight(format, o)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := show(&b, p); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		golden(t, "preflight-"+name+".text", shownAs("text", printers.Options{}))
		if name == "upgrade" {
			golden(t, "preflight-upgrade.diff", shownAs("wide", printers.Options{Diff: true, Colour: true}))
			golden(t, "preflight-upgrade.json", shownAs("json", printers.Options{}))
			golden(t, "preflight-upgrade.yaml", shownAs("yaml", printers.Options{}))
		}
	}
	if _, err := printers.NewPreflight("name", printers.Options{}); err == nil {
		t.Error("a format that there is not is taken")
	}
}
