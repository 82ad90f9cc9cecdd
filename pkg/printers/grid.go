// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// grid is a table with one line per row. Its first column has names.
type grid struct {
	header []string
	right  []bool
	rows   [][]string
}

// gap separates two columns.
const gap = "  "

// cutNames shortens the names to the width that the other columns leave.
func (g *grid) cutNames() {
	left := width
	for i, header := range g.header[1:] {
		widest := span(header)
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

// dropLast removes the last column.
func (g *grid) dropLast() {
	last := len(g.header) - 1
	g.header, g.right = g.header[:last], g.right[:last]
	for i := range g.rows {
		g.rows[i] = g.rows[i][:last]
	}
}

// lines are the header and the rows in the layout of kubectl: no rules, two spaces between columns, none at the end.
func (g *grid) lines() ([]string, error) {
	var padded bytes.Buffer
	if err := g.render(&padded); err != nil {
		return nil, err
	}
	out := strings.Split(strings.TrimSuffix(padded.String(), "\n"), "\n")
	if len(out) != 1+len(g.rows) {
		return nil, fmt.Errorf("laying out a table: %d rows became %d lines", len(g.rows), len(out))
	}
	for i, line := range out {
		out[i] = strings.TrimRight(line, " ")
	}
	return out, nil
}

func (g *grid) render(b *bytes.Buffer) error {
	align := make([]tw.Align, len(g.right))
	for i := range g.right {
		align[i] = tw.AlignLeft
		if g.right[i] {
			align[i] = tw.AlignRight
		}
	}
	cells := func(format tw.State) tw.CellConfig {
		return tw.CellConfig{
			Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: format},
			Alignment:  tw.CellAlignment{PerColumn: align},
			Padding:    tw.CellPadding{Global: tw.Padding{Left: tw.Empty, Right: gap, Overwrite: true}},
		}
	}
	out := tablewriter.NewTable(b,
		tablewriter.WithEastAsian(tw.Off), // as in span: the widths do not depend on LANG
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.Off, ShowTop: tw.Off, ShowBottom: tw.Off},
			},
		})),
		tablewriter.WithConfig(tablewriter.Config{Header: cells(tw.Off), Row: cells(tw.Off)}),
	)
	out.Header(g.header)
	if err := out.Bulk(g.rows); err != nil {
		return err
	}
	return out.Render()
}
