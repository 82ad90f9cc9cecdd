// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cmd

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

// TestPager checks which output of the verbs goes through a pager on a terminal, and that the exit status stays.
func TestPager(t *testing.T) {
	t.Setenv("PAGER", "echo PAGED")
	t.Setenv("TERM", "xterm")
	for _, tc := range []struct {
		args   []string
		paged  bool
		status int
	}{
		{[]string{"audit", "--snapshot", sick}, true, 1},
		{[]string{"audit", "--snapshot", sick, "-o", "wide"}, true, 1},
		{[]string{"tree", "--snapshot", sick}, true, 1},
		{[]string{"explain", "FD101", "FD102", "FD104"}, true, 0},
		{[]string{"audit", "--snapshot", sick, "--no-pager"}, false, 1},
		{[]string{"explain", "FD101", "FD102", "FD104", "--no-pager"}, false, 0},
		{[]string{"audit", "--snapshot", clean}, false, 0}, // it fits
		{[]string{"audit", "--snapshot", sick, "-o", "json"}, false, 1},
		{[]string{"audit", "--snapshot", sick, "-o", "sarif"}, false, 1},
		{[]string{"audit", "--snapshot", sick, "-q"}, false, 1},
		{[]string{"adopt", "--snapshot", sick}, false, 1}, // it asks a question
	} {
		user, terminal, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := pty.Setsize(terminal, &pty.Winsize{Rows: 12, Cols: 80}); err != nil {
			t.Fatal(err)
		}
		read := make(chan string)
		go func() {
			var all bytes.Buffer
			_, _ = io.Copy(&all, user) // reading ends with an error when the terminal is closed
			read <- all.String()
		}()
		status := Main(t.Context(), append([]string{"kubectl-fleetdoctor"}, tc.args...), verb.Environment{
			Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: terminal, ErrOut: io.Discard}})
		if err := terminal.Close(); err != nil {
			t.Error(err)
		}
		shown := <-read
		if paged := shown == "PAGED\r\n"; paged != tc.paged || status != tc.status {
			t.Errorf("%s: paged %t, status %d: %s", strings.Join(tc.args, " "), paged, status, shown)
		}
		_ = user.Close() // nothing more is read
	}
}
