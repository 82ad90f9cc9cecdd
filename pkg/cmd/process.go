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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/process"
)

// grace is how long a verb may take to end by itself after an interruption.
const grace = 500 * time.Millisecond

// Process is what the binary does, given its own path. Where it was started again to render bundles, it does that. Otherwise it runs the program
// as Main does, renders bundles in processes of their own, and expects the process to end when it returns. A verb that has not ended grace after the end of ctx is
// left behind: it may be opening a FIFO or reading one, which nothing in the process can end. A verb that holds the process is waited for.
// Programs that were started and still run, as credential plugins are, are told to end.
func Process(ctx context.Context, executable string, args []string, streams genericiooptions.IOStreams) int {
	if process.IsWorker(args) {
		return process.Serve(streams.In, streams.Out)
	}
	runner := process.New(executable, process.Limits{})
	defer runner.Close()
	interruption := &origin.Interruption{}
	out := &output{out: streams.Out}
	watched := streams
	watched.Out = out
	ended := make(chan int, 1)
	held := func(env *origin.Environment) { env.Interruption = interruption }
	go func() { ended <- Main(ctx, args, watched, RenderIn(runner), held) }()
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
		late.Reset(grace) // to say what became of it
		select {
		case status := <-ended:
			return status
		case <-late.C:
		}
	}
	said := nothingPrinted
	if out.end() {
		said = "interrupted: what was printed may not be all"
	}
	fmt.Fprintln(streams.ErrOut, said)
	return exit.Failed
}

// output is standard output. It knows whether anything was printed, and can be closed.
type output struct {
	out io.Writer

	mu              sync.Mutex
	printed, closed bool
}

// Write implements io.Writer. What is written after the end is lost: the process ends at that moment.
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

// Fd is that of the file, by which a terminal is known, or none.
func (o *output) Fd() uintptr {
	if f, ok := o.out.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// end keeps everything from being printed from now on, and says whether anything was printed before.
func (o *output) end() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.printed
}
