// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// The sizes of the picture, in pixels.
const (
	lineHeight  = 18
	columnWidth = 8
	margin      = 16
)

// style has the colours of the picture, for light and dark pages. The names of the classes are codes of ECMA-48.
const style = `
text {
  font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  fill: #1f2328; white-space: pre
}
rect { fill: #f6f8fa; stroke: #d1d9e0 }
.c1 { font-weight: bold } .c2 { fill: #59636e }
.c31 { fill: #c01525 } .c32 { fill: #116329 } .c33 { fill: #8a5300 } .c36 { fill: #0a5a75 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } rect { fill: #0d1117; stroke: #3d444d }
  .c2 { fill: #9198a1 } .c31 { fill: #ff7b72 } .c32 { fill: #7ee787 } .c33 { fill: #e3b341 } .c36 { fill: #76e3ea }
}
`

// coloured matches text between a colour and the end of the colour.
var coloured = regexp.MustCompile("\x1b\\[([0-9]+)m(.*?)\x1b\\[0m")

// picture is an audit of the sick sample, as an image of a terminal.
func picture() ([]byte, error) { return pictureOf(root) }

func pictureOf(root string) ([]byte, error) {
	const sample = "test/testdata/sick"
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	args := []string{"kubectl-fleetdoctor", "audit", "--color=always", "--snapshot", filepath.Join(root, sample)}
	if status := cmd.Main(context.Background(), args, cli.Environment{Streams: streams}); status != cli.ExitFound {
		return nil, fmt.Errorf("%v: status %d: %s", args, status, errOut)
	}
	text := "$ kubectl fleetdoctor audit --snapshot " + sample + "\n" + out.String()
	text = strings.ReplaceAll(text, filepath.Join(root, sample), sample)
	return terminal(strings.Split(strings.TrimSpace(text), "\n")), nil
}

// terminal draws lines with colours as an SVG.
func terminal(lines []string) []byte {
	columns := 0
	for _, l := range lines {
		columns = max(columns, utf8.RuneCountInString(coloured.ReplaceAllString(l, "$2")))
	}
	width, height := columns*columnWidth+2*margin, len(lines)*lineHeight+2*margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" `+
		`viewBox="0 0 %[1]d %[2]d" role="img">`+"\n", width, height)
	fmt.Fprintf(&b, "<title>The output of kubectl fleetdoctor audit</title>\n<style>%s</style>\n", style)
	fmt.Fprintf(&b, `<rect x="0.5" y="0.5" width="%d" height="%d" rx="6"/>`+"\n", width-1, height-1)
	for i, l := range lines {
		if l == "" {
			continue
		}
		// The length of the line is fixed, so that columns are aligned in every font.
		length := utf8.RuneCountInString(coloured.ReplaceAllString(l, "$2")) * columnWidth
		text := coloured.ReplaceAllString(html.EscapeString(l), `<tspan class="c$1">$2</tspan>`)
		fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%d" xml:space="preserve">%s</text>`+"\n", margin,
			margin+lineHeight*(i+1)-5, length, text)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
