// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pager

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

// rows and columns are the size of the terminals of the tests.
const rows, columns = 24, 80

// onTerminal runs write with a terminal, and returns what the terminal shows.
func onTerminal(t *testing.T, write func(terminal *os.File)) string {
	t.Helper()
	user, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	go func() {
		var all bytes.Buffer
		_, _ = io.Copy(&all, user) // reading ends with an error when the terminal is closed
		shown <- all.String()
	}()
	write(terminal)
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
	defer func() { _ = user.Close() }() // nothing more is read
	return strings.ReplaceAll(<-shown, "\r\n", "\n")
}

// environment is one whose standard output is a terminal.
func environment(terminal *os.File) verb.Environment {
	return verb.Environment{Streams: genericiooptions.IOStreams{Out: terminal, ErrOut: io.Discard}}
}

// TestOf checks what goes through a pager, and what a terminal shows.
func TestOf(t *testing.T) {
	long, fits := strings.Repeat("line\n", rows), strings.Repeat("line\n", rows-1)
	for name, tc := range map[string]struct {
		pager, less, term string
		text, want        string
	}{
		"long": {pager: "sed s/line/paged/ | head -n 1", text: long, want: "paged\n"},
		"lines that the terminal wraps": {pager: "echo paged",
			text: strings.Repeat(strings.Repeat("x", columns+1)+"\n", rows/2), want: "paged\n"},
		"all rows but that of the prompt": {pager: "echo paged", text: fits, want: fits},
		"empty":                           {pager: "echo paged"},
		"no pager":                        {pager: "", text: long, want: long},
		"cat":                             {pager: "cat", text: long, want: long},
		"not found":                       {pager: "no-such-pager", text: long, want: long},
		"no program":                      {pager: "/dev/null", text: long, want: long},
		"a pager that fails":              {pager: "echo paged; exit 1", text: long, want: "paged\n"},
		"a pager that reads nothing":      {pager: "echo paged", text: strings.Repeat(long, 1000), want: "paged\n"},
		"the options of less":             {pager: "echo $LESS", text: long, want: "FRX\n"},
		"the user's options of less":      {pager: "echo $LESS", less: "-S", text: long, want: "-S\n"},
		"a terminal without a cursor":     {pager: "echo paged", term: "dumb", text: long, want: long},
	} {
		t.Setenv("PAGER", tc.pager)
		t.Setenv("TERM", tc.term)
		t.Setenv("LESS", tc.less)
		if tc.less == "" {
			if err := os.Unsetenv("LESS"); err != nil {
				t.Fatal(err)
			}
		}
		got := onTerminal(t, func(terminal *os.File) {
			n, err := Of(t.Context(), environment(terminal)).Write([]byte(tc.text))
			if n != len(tc.text) || err != nil {
				t.Errorf("%s: wrote %d of %d bytes: %v", name, n, len(tc.text), err)
			}
		})
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestLess checks that less is the default, and that without it the output goes to the terminal.
func TestLess(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "less"), []byte("#!/bin/sh\necho this is less\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAGER", "")
	if err := os.Unsetenv("PAGER"); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("line\n", rows)
	path := os.Getenv("PATH")
	for value, want := range map[string]string{dir + ":" + path: "this is less\n", t.TempDir(): long} {
		t.Setenv("PATH", value)
		got := onTerminal(t, func(terminal *os.File) {
			if _, err := Of(t.Context(), environment(terminal)).Write([]byte(long)); err != nil {
				t.Error(err)
			}
		})
		if got != want {
			t.Errorf("PATH=%s: %q, want %q", value, got, want)
		}
	}
}

// TestNoTerminal checks that output to a file is not changed.
func TestNoTerminal(t *testing.T) {
	t.Setenv("PAGER", "echo paged")
	var out bytes.Buffer
	env := verb.Environment{Streams: genericiooptions.IOStreams{Out: &out}}
	if Of(t.Context(), env) != io.Writer(&out) {
		t.Error("the stream is not standard output")
	}
}

// TestInterrupted checks that the program waits for the pager after an interruption, and then has the exit status of
// an interrupted one.
func TestInterrupted(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAGER", "read -r line < "+fifo+"; echo ended $line")
	got := onTerminal(t, func(terminal *os.File) {
		ctx, interrupt := context.WithCancel(t.Context())
		env := environment(terminal)
		env.Interruption = &verb.Interruption{}
		written := make(chan error)
		go func() {
			_, err := Of(ctx, env).Write([]byte(strings.Repeat("line\n", rows)))
			written <- err
		}()
		keyboard, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits until the pager reads
		if err != nil {
			t.Fatal(err)
		}
		interrupt()
		released := env.Interruption.Expire()
		if released == nil {
			t.Error("the process would end before the pager")
		}
		if _, err := keyboard.WriteString("by the user\n"); err != nil {
			t.Error(err)
		}
		if err := <-written; exit.Status(err) != exit.Failed {
			t.Errorf("error %v", err)
		}
		<-released
		if err := keyboard.Close(); err != nil {
			t.Error(err)
		}
	})
	if want := "ended by the user\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
