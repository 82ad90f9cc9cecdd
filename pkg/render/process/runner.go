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
	"sync/atomic"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// Runner renders bundles in workers. Several goroutines may use it. It starts a worker for each bundle that is rendered
// at the same time, and keeps idle workers for the next bundles. Close ends them.
type Runner struct {
	executable string
	limits     Limits
	slow       atomic.Int32 // the number of bundles that exceeded their processor time

	mu     sync.Mutex
	idle   []*worker
	closed bool
}

// maxSlow is how many bundles may exceed their processor time before the others get a tenth of it. Many bundles that
// each use all of their time would take hours together.
const maxSlow = 3

// New makes a Runner. executable is the program for its workers, which calls Serve if IsWorker returns true. It is
// started only to render.
func New(executable string, limits Limits) *Runner {
	return &Runner{executable: executable, limits: limits.completed()}
}

// Render renders a bundle as render.Render does, within the limits. In addition to the errors of render.Render it
// returns a *render.LimitError if the bundle exceeds a limit or ends the process in another way, the error of the
// context as soon as that ends, and another error if no worker can be started.
func (r *Runner) Render(ctx context.Context, in render.Input, cluster render.Cluster) (*render.Result, error) {
	limits := r.limits
	if r.slow.Load() >= maxSlow {
		limits.Time /= 10
	}
	message, err := json.Marshal(question{Limits: limits, Input: in, Cluster: cluster != nil})
	if err != nil {
		return nil, &render.Error{Bundle: in.Name, Reason: "its options or values cannot be encoded as JSON"}
	}
	for {
		w, err := r.take()
		if err != nil {
			return nil, fmt.Errorf("starting the process that renders bundles: %w", err)
		}
		a, failure := w.ask(ctx, message, limits, cluster)
		if failure == nil {
			r.put(w)
			return a.result(in.Name, limits)
		}
		status := w.end()
		time, memory := limits.Time.String()+" of processor time", fmt.Sprintf("%d MiB of memory", limits.Memory>>20)
		exceeded := "the limits of the process that renders it (" + time + ", " + memory + ")"
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(failure, errLate):
			exceeded = limits.Clock.String()
		case status == exceededTime:
			r.slow.Add(1)
			exceeded = time
		case w.asked > 1:
			continue // the bundles before it may be the cause
		case status == exceededMemory:
			exceeded = memory
		}
		return nil, &render.LimitError{Bundle: in.Name, Limit: exceeded}
	}
}

// Close ends the idle workers. The Runner cannot render after it.
func (r *Runner) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, w := range r.idle {
		w.end()
	}
	r.idle = nil
}

// take returns an idle worker, or a new one.
func (r *Runner) take() (*worker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errors.New("the renderer was closed")
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

// worker is a process that renders bundles.
type worker struct {
	cmd   *exec.Cmd
	in    io.Writer
	out   io.Reader
	asked int
}

// start starts a worker. Its environment has only the time zone of Fleet's agent, because a template must not find
// credentials there. Its standard error is discarded, because the message of a crash may quote values.
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
	return w, w.cmd.Start()
}

// errLate means that a worker did not answer within the limit of the elapsed time.
var errLate = errors.New("the worker does not answer")

// ask sends a question to a worker, answers its lookups, and returns the answer. After an error the worker must be
// ended.
func (w *worker) ask(ctx context.Context, message []byte, limits Limits, cluster render.Cluster) (*answer, error) {
	w.asked++
	timed, cancel := context.WithTimeoutCause(ctx, limits.Clock, errLate)
	defer cancel()
	stop := context.AfterFunc(timed, w.kill)
	defer stop()
	a, err := w.exchange(message, limits)
	for err == nil && a.Lookup != nil && cluster != nil {
		found := cluster.Lookup(timed, *a.Lookup)
		if timed.Err() != nil {
			return nil, context.Cause(timed)
		}
		if message, err = json.Marshal(question{Found: &found}); err == nil {
			a, err = w.exchange(message, limits)
		}
	}
	if err != nil && timed.Err() != nil {
		return nil, context.Cause(timed)
	}
	return a, err
}

// exchange sends a message to a worker and returns the next one of the worker.
func (w *worker) exchange(message []byte, limits Limits) (*answer, error) {
	if _, err := w.in.Write(message); err != nil {
		return nil, err
	}
	var a answer
	err := json.NewDecoder(io.LimitReader(w.out, int64(limits.Answer))).Decode(&a)
	return &a, err
}

func (w *worker) kill() {
	_ = w.cmd.Process.Kill() // it fails only if the process has already ended
}

// end ends the worker and returns its exit status, which is -1 if it was killed.
func (w *worker) end() int {
	w.kill()
	_ = w.cmd.Wait() // the exit status tells the same
	return w.cmd.ProcessState.ExitCode()
}

// result converts an answer to the results of render.Render.
func (a *answer) result(bundle string, limits Limits) (*render.Result, error) {
	switch {
	case a.Result != nil:
		return a.Result, nil
	case a.Refused != nil:
		return nil, a.Refused
	case a.ClusterScoped != nil:
		return nil, a.ClusterScoped
	case a.TooLarge:
		return nil, &render.LimitError{Bundle: bundle, Limit: fmt.Sprintf("%d MiB of rendered objects",
			limits.Answer>>20)}
	}
	return nil, &render.Error{Bundle: bundle, Reason: a.Failed}
}
