// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// Runner renders bundles in workers. It keeps those that wait for the next bundle; Close ends them. It may be used from several goroutines,
// and has as many workers as there are bundles at the same time.
type Runner struct {
	executable string
	limits     Limits

	mu     sync.Mutex
	idle   []*worker
	closed bool
	slow   int // how many bundles exceeded their processor time
}

// maxSlow is how many bundles may exceed their processor time before the others get a tenth of it.
const maxSlow = 3

// timeLimits are the limits of the next bundle. Many bundles that each take all of their time would take hours together.
func (r *Runner) timeLimits() Limits {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.limits
	if r.slow >= maxSlow {
		l.Time /= 10
	}
	return l
}

func (r *Runner) exceeded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow++
}

// New makes a Runner that starts executable as its workers: the program itself, which calls Serve where IsWorker says so. It starts none
// before it is asked to render.
func New(executable string, limits Limits) *Runner {
	return &Runner{executable: executable, limits: limits.completed()}
}

// Render renders a bundle as render.Render does, within the limits. Its errors are those of render.Render; *render.LimitError where the
// bundle exceeds a limit, or ends the process in another way; the context's where it ended, at once; and others where no worker can be had.
func (r *Runner) Render(ctx context.Context, in render.Input) (*render.Result, error) {
	limits := r.timeLimits()
	message, err := json.Marshal(question{Limits: limits, Input: in})
	if err != nil {
		return nil, &render.Error{Bundle: in.Name, Reason: "its options or values are no JSON"}
	}
	for {
		w, err := r.take()
		if err != nil {
			return nil, fmt.Errorf("starting the process that renders bundles: %w", err)
		}
		a, failure := w.ask(ctx, message, r.limits)
		if failure == nil {
			r.put(w)
			return a.result(in.Name, r.limits)
		}
		status := w.end()
		var late *lateError
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(failure, &late):
			return nil, &render.LimitError{Bundle: in.Name, Limit: r.limits.Clock.String()}
		case status == exceededTime:
			r.exceeded()
			return nil, &render.LimitError{Bundle: in.Name, Limit: timeOf(limits)}
		case w.asked > 1:
			continue // what a bundle before it left behind must not count against this one
		case status == exceededMemory:
			return nil, &render.LimitError{Bundle: in.Name, Limit: memoryOf(r.limits)}
		}
		return nil, &render.LimitError{Bundle: in.Name, Limit: "what the process that renders it may use (" + timeOf(r.limits) + ", " + memoryOf(r.limits) + ")"}
	}
}

func timeOf(l Limits) string { return l.Time.String() + " of processor time" }

func memoryOf(l Limits) string { return fmt.Sprintf("%d MiB of memory", l.Memory>>20) }

// Close ends the workers that wait. The Runner renders nothing after it.
func (r *Runner) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, w := range r.idle {
		w.end()
	}
	r.idle = nil
}

// take returns a worker that waits, else a new one.
func (r *Runner) take() (*worker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errors.New("it was closed")
	}
	if last := len(r.idle) - 1; last >= 0 {
		w := r.idle[last]
		r.idle = r.idle[:last]
		return w, nil
	}
	return start(r.executable)
}

func (r *Runner) put(w *worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		w.end()
		return
	}
	r.idle = append(r.idle, w)
}

// worker is one process.
type worker struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.Reader
	asked int
}

// start starts a worker. It gets no environment but the time zone of Fleet's agent: a template must find no credentials there. What it writes
// to standard error, where the runtime says why it crashed and may quote values, is discarded.
func start(executable string) (*worker, error) {
	w := &worker{cmd: exec.Command(executable, argument)}
	w.cmd.Env = []string{"TZ=UTC"}
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if w.out, err = w.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	return w, nil
}

// lateError says that a worker did not answer in time.
type lateError struct{}

func (*lateError) Error() string { return "no answer in time" }

// ask asks a worker, which has to be ended after an error.
func (w *worker) ask(ctx context.Context, message []byte, limits Limits) (*answer, error) {
	w.asked++
	timed, cancel := context.WithTimeoutCause(ctx, limits.Clock, &lateError{})
	defer cancel()
	stop := context.AfterFunc(timed, w.kill)
	defer stop()
	var a answer
	err := writeFrame(w.in, message)
	var reply []byte
	if err == nil {
		reply, err = readFrame(w.out, max(limits.Answer, 1<<10))
	}
	if err == nil {
		err = json.Unmarshal(reply, &a)
	}
	if err != nil && timed.Err() != nil {
		return nil, context.Cause(timed)
	}
	return &a, err
}

func (w *worker) kill() {
	// What has ended already cannot be killed, and need not be.
	_ = w.cmd.Process.Kill()
}

// end ends the worker and returns its exit status, which is -1 where it was killed.
func (w *worker) end() int {
	w.kill()
	// Its exit status says all that its error does.
	_ = w.cmd.Wait()
	return w.cmd.ProcessState.ExitCode()
}

// result is what an answer says, as render.Render would.
func (a *answer) result(bundle string, limits Limits) (*render.Result, error) {
	switch {
	case a.Result != nil:
		return a.Result, nil
	case a.Refused != nil:
		return nil, a.Refused
	case a.ClusterScoped != nil:
		return nil, a.ClusterScoped
	case a.TooLarge:
		return nil, &render.LimitError{Bundle: bundle, Limit: fmt.Sprintf("%d MiB of rendered objects", limits.Answer>>20)}
	}
	return nil, &render.Error{Bundle: bundle, Reason: a.Failed}
}
