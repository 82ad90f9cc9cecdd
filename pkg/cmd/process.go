// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/process"
)

// grace is the time that an interrupted verb has to end.
const grace = 500 * time.Millisecond

// Process is what the binary runs, given its own path. If the binary was started as a rendering worker, it renders bundles. Otherwise it runs
// Main, renders bundles in worker processes, and expects the process to end when it returns. If the verb does not end within grace after the
// end of ctx, Process returns without it: nothing can interrupt the opening or reading of a FIFO. It waits for a verb that holds the
// interruption. It terminates child processes that still run, such as credential plugins.
func Process(ctx context.Context, executable string, args []string, streams genericiooptions.IOStreams) int {
	if process.IsWorker(args) {
		return process.Serve(streams.In, streams.Out)
	}
	runner := process.New(executable, process.Limits{})
	defer runner.Close()
	interruption := &verb.Interruption{}
	out := &output{out: streams.Out}
	watched := streams
	watched.Out = out
	ended := make(chan int, 1)
	interruptible := func(env *verb.Environment) { env.Interruption = interruption }
	go func() { ended <- Main(ctx, args, watched, RenderIn(runner), interruptible) }()
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
	if released := interruption.Expire(); released != nil {
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
	return exit.Failed
}

// output is standard output. It records whether anything was printed, and can be closed.
type output struct {
	out io.Writer

	mu              sync.Mutex
	printed, closed bool
}

// Write implements io.Writer. After end it writes nothing: the process is about to end.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	closed := o.closed
	o.printed = o.printed || len(p) > 0
	o.mu.Unlock()
	if closed {
		return 0, io.ErrClosedPipe
	}
	return o.out.Write(p)
}

// Fd is the descriptor of the file, which tells whether it is a terminal.
func (o *output) Fd() uintptr {
	if f, ok := o.out.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// end drops all further output, and says whether anything was printed before.
func (o *output) end() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.printed
}
