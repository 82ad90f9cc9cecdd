// SPDX-License-Identifier: Apache-2.0

package printers

// The codes of colours and fonts (ECMA-48, select graphic rendition).
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (t text) colour(code, s string) string {
	if !t.Colour || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t text) bold(s string) string  { return t.colour(bold, s) }
func (t text) faint(s string) string { return t.colour(faint, s) }
