// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/impact/read"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// TestGoldenImpact compares the formats of impact reports with the golden files.
func TestGoldenImpact(t *testing.T) {
	read := func(file string, names ...source.Named) *report.Impact {
		d, err := read.Impact(t.Context(), captured(t, "impacts/"+file+".yaml"), audit.Options{Version: "test"}, names)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	table := func(d *report.Impact, format string) string {
		return shown(t, format, printers.Impact(d, printers.Options{}))
	}
	database := read("database", source.Named{Kind: "helmop", Name: "db"})
	for _, format := range formats {
		golden.Compare(t, "impact."+format, table(database, format))
	}
	golden.Compare(t, "impact-repository.table", table(read("repository", source.Named{Kind: "gitrepo", Name: "shop"},
		source.Named{Kind: "helmop", Name: "chart"}), "table"))
	golden.Compare(t, "impact-clusters.table", table(read("clusters", source.Named{Kind: "bundle", Name: "db"},
		source.Named{Kind: "cluster", Name: "one"}), "table"))
	golden.Compare(t, "impact-unknown.table", table(read("clusters", source.Named{Kind: "cluster", Name: "two"}),
		"table"))
	golden.Compare(t, "impact-kept.table", table(read("keep-resources", source.Named{Kind: "bd", Name: "renamed"},
		source.Named{Kind: "bd", Name: "late"}), "table"))
}
