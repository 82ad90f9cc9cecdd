// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestProcessPrinted checks the message if the program is interrupted while it prints.
func TestProcessPrinted(t *testing.T) {
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

// TestFormerConfig checks the warning about a configuration file of the previous version.
func TestFormerConfig(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	path := filepath.Join(dir, "fleetdoctor", "config.yaml")
	for _, exists := range []bool{false, true} {
		if exists {
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		var out, errOut bytes.Buffer
		status := Process(t.Context(), os.Args[0], []string{"kubectl-fleetdoctor", "explain", "FD101"},
			genericiooptions.IOStreams{Out: &out, ErrOut: &errOut})
		if warned := strings.HasPrefix(errOut.String(), "warning: "+path+" is not read: "); status != 0 ||
			warned != exists || out.Len() == 0 {
			t.Errorf("file exists: %t: status %d: %s", exists, status, &errOut)
		}
	}
}

// TestProcess checks that Process without an interruption has the result of Main.
func TestProcess(t *testing.T) {
	var out, errOut bytes.Buffer
	status := Process(t.Context(), os.Args[0], []string{"kubectl-fleetdoctor", "audit", "--snapshot", sick},
		genericiooptions.IOStreams{Out: &out, ErrOut: &errOut})
	if want := run(t, "audit", "--snapshot", sick); status != want.status || out.String() != want.out ||
		errOut.String() != want.errOut {
		t.Errorf("status %d: %s%s", status, &out, &errOut)
	}
}
