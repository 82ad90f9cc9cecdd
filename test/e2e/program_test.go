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

// build builds the program once, with the race detector if the tests use it, into a directory that outlives the
// first test.
type build struct {
	once sync.Once
	dir  string
	err  error
}

var built build

// path returns the path of the program, and builds it first if necessary.
func (b *build) path(t *testing.T) string {
	t.Helper()
	b.once.Do(func() {
		// The build must outlive this test: later tests use the program.
		build := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", fmt.Sprintf("-race=%t", raced),
			"-ldflags=-s -w", // linking without symbols takes half of the time
			"-o", b.program(),
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

// TestProgram runs the program as a process, to check exit status and signals.
func TestProgram(t *testing.T) {
	program := built.path(t)
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	t.Run("status", func(t *testing.T) { testStatus(t, f, program) })
	t.Run("interrupted", func(t *testing.T) { testInterrupt(t, f, program) })
	t.Run("interrupted again", func(t *testing.T) { testSecondInterrupt(t, program) })
}

func testStatus(t *testing.T, f *fleetServer, program string) {
	t.Helper()
	for want, args := range [][]string{
		{},
		{"--diff"}, // after an object was deleted
		{"bundle/"},
		{"--context", "nope"},
	} {
		if want == 1 {
			f.remove(configMap("settings"))
		}
		out, err := exec.CommandContext(t.Context(), program, append([]string{"audit", "--kubeconfig", f.kubeconfig},
			args...)...).Output()
		if got := exitStatus(t, err); got != want {
			t.Errorf("audit %s: status %d, want %d", strings.Join(args, " "), got, want)
		}
		if printed := strings.Contains(string(out), "guestbook"); printed != (want < 2) {
			t.Errorf("status %d: stdout: %s", want, out)
		}
	}
}

// exitStatus is the exit status of a program.
func exitStatus(t *testing.T, err error) int {
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
	return exitStatus(t, cmd.Wait())
}

// testInterrupt interrupts the program while it reads.
func testInterrupt(t *testing.T, f *fleetServer, program string) {
	t.Helper()
	p := f.proxy()
	reading, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	var once sync.Once
	p.onRequest(func(r *http.Request) {
		if r.URL.Path == "/api/v1/secrets" {
			once.Do(func() { close(reading) })
			<-ended // no response before the program has ended
		}
	})
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "audit", "--kubeconfig", p.kubeconfig, "-o", "json")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the program reads the release records", reading)
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

// testSecondInterrupt interrupts the program while it writes to a pipe that nobody reads. Only the second signal
// can end it.
func testSecondInterrupt(t *testing.T, program string) {
	t.Helper()
	var deployments strings.Builder // the report is larger than a pipe
	for i := range 1000 {
		deployments.WriteString(`{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment",`)
		fmt.Fprintf(&deployments, `"metadata":{"name":"b%d","namespace":"n"}}`, i)
	}
	cmd := exec.CommandContext(t.Context(), program, "audit", "--snapshot", "-", "-o", "json")
	cmd.Stdin = strings.NewReader(deployments.String())
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
		state, _ := cmd.Process.Wait() // Cmd.Wait would close the pipe and so end the program
		ended <- state
	}()
	again, late := time.NewTicker(100*time.Millisecond), time.NewTimer(poll.Deadline)
	defer again.Stop()
	defer late.Stop()
	for {
		select {
		case state := <-ended:
			if status, ok := state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT {
				t.Errorf("the program ended with %v, want the signal interrupt", state)
			}
			return
		case <-again.C:
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended just now
		case <-late.C:
			_ = cmd.Process.Kill()
			t.Fatal("the program cannot be interrupted")
		}
	}
}
