// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/process"
)

// grace is the time that an interrupted verb has to end.
const grace = 500 * time.Millisecond

// Process runs the binary and returns its exit status; executable is the path of the binary. If the binary was started
// as a rendering worker, Process renders bundles. Otherwise it does what Main does, but renders bundles in worker
// processes, and expects the process to end when it returns. If the verb does not end within grace after the end of
// ctx, Process returns without it, because the opening or reading of a FIFO cannot be interrupted. It waits for a verb
// that holds the interruption. It terminates child processes that still run, such as credential plugins.
func Process(ctx context.Context, executable string, args []string, streams genericiooptions.IOStreams) int {
	if process.IsWorker(args) {
		return process.Serve(streams.In, streams.Out)
	}
	runner := process.New(executable, process.Limits{})
	defer runner.Close()
	out := &stdout{out: streams.Out}
	if file := formerConfig(); file != "" {
		fmt.Fprintf(escape.TextWriter(streams.ErrOut), "warning: %s is not read: the configuration file was removed, "+
			"an alias can have the flags\n", file)
	}
	env := cli.Environment{Streams: streams, Interruption: &cli.Interruption{}, Renderer: runner}
	env.Streams.Out = out
	ended := make(chan int, 1)
	go func() { ended <- Main(ctx, args, env) }()
	select {
	case status := <-ended:
		return status
	case <-ctx.Done():
	}
	defer endChildren()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case status := <-ended:
		return status
	case <-late.C:
	}
	if released := env.Interruption.Expire(); released != nil {
		select {
		case status := <-ended:
			return status
		case <-released:
		}
		late.Reset(grace) // to print its result
		select {
		case status := <-ended:
			return status
		case <-late.C:
		}
	}
	message := nothingPrinted
	if out.end() {
		message = partlyPrinted
	}
	fmt.Fprintln(streams.ErrOut, message)
	return cli.ExitFailed
}

// formerConfig returns the path of the user's configuration file, which only the previous version read; "" if there is
// none. A user who relies on it must learn why the result is another one.
func formerConfig() string {
	if named, set := os.LookupEnv("FLEETDOCTOR_CONFIG"); set {
		return named
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	path := filepath.Join(dir, "fleetdoctor", "config.yaml")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// stdout is standard output. It records whether anything was printed, and can be closed.
type stdout struct {
	out io.Writer

	mu              sync.Mutex
	printed, closed bool
}

// Write implements io.Writer. After end it writes nothing: the process is about to end.
func (o *stdout) Write(p []byte) (int, error) {
	o.mu.Lock()
	closed := o.closed
	o.printed = o.printed || len(p) > 0
	o.mu.Unlock()
	if closed {
		return 0, io.ErrClosedPipe
	}
	return o.out.Write(p)
}

// Fd is the descriptor of the file, from which callers detect a terminal.
func (o *stdout) Fd() uintptr {
	if f, ok := o.out.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// File is the stream itself, for a child process that detects a terminal.
func (o *stdout) File() io.Writer { return o.out }

// end drops all further output, and reports whether anything was printed before.
func (o *stdout) end() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.printed
}
