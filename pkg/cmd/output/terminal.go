// SPDX-License-Identifier: Apache-2.0

// Package output prints the results of verbs: the flag -o and its printers, colours, a progress line, and questions on
// a terminal.
package output

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// coloured reports whether to use colours: always, never, or auto, which means on a terminal without NO_COLOR.
func coloured(mode string, out io.Writer) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(out)
}

// descriptor is a file, or a stream with the descriptor of a file.
type descriptor interface{ Fd() uintptr }

// IsTerminal reports whether a stream, a reader or a writer, is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(descriptor)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Redraws reports whether a stream is a terminal on which the cursor can be moved.
func Redraws(out io.Writer) bool { return os.Getenv("TERM") != "dumb" && IsTerminal(out) }

// Width returns the number of columns of a stream; 0 if it is no terminal.
func Width(out io.Writer) int {
	if !IsTerminal(out) {
		return 0
	}
	return terminalWidth(out)
}

// terminalWidth is the number of columns of a terminal, 80 if the terminal does not report it.
func terminalWidth(w io.Writer) int {
	columns, _ := Size(w)
	return columns
}

// minRows is the number of lines that a terminal has at least: a document that scrolls is read on a smaller one.
const minRows = 24

// Rows returns the number of lines of a stream beside the line of the prompt; 0 if it is no terminal.
func Rows(out io.Writer) int {
	if !IsTerminal(out) {
		return 0
	}
	_, lines := Size(out)
	return max(lines, minRows) - 1
}

// Size returns the number of columns and of lines of a terminal, 80 and 24 if the terminal does not report them.
func Size(w io.Writer) (columns, lines int) {
	if f, ok := w.(descriptor); ok {
		if n, m, err := term.GetSize(int(f.Fd())); err == nil && n > 0 && m > 0 {
			return n, m
		}
	}
	return 80, 24
}

// Ask asks a question on the terminal. Only the answers y and yes return true. Its error is that of the context, which
// an interrupt ends.
func Ask(ctx context.Context, streams genericiooptions.IOStreams, question string) (bool, error) {
	fmt.Fprintf(streams.ErrOut, "%s [y/N] ", escape.Text(question))
	answers := make(chan string, 1)
	go func() { // a read cannot be interrupted: the goroutine ends with the program
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
