// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	blueprint "github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// column is one column of a table.
type column struct {
	header string
	short  string // the header if there is little room; "" for the same
	right  bool
	whole  bool // a text that is never shortened
	count  bool // a number of objects that are not ready
}

// table is a table with one line per row. Its first column has names.
type table struct {
	columns []column
	rows    [][]phrase
	titles  map[int]phrase // lines before the rows with these indexes
	width   int            // 0 means that the table is not fitted
	headed  bool
}

// newTable returns an empty table for the output.
func newTable(l *layout, columns []column) *table {
	t := &table{columns: columns, headed: !l.NoHeaders}
	if l.fits() {
		t.width = l.columns()
	}
	return t
}

// add adds a row.
func (t *table) add(cells ...phrase) { t.rows = append(t.rows, cells) }

// left is the width that the other columns leave for the names.
func (t *table) left() int {
	left := t.width
	for _, n := range t.spans()[1:] {
		left -= len(gap) + n
	}
	return left
}

// narrow reports whether the other columns leave too little width for the names: these are shortened last.
func (t *table) narrow() bool { return t.width > 0 && t.left() < t.names() }

// names is the width of the names, at most wholeName.
func (t *table) names() int { return min(max(t.spans()[0]+len(gap), minName), wholeName) }

// at is the index of the column with a header.
func (t *table) at(header string) int {
	return slices.IndexFunc(t.columns, func(c column) bool { return c.header == header })
}

// removeAt removes a column.
func (t *table) removeAt(index int) {
	t.columns = slices.Delete(slices.Clone(t.columns), index, index+1)
	for i := range t.rows {
		t.rows[i] = slices.Delete(t.rows[i], index, index+1)
	}
}

// empty reports whether a column has no value.
func (t *table) empty(index int) bool {
	return !slices.ContainsFunc(t.rows, func(row []phrase) bool {
		text := row[index].text()
		return text != none && text != ""
	})
}

// removeEmpty removes the column with a header if all of its cells are empty.
func (t *table) removeEmpty(header string) {
	index := t.at(header)
	if !slices.ContainsFunc(t.rows, func(row []phrase) bool { return row[index].text() != "" }) {
		t.removeAt(index)
	}
}

// cutNames shortens the names to the width that the other columns leave.
func (t *table) cutNames() {
	if t.width == 0 {
		return
	}
	left := t.left()
	for _, row := range t.rows {
		whole := row[0].text()
		name := strings.TrimLeft(whole, " │├└─") // the lines of a tree belong to the indent
		indent := whole[:len(whole)-len(name)]
		row[0] = join(indent + short(name, max(left, minName)-span(indent)))
	}
}

// fit makes the table as narrow as its width, as far as possible: it leaves out columns without a value, uses short
// headers, and shortens the widest texts.
func (t *table) fit() {
	if t.width == 0 || t.span() <= t.width {
		return
	}
	for i := len(t.columns) - 1; i > 0; i-- {
		if t.empty(i) {
			t.removeAt(i)
		}
	}
	if t.span() <= t.width {
		return
	}
	t.shortHeaders()
	spans := t.spans()
	for excess := t.span() - t.width; excess > 0; excess-- {
		widest := t.widest(spans)
		if widest < 0 {
			return
		}
		spans[widest]--
	}
	for _, row := range t.rows {
		for i, c := range t.columns {
			if !c.right && !c.whole {
				row[i] = row[i].shortened(spans[i])
			}
		}
	}
}

// widest is the index of the widest column that can be shortened; -1 if there is none.
func (t *table) widest(spans []int) int {
	widest := -1
	for i, c := range t.columns {
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
func (t *table) spans() []int {
	out := make([]int, len(t.columns))
	for i, c := range t.columns {
		out[i] = span(c.header)
		for _, row := range t.rows {
			out[i] = max(out[i], row[i].width())
		}
	}
	return out
}

// span is the width of the table.
func (t *table) span() int {
	out := -len(gap)
	for _, n := range t.spans() {
		out += n + len(gap)
	}
	return out
}

// shortHeaders replaces the headers by the short ones.
func (t *table) shortHeaders() {
	t.columns = slices.Clone(t.columns)
	for i, c := range t.columns {
		t.columns[i].header = cmp.Or(c.short, c.header)
	}
}

// lines are the header, if the table has one, and the rows in the layout of kubectl: no rules, two spaces between
// columns, none at the end.
func (t *table) lines(r renderer) []string {
	headers := report.Texts(t.columns, func(c column) string { return c.header })
	cells := make([][]string, len(t.rows))
	for i, row := range t.rows {
		cells[i] = report.Texts(row, r.phrase)
	}
	laid := t.layOut(headers, cells)
	var out []string
	if t.headed {
		out = append(out, laid[0])
	}
	for i, line := range laid[1:] {
		if title := t.titles[i]; title != nil {
			out = append(out, r.phrase(title))
		}
		out = append(out, line)
	}
	return out
}

// layOut returns the line of the headers and one line for each row of cells.
func (t *table) layOut(headers []string, cells [][]string) []string {
	var b strings.Builder
	var align []tw.Align
	for _, c := range t.columns {
		align = append(align, tw.AlignLeft)
		if c.right {
			align[len(align)-1] = tw.AlignRight
		}
	}
	config := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{PerColumn: align},
		Padding:    tw.CellPadding{Global: tw.Padding{Left: tw.Empty, Right: gap, Overwrite: true}},
	}
	writer := tablewriter.NewTable(&b,
		tablewriter.WithEastAsian(tw.Off), // as in span: the widths do not depend on LANG
		tablewriter.WithRenderer(blueprint.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.Off, ShowTop: tw.Off, ShowBottom: tw.Off},
			},
		})),
		tablewriter.WithConfig(tablewriter.Config{Header: config, Row: config}),
	)
	writer.Header(headers)
	err := errors.Join(writer.Bulk(cells), writer.Render())
	out := linesOf(b.String())
	if err != nil || len(out) != 1+len(cells) { // without columns, so that nothing is lost
		out = []string{strings.Join(headers, gap)}
		for _, row := range cells {
			out = append(out, strings.Join(row, gap))
		}
	}
	for i, line := range out {
		out[i] = strings.TrimRight(line, " ")
	}
	return out
}

// gap separates two columns.
const gap = "  "

// none is a cell without a number.
const none = "-"

// minName is the least width of names: that of their header. A name of up to wholeName is shortened last.
const minName, wholeName = len("BUNDLEDEPLOYMENT"), 40
