// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
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

// descriptor is a file, or what stands for one.
type descriptor interface{ Fd() uintptr }

// IsTerminal says whether a stream is a terminal; v is a reader or a writer.
func IsTerminal(v any) bool {
	f, ok := v.(descriptor)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns is how many columns a terminal has. One that does not say has as many as terminals always had.
func columns(w io.Writer) int {
	if f, ok := w.(descriptor); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// Ask asks on the terminal. Only a y is a yes. Its error is that of the context, which an interrupt ends.
func Ask(ctx context.Context, streams genericiooptions.IOStreams, question string) (bool, error) {
	fmt.Fprintf(streams.ErrOut, "%s [y/N] ", escape.Text(question))
	answers := make(chan string, 1)
	go func() { // it may wait for ever: the program ends without it
		line, _ := bufio.NewReader(streams.In).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(streams.ErrOut)
		return false, ctx.Err()
	case answer := <-answers:
		return answer == "y" || answer == "yes", nil
	}
}
