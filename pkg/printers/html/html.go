// SPDX-License-Identifier: Apache-2.0

// Package html writes the report of an audit as one HTML file. The file needs no network: its style and its script are
// inside, and its content security policy permits nothing else.
package html

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// functions are the functions of the layout.
var functions = template.FuncMap{
	"plural":   report.Plural,
	"add":      func(x, y int) int { return x + y },
	"rows":     func(kind string, rows []digest.Aggregate) aggregates { return aggregates{Kind: kind, Rows: rows} },
	"level":    digest.LevelOf,
	"clusters": digest.Clusters,
	"remedies": remedies,
	"actual":   aggregateBar,
	"ready":    func(bd *report.BundleDeployment) bar { return actualBar(bd.Counts, bd.WithoutResult()) },
	"reported": reportedBar,
	"unready": func(bd *report.BundleDeployment) []report.Resource {
		return slices.DeleteFunc(slices.Clone(bd.Resources), func(r report.Resource) bool {
			return r.State == report.Ready
		})
	},
}

// Write writes the report as an HTML document. Without JavaScript, the document shows everything.
func Write(w io.Writer, a *report.Audit) error {
	t, err := template.New("report").Funcs(functions).Parse(layout)
	if err != nil {
		return fmt.Errorf("parsing the layout of the HTML report: %w", err)
	}
	// Names and messages can contain characters that change the direction of the text. The writer replaces them.
	if err := t.Execute(escape.TextWriter(w), newPage(a)); err != nil {
		return fmt.Errorf("writing the report as HTML: %w", err)
	}
	return nil
}
