// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"unicode/utf8"

	"github.com/mitchellh/go-wordwrap"
)

const (
	// helpWidth is the width of help if the output is no terminal.
	helpWidth = 100
	// minHelp is the least width for which help is laid out, maxProse the greatest one of sentences. Lines of flags use
	// the whole terminal.
	minHelp, maxProse = 40, 120
)

// refill wraps text. It fills paragraphs, and lists whose items are indented by up to three spaces. It does not change
// code, which is indented more.
func refill(text string, width int) string {
	var out strings.Builder
	open := block{}
	end := func() {
		out.WriteString(open.wrapped(width))
		open = block{}
	}
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.TrimLeft(line, " ")
		indent := len(line) - len(words)
		continues := words != "" && indent == open.hanging
		switch {
		case open.text != "" && continues:
			open.text += " " + words
			continue
		case words == "", indent > 3, strings.HasPrefix(words, "\t"), strings.HasPrefix(words, "#"):
			end()
			out.WriteString(line + "\n")
		default:
			end()
			open = newBlock(line, indent)
		}
	}
	end()
	return strings.TrimSuffix(out.String(), "\n")
}

// block is a paragraph or an item of a list. Its lines but the first are indented by hanging.
type block struct {
	head, text string
	hanging    int
}

// newBlock begins a block with its first line. An item that has a term and its description, separated by two spaces,
// continues below the description.
func newBlock(line string, indent int) block {
	head := line[:indent]
	if indent == 0 {
		return block{text: line}
	}
	if term, description, ok := strings.Cut(line[indent:], "  "); ok {
		text := strings.TrimLeft(description, " ")
		head += term + "  " + description[:len(description)-len(text)]
		return block{head, text, utf8.RuneCountInString(head)}
	}
	return block{head, line[indent:], indent + 4}
}

// wrapped returns the lines of a block.
func (b block) wrapped(width int) string {
	if b.text == "" {
		return ""
	}
	lines := wordwrap.WrapString(strings.Join(strings.Fields(b.text), " "), uint(max(width-b.hanging, minHelp/2)))
	return b.head + strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", b.hanging)) + "\n"
}
