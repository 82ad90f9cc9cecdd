// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"io"
	"strings"
)

// width is the number of columns of the text, which every terminal has.
const width = 80

// wrap writes text after a head, and indents further lines by the width of the head.
func wrap(w io.Writer, head, text string) {
	line, empty := head, true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > width {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line, empty = strings.Repeat(" ", len(head)), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}
