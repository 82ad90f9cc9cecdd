// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// build is the program as it is shipped, or with the race detector where the tests have it, built by the first test that runs it, into a folder that outlives the test.
type build struct {
	once sync.Once
	dir  string
	err  error
}

var built build

// path returns the program's.
func (b *build) path(t *testing.T) string {
	t.Helper()
	b.once.Do(func() {
		// Not bound to this test, which is not the last to run it.
		build := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", fmt.Sprintf("-race=%t", raced), "-o", b.program(),
			"github.com/fleetdoctor/kubectl-fleetdoctor/cmd/kubectl-fleetdoctor")
		if out, err := build.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if b.err != nil {
		t.Fatalf("building the program: %v", b.err)
	}
	return b.program()
}

func (b *build) program() string { return filepath.Join(b.dir, "kubectl-fleetdoctor") }

// TestProgram runs the program as it is shipped, for what only a process has: a status to end with, and signals.
func TestProgram(t *testing.T) {
	program := built.path(t)
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	t.Run("status", func(t *testing.T) { testStatus(t, f, program) })
	t.Run("interrupted", func(t *testing.T) { testCtrlC(t, f, program) })
	t.Run("interrupted again", func(t *testing.T) { testCtrlCAgain(t, program) })
}

func testStatus(t *testing.T, f *fleetServer, program string) {
	t.Helper()
	for want, args := range [][]string{
		{},
		{"--diff"}, // by then something is missing
		{"nonsense"},
		{"--context", "nope"},
	} {
		if want == 1 {
			f.remove(configMap("settings"))
		}
		out, err := exec.CommandContext(t.Context(), program, append([]string{"audit", "--kubeconfig", f.kubeconfig}, args...)...).Output()
		if got := statusOf(t, err); got != want {
			t.Errorf("audit %s: status %d, want %d", strings.Join(args, " "), got, want)
		}
		if printed := strings.Contains(string(out), "guestbook"); printed != (want < 2) {
			t.Errorf("status %d: stdout: %s", want, out)
		}
	}
}

// statusOf is the status that a program ended with.
func statusOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		t.Fatalf("running the program: %v", err)
	}
	return exit.ExitCode()
}

// waitFor waits for a program that was started, and returns its exit status. The deadline is an emergency stop.
func waitFor(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	late := time.AfterFunc(poll.Deadline, func() {
		t.Errorf("%s does not end", cmd)
		_ = cmd.Process.Kill() // Wait returns then
	})
	defer late.Stop()
	return statusOf(t, cmd.Wait())
}

func testCtrlC(t *testing.T, f *fleetServer, program string) {
	t.Helper()
	p := f.proxy()
	reading, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	var once sync.Once
	p.intercept(func(r *http.Request) {
		if r.URL.Path == "/api/v1/secrets" {
			once.Do(func() { close(reading) })
			<-ended // the server does not answer before the program has ended
		}
	})
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "audit", "--kubeconfig", p.kubeconfig, "-o", "json")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the program reads", reading)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := waitFor(t, cmd); got != 3 {
		t.Errorf("status %d, want 3", got)
	}
	if stdout.Len() > 0 || stderr.String() != "interrupted: nothing was printed\n" {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
}

// testCtrlCAgain interrupts the program while it writes to what nobody reads. Nothing but a second signal can end that.
func testCtrlCAgain(t *testing.T, program string) {
	t.Helper()
	var many strings.Builder // whose report is longer than a pipe
	for i := range 1000 {
		fmt.Fprintf(&many, `{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","metadata":{"name":"b%d","namespace":"n"}}`, i)
	}
	cmd := exec.CommandContext(t.Context(), program, "audit", "--snapshot", "-", "-o", "json")
	cmd.Stdin = strings.NewReader(many.String())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan *os.ProcessState, 1)
	go func() {
		state, _ := cmd.Process.Wait() // Cmd.Wait would close the pipe, and the program would end for that reason
		ended <- state
	}()
	again, late := time.NewTicker(100*time.Millisecond), time.NewTimer(poll.Deadline)
	defer again.Stop()
	defer late.Stop()
	for {
		select {
		case state := <-ended:
			if status, ok := state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT {
				t.Errorf("it ended with %v, want the signal interrupt", state)
			}
			return
		case <-again.C:
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended just now
		case <-late.C:
			_ = cmd.Process.Kill()
			t.Fatal("it cannot be interrupted")
		}
	}
}
