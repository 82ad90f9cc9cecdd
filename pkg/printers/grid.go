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

// grid is a table of one line a row, whose first column is names.
type grid struct {
	header []string
	right  []bool
	rows   [][]string
}

// gap is what stands between two columns.
const gap = "  "

// cutNames cuts the names to what the other columns leave of the width.
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

// dropLast takes the last column away.
func (g *grid) dropLast() {
	last := len(g.header) - 1
	g.header, g.right = g.header[:last], g.right[:last]
	for i := range g.rows {
		g.rows[i] = g.rows[i][:last]
	}
}

// lines are the header and the rows as kubectl writes them: no rules, columns apart by two spaces, none behind the last.
func (g *grid) lines() ([]string, error) {
	var padded bytes.Buffer
	if err := g.render(&padded); err != nil {
		return nil, err
	}
	out := strings.Split(strings.TrimSuffix(padded.String(), "\n"), "\n")
	if len(out) != 1+len(g.rows) {
		return nil, fmt.Errorf("laying out a table of %d rows: it has %d lines", len(g.rows), len(out))
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
		tablewriter.WithEastAsian(tw.Off), // as span has it: the widths are the same whatever LANG says
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
