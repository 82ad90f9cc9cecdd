// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestWidthOfTerminal checks that the table of an audit uses the width of the terminal: its headers are shorter on a
// narrow one.
func TestWidthOfTerminal(t *testing.T) {
	for _, columns := range []uint16{60, 80} {
		user, terminal, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
			t.Fatal(err)
		}
		read := make(chan string)
		go func() {
			var all bytes.Buffer
			_, _ = io.Copy(&all, user) // reading ends with an error when the terminal is closed
			read <- all.String()
		}()
		Main(t.Context(), []string{"kubectl-fleetdoctor", "audit", "--snapshot", sick, "--color", "never"},
			cli.Environment{Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: terminal,
				ErrOut: io.Discard}})
		if err := terminal.Close(); err != nil {
			t.Error(err)
		}
		header, ready := "", false
		for line := range strings.Lines(<-read) {
			if strings.HasPrefix(line, "BUNDLEDEPLOYMENT") {
				header = strings.TrimSpace(line)
			}
			ready = ready || strings.Contains(line, "READY")
		}
		long := strings.HasSuffix(header, "MODIFIED")
		if !ready || long != (columns == 80) || len(header) > int(columns) {
			t.Errorf("%d columns: the header has %d: %s", columns, len(header), header)
		}
		_ = user.Close() // nothing more is read
	}
}
