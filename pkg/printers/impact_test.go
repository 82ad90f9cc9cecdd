// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// TestGoldenImpact compares impact reports with their golden files.
func TestGoldenImpact(t *testing.T) {
	read := func(file string, names ...source.Named) *report.Impact {
		d, err := query.Impact(t.Context(), captured(t, "impacts/"+file+".yaml"), audit.Options{Version: "test"}, names)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	var p people
	database := read("database", source.Named{Kind: "helmop", Name: "db"})
	golden.Compare(t, "impact.json", p.addDocument(t, "a HelmOp", printers.Impact(database, printers.Options{})))
	add := func(title string, d *report.Impact) {
		p.Add(title, shown(t, "table", printers.Impact(d, printers.Options{})))
	}
	add("a GitRepo and a HelmOp", read("repository", source.Named{Kind: "gitrepo", Name: "shop"},
		source.Named{Kind: "helmop", Name: "chart"}))
	add("a Bundle and a Cluster", read("clusters", source.Named{Kind: "bundle", Name: "db"},
		source.Named{Kind: "cluster", Name: "one"}))
	add("a Cluster that is not read", read("clusters", source.Named{Kind: "cluster", Name: "two"}))
	add("objects that are kept", read("keep-resources", source.Named{Kind: "bd", Name: "renamed"},
		source.Named{Kind: "bd", Name: "late"}))
	p.Compare(t, "impact.txt")
}
