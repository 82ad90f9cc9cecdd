// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"io"
	"strings"

	"github.com/mitchellh/go-wordwrap"
)

// width is the number of columns of the text if the output is no terminal. On a terminal, the text has its width,
// within limits that can be read well.
const width, minWidth, maxWidth = 80, 60, 120

// Paragraphs writes wrapped text.
type Paragraphs struct {
	io.Writer
	columns int
}

// Paragraphs returns a writer of text with the width of the terminal.
func (o *Connection) Paragraphs(w io.Writer) Paragraphs {
	if o.columns == 0 {
		return Paragraphs{w, width}
	}
	return Paragraphs{w, min(max(o.columns, minWidth), maxWidth)}
}

// Wrap writes text after a head, and indents further lines by the width of the head.
func (w Paragraphs) Wrap(head, text string) {
	lines := wordwrap.WrapString(strings.Join(strings.Fields(text), " "), uint(max(1, w.columns-len(head))))
	fmt.Fprintln(w, strings.TrimRight(head+strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", len(head))), " "))
}
