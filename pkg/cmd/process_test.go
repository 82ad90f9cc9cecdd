// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestProcessPrinted checks the message if the program is interrupted while it prints.
func TestProcessPrinted(t *testing.T) {
	t.Setenv("FLEETDOCTOR_CONFIG", "")
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe() // the test reads one byte
	defer func() { _ = reader.Close() }()
	go func() {
		_, _ = reader.Read(make([]byte, 1))
		cancel()
	}()
	var errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: writer, ErrOut: &errOut}
	if status := Process(ctx, os.Args[0], []string{"kubectl-fleetdoctor", "audit", "--snapshot", sick},
		streams); status != 3 {
		t.Errorf("status %d", status)
	}
	if want := partlyPrinted + "\n"; errOut.String() != want {
		t.Errorf("message %q, want %q", errOut.String(), want)
	}
}

// TestProcess checks that Process without an interruption has the result of Main.
func TestProcess(t *testing.T) {
	t.Setenv("FLEETDOCTOR_CONFIG", "")
	var out, errOut bytes.Buffer
	status := Process(t.Context(), os.Args[0], []string{"kubectl-fleetdoctor", "audit", "--snapshot", sick},
		genericiooptions.IOStreams{Out: &out, ErrOut: &errOut})
	if want := run(t, "audit", "--snapshot", sick); status != want.status || out.String() != want.out ||
		errOut.String() != want.errOut {
		t.Errorf("status %d: %s%s", status, &out, &errOut)
	}
}
