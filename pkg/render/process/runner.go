// SPDX-License-Identifier: Apache-2.0

// Package process renders bundles in separate processes. A chart is not trusted, and Helm's template engine cannot be
// interrupted: {{ range until 1000000000 }} ends only with its process. A Runner starts this program again as a worker,
// which renders one bundle after another, and replaces a worker that exceeded a limit.
//
// A worker has no client and no credentials. It sends the lookups of templates to its Runner, which answers them with
// the Cluster of the caller.
//
// The limits apply on every platform: a worker checks its own processor time and memory and exits, and the Runner kills
// a worker that does not answer. On Linux the kernel also enforces a higher limit of memory, so that a single large
// allocation fails immediately. On Windows the elapsed time replaces the processor time.
package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

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

// argument is the only argument of a worker.
const argument = "render-worker"

// IsWorker reports whether a Runner started the program with these arguments. The program must then call Serve and
// exit.
func IsWorker(args []string) bool { return len(args) == 2 && args[1] == argument }

// Limits of a worker. A field that is 0 stands for its default.
type Limits struct {
	// Time limits the processor time of a bundle, which does not depend on the load of the machine. Default 10 s.
	Time time.Duration
	// Clock limits the elapsed time of a bundle. Default 60 s.
	Clock time.Duration
	// Memory limits the memory of the worker, in bytes. Default 512 MiB.
	Memory int64
	// Answer limits the rendered objects, in bytes as JSON. Default 32 MiB: a release that Helm can store is far
	// smaller.
	Answer int
}

func (l Limits) completed() Limits {
	return Limits{
		Time:   cmp.Or(l.Time, 10*time.Second),
		Clock:  cmp.Or(l.Clock, time.Minute),
		Memory: cmp.Or(l.Memory, 512<<20),
		Answer: cmp.Or(l.Answer, 32<<20),
	}
}

// question is a request to a worker, or the answer to its lookup. Questions and answers are JSON without separators:
// each waits for the other, so a decoder never reads ahead.
type question struct {
	Limits Limits
	Input  render.Input
	// Cluster is true if lookups are answered.
	Cluster bool `json:",omitempty"`
	// Found is the answer to a lookup. The other fields are not set.
	Found *render.Found `json:",omitempty"`
}

// answer is the response of a worker, or the lookup of a template, which the worker cannot answer. One of the fields
// is set.
type answer struct {
	Lookup        *render.Lookup             `json:",omitempty"`
	Result        *render.Result             `json:",omitempty"`
	Refused       *render.Error              `json:",omitempty"`
	ClusterScoped *render.ClusterScopedError `json:",omitempty"`
	// TooLarge means that the answer exceeds its limit.
	TooLarge bool `json:",omitempty"`
	// Failed is an error that is not caused by the bundle.
	Failed string `json:",omitempty"`
}

// The exit statuses of a worker that exceeded a limit.
const (
	exceededTime   = 71
	exceededMemory = 72
)

const (
	// interval is the time between two checks of the memory and the time of a worker.
	interval = 20 * time.Millisecond
	// maxStack limits the stack, in bytes, for a template that includes itself.
	maxStack = 64 << 20
)

// Serve is the worker. It reads bundles from in, renders them one after another, and writes the results to out. It
// returns the exit status of the program when a limit is exceeded or when in ends, even during a rendering, so that a
// worker never outlives its Runner. The program must then exit, because a template may still be running.
func Serve(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(maxStack)
	questions := make(chan question)
	runner := runner{out: out, found: make(chan render.Found)}
	go func() {
		defer close(questions)
		for {
			var q question
			if json.NewDecoder(in).Decode(&q) != nil {
				return
			}
			if q.Found != nil {
				runner.found <- *q.Found // a lookup waits for it
			} else {
				questions <- q
			}
		}
	}()
	for q := range questions {
		limit(q.Limits.Memory)
		answered := make(chan []byte, 1)
		go func() { answered <- q.answer(runner) }()
		a, status := await(answered, questions, q.Limits)
		if a == nil {
			return status
		}
		if _, err := out.Write(a); err != nil {
			return 1
		}
		if used() > q.Limits.Memory/4 {
			debug.FreeOSMemory() // the memory of this bundle must not count for the next one
		}
	}
	return 0
}

// await waits for an answer. It returns nil and an exit status if the worker must exit first.
func await(answered <-chan []byte, questions <-chan question, limits Limits) (a []byte, status int) {
	begun := processorTime()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case a := <-answered:
			return a, 0
		case <-questions: // in has ended: the Runner waits for the answer before it sends the next question
			return nil, 1
		case <-ticker.C:
			switch {
			case used() > limits.Memory:
				return nil, exceededMemory
			case processorTime()-begun > limits.Time:
				return nil, exceededTime
			}
		}
	}
}

// runner is the Runner, which answers the lookups of templates. It implements render.Cluster. The template that is
// rendered is the only one that calls it, and waits for the answer.
type runner struct {
	out   io.Writer
	found chan render.Found
}

// Lookup implements render.Cluster. If the Runner has ended, it does not return: the worker exits.
func (r runner) Lookup(_ context.Context, l render.Lookup) render.Found {
	message, err := json.Marshal(answer{Lookup: &l})
	if err == nil {
		_, err = r.out.Write(message)
	}
	if err != nil {
		return render.Found{Unknown: ", which could not be requested"}
	}
	return <-r.found
}

// answer renders the bundle and returns the answer as JSON.
func (q *question) answer(r runner) []byte {
	var a answer
	var cluster render.Cluster
	if q.Cluster {
		cluster = r
	}
	result, err := render.Render(context.Background(), q.Input, cluster)
	switch {
	case err == nil:
		a.Result = result
	case errors.As(err, &a.Refused), errors.As(err, &a.ClusterScoped):
	default:
		a.Failed = "it could not be rendered"
	}
	message, err := json.Marshal(a)
	switch {
	case err != nil:
		message = []byte(`{"Failed":"its objects could not be encoded"}`)
	case len(message) > q.Limits.Answer:
		message = []byte(`{"TooLarge":true}`)
	}
	return message
}

// limit sets the limits of the runtime and of the kernel. The garbage collector works harder near its limit, so memory
// above that is in use.
func limit(memory int64) {
	debug.SetMemoryLimit(memory / 4 * 3)
	limitKernel(memory)
}

// used returns the memory of the process, in bytes.
func used() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()) - int64(samples[1].Value.Uint64())
}
