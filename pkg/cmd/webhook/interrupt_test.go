// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/creack/pty"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// asked ends a context when the program asks a question.
type asked struct {
	bytes.Buffer
	end context.CancelFunc
}

// Write implements io.Writer.
func (a *asked) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "[y/N]") {
		a.end()
	}
	return a.Buffer.Write(p)
}

// TestStatusInterrupted checks that nothing is printed after an interruption during the dry runs.
func TestStatusInterrupted(t *testing.T) {
	f := onCluster(t)
	a := f.answering(t, "interrupted")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	a.answer(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		end()
		return restore(r)
	})
	var out, errOut bytes.Buffer
	args := []string{"kubectl-fleetdoctor", "webhook", "status", "--kubeconfig", f.kubeconfig}
	status := cmd.Main(ctx, args, cli.Environment{Version: release,
		Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}})
	if status != 3 || out.Len() > 0 || errOut.String() != "interrupted: nothing was printed\n" {
		t.Errorf("status %d: %s%s", status, &out, &errOut)
	}
}

// TestUninstallInterrupted checks the message after an interruption during the question.
func TestUninstallInterrupted(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "asked")
	keyboard, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := keyboard.Close(); err != nil {
			t.Error(err)
		}
		if err := terminal.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var out bytes.Buffer
	errOut := &asked{end: end}
	args := []string{"kubectl-fleetdoctor", "webhook", "uninstall", "--kubeconfig", f.kubeconfig}
	status := cmd.Main(ctx, args, cli.Environment{Version: release, Streams: genericiooptions.IOStreams{In: terminal,
		Out: &out, ErrOut: errOut}})
	if printed := errOut.String(); status != 3 || out.Len() > 0 ||
		!strings.HasSuffix(printed, "\ninterrupted: nothing was deleted\n") ||
		strings.Contains(printed, "nothing was printed") {
		t.Errorf("status %d: %s%s", status, &out, printed)
	}
	f.mutating(t) // the configuration still exists
}
