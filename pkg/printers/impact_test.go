// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// TestGoldenImpact compares the formats of impact reports with the golden files.
func TestGoldenImpact(t *testing.T) {
	read := func(file string, names ...audit.Named) *report.Impact {
		d, err := audit.Impact(t.Context(), captured(t, "impacts/"+file+".yaml"), audit.Options{Version: "test"}, names)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	table := func(d *report.Impact, format string) string {
		return shown(t, format, printers.Impact(d, printers.Options{}))
	}
	database := read("database", audit.Named{Kind: "helmop", Name: "db"})
	for _, format := range formats {
		golden.Compare(t, "impact."+format, table(database, format))
	}
	golden.Compare(t, "impact-repository.table", table(read("repository", audit.Named{Kind: "gitrepo", Name: "shop"},
		audit.Named{Kind: "helmop", Name: "chart"}), "table"))
	golden.Compare(t, "impact-clusters.table", table(read("clusters", audit.Named{Kind: "bundle", Name: "db"},
		audit.Named{Kind: "cluster", Name: "one"}), "table"))
	golden.Compare(t, "impact-unknown.table", table(read("clusters", audit.Named{Kind: "cluster", Name: "two"}),
		"table"))
	golden.Compare(t, "impact-kept.table", table(read("keep-resources", audit.Named{Kind: "bd", Name: "renamed"},
		audit.Named{Kind: "bd", Name: "late"}), "table"))
}
