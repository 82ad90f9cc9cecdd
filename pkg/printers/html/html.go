// SPDX-License-Identifier: Apache-2.0

// Package html writes the report of an audit as one HTML file. The file needs no network: its style and its script are
// inside, and its content security policy permits nothing else.
package html

import (
	"fmt"
	"html/template"
	"io"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// functions are the functions of the layout.
var functions = template.FuncMap{
	"plural":   report.Plural,
	"add":      sum,
	"rows":     func(kind string, rows []digest.Aggregate) aggregates { return aggregates{Kind: kind, Rows: rows} },
	"level":    digest.LevelOf,
	"clusters": digest.Clusters,
	"tile":     func(s report.Severity, n int) tile { return tile{s, n} },
	"actual":   aggregateBar,
	"ready":    func(bd *report.BundleDeployment) bar { return actualBar(bd.Counts, bd.WithoutResult()) },
	"spread":   spreadBar,
	"reported": reportedBar,
	"unready":  unready,
}

func sum(numbers ...int) int {
	out := 0
	for _, n := range numbers {
		out += n
	}
	return out
}

// Write writes the report as an HTML document. The document needs JavaScript only for filters, the theme and copying.
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
