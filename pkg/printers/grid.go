// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// grid is a table with one line per row. Its first column has names.
type grid struct {
	columns []column
	rows    [][]string
	width   int // 0 means the default
}

// gap separates two columns.
const gap = "  "

// cutNames shortens the names to the width that the other columns leave.
func (g *grid) cutNames() {
	left := cmp.Or(g.width, width)
	for i, c := range g.columns[1:] {
		widest := span(c.header)
		for _, row := range g.rows {
			widest = max(widest, span(row[i+1]))
		}
		left -= len(gap) + widest
	}
	for _, row := range g.rows {
		name := strings.TrimLeft(row[0], " ")
		indent := row[0][:len(row[0])-len(name)]
		row[0] = indent + short(name, max(left, minName)-len(indent))
	}
}

// lines are the header and the rows in the layout of kubectl: no rules, two spaces between columns, none at the end.
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
	return out, nil
}
