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

// wrap writes text after a head, with the width of the terminal, and indents further lines by the width of the head.
func (o *options) wrap(w io.Writer, head, text string) {
	columns := width
	if o.columns > 0 {
		columns = min(max(o.columns, minWidth), maxWidth)
	}
	lines := wordwrap.WrapString(strings.Join(strings.Fields(text), " "), uint(max(1, columns-len(head))))
	fmt.Fprintln(w, strings.TrimRight(head+strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", len(head))), " "))
}
