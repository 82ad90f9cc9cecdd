// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
)

// NewColour makes the flag --color.
func NewColour() *flags.Enum { return flags.NewEnum("auto", "auto", "always", "never") }

// Coloured decides about colours: asked for, or auto on a terminal that has them and no NO_COLOR.
func Coloured(colour *flags.Enum, out io.Writer) bool {
	switch colour.String() {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(out)
}

// IsTerminal says whether a stream is a terminal; v is a reader or a writer.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns is how many columns a terminal has. One that does not say has as many as terminals always had.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}
