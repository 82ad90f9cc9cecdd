// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// column is one column of a table. cell is its content in the table of bundle deployments.
type column struct {
	header string
	short  string // the header if there is little room; "" for the same
	right  bool
	whole  bool // a text that is never shortened
	wide   bool // only in the wide table
	count  bool // a number of objects that are not ready
	cell   func(t text, bd *report.BundleDeployment) string
}

// grid is a table with one line per row. Its first column has names.
type grid struct {
	columns []column
	rows    [][]string
	width   int // 0 means that the table is not fitted
	headed  bool
}

// grid returns an empty table for the output.
func (t text) grid(columns []column) grid {
	g := grid{columns: columns, headed: !t.NoHeaders}
	if t.fits() {
		g.width = t.columns()
	}
	return g
}

// left is the width that the other columns leave for the names.
func (g *grid) left() int {
	left := g.width
	for _, n := range g.spans()[1:] {
		left -= len(gap) + n
	}
	return left
}

// narrow reports whether the other columns leave too little width for the names: these are shortened last.
func (g *grid) narrow() bool { return g.width > 0 && g.left() < g.names() }

// names is the width of the names, at most wholeName.
func (g *grid) names() int { return min(max(g.spans()[0]+len(gap), minName), wholeName) }

// orWords returns a narrow table with few of its columns, and one of words instead of the others, if that leaves more
// width for the names.
func (g *grid) orWords(few grid, header string, words []string) grid {
	left, widest := few.left()-len(gap), span(header)
	for _, s := range words {
		widest = max(widest, span(s))
	}
	if g.left() >= max(minName, left-widest) {
		return *g
	}
	few.columns = append(few.columns, column{header: header})
	for i := range few.rows {
		few.rows[i] = append(few.rows[i], begin(words[i], left-minName))
	}
	return few
}

// at is the index of the column with a header.
func (g *grid) at(header string) int {
	return slices.IndexFunc(g.columns, func(c column) bool { return c.header == header })
}

// removeAt removes a column.
func (g *grid) removeAt(at int) {
	g.columns = slices.Delete(slices.Clone(g.columns), at, at+1)
	for i := range g.rows {
		g.rows[i] = slices.Delete(g.rows[i], at, at+1)
	}
}

// empty reports whether a column has no value.
func (g *grid) empty(at int) bool {
	return !slices.ContainsFunc(g.rows, func(row []string) bool { return row[at] != none && row[at] != "" })
}

// removeEmpty removes the column with a header if all of its cells are empty.
func (g *grid) removeEmpty(header string) {
	at := g.at(header)
	if !slices.ContainsFunc(g.rows, func(row []string) bool { return row[at] != "" }) {
		g.removeAt(at)
	}
}

// cutNames shortens the names to the width that the other columns leave.
func (g *grid) cutNames() {
	if g.width == 0 {
		return
	}
	left := g.left()
	for _, row := range g.rows {
		name := strings.TrimLeft(row[0], " │├└─") // the lines of a tree belong to the indent
		indent := row[0][:len(row[0])-len(name)]
		row[0] = indent + short(name, max(left, minName)-span(indent))
	}
}

// fit makes the table as narrow as its width, as far as possible: it leaves out columns without a value, uses short
// headers, and shortens the widest texts.
func (g *grid) fit() {
	if g.width == 0 || g.span() <= g.width {
		return
	}
	for i := len(g.columns) - 1; i > 0; i-- {
		if g.empty(i) {
			g.removeAt(i)
		}
	}
	if g.span() <= g.width {
		return
	}
	g.columns = shortHeaders(g.columns)
	spans := g.spans()
	for excess := g.span() - g.width; excess > 0; excess-- {
		widest := g.widest(spans)
		if widest < 0 {
			return
		}
		spans[widest]--
	}
	for _, row := range g.rows {
		for i, c := range g.columns {
			if !c.right && !c.whole {
				row[i] = short(row[i], spans[i])
			}
		}
	}
}

// widest is the index of the widest column that can be shortened; -1 if there is none.
func (g *grid) widest(spans []int) int {
	widest := -1
	for i, c := range g.columns {
		if c.right || c.whole || spans[i] <= max(minText, span(c.header)) {
			continue
		}
		if widest < 0 || spans[i] > spans[widest] {
			widest = i
		}
	}
	return widest
}

// minText is the width to which a text in a table is shortened at most.
const minText = 10

// spans are the widths of the columns.
func (g *grid) spans() []int {
	out := make([]int, len(g.columns))
	for i, c := range g.columns {
		out[i] = span(c.header)
		for _, row := range g.rows {
			out[i] = max(out[i], span(row[i]))
		}
	}
	return out
}

// span is the width of the table.
func (g *grid) span() int {
	out := -len(gap)
	for _, n := range g.spans() {
		out += n + len(gap)
	}
	return out
}

// lines are the header, if the table has one, and the rows in the layout of kubectl: no rules, two spaces between
// columns, none at the end.
func (g *grid) lines() ([]string, error) {
	var b strings.Builder
	var header []string
	var align []tw.Align
	for _, c := range g.columns {
		header, align = append(header, c.header), append(align, tw.AlignLeft)
		if c.right {
			align[len(align)-1] = tw.AlignRight
		}
	}
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{PerColumn: align},
		Padding:    tw.CellPadding{Global: tw.Padding{Left: tw.Empty, Right: gap, Overwrite: true}},
	}
	table := tablewriter.NewTable(&b,
		tablewriter.WithEastAsian(tw.Off), // as in span: the widths do not depend on LANG
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.Off, ShowTop: tw.Off, ShowBottom: tw.Off},
			},
		})),
		tablewriter.WithConfig(tablewriter.Config{Header: cells, Row: cells}),
	)
	table.Header(header)
	if err := errors.Join(table.Bulk(g.rows), table.Render()); err != nil {
		return nil, err
	}
	out := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(out) != 1+len(g.rows) {
		return nil, fmt.Errorf("laying out a table: %d rows became %d lines", len(g.rows), len(out))
	}
	for i, line := range out {
		out[i] = strings.TrimRight(line, " ")
	}
	if !g.headed {
		out = out[1:]
	}
	return out, nil
}

// none is a cell without a number.
const none = "-"

// minName is the least width of names: that of their header. A name of up to wholeName is shortened last.
const minName, wholeName = len("BUNDLEDEPLOYMENT"), 40

// shortHeaders returns columns with their short headers.
func shortHeaders(list []column) []column {
	out := slices.Clone(list)
	for i, c := range out {
		out[i].header = cmp.Or(c.short, c.header)
	}
	return out
}

// rows returns the lines of a table. If it could not be laid out, they are empty and the document has the error.
func (t text) rows(g grid) []string {
	lines, err := g.lines()
	if err != nil {
		*t.failed = errors.Join(*t.failed, err)
		return make([]string, 1+len(g.rows))
	}
	return lines
}

// table writes a table and an empty line.
func (t text) table(g grid) { t.line(strings.Join(t.rows(g), "\n") + "\n") }

// begin shortens a list of words to n columns. It keeps the beginning.
func begin(s string, n int) string {
	if span(s) <= n {
		return s
	}
	for i := strings.LastIndex(s, ", "); i >= 0; i = strings.LastIndex(s[:i], ", ") {
		if span(s[:i])+len(", …") <= n {
			return s[:i] + ", …"
		}
	}
	return "…"
}
