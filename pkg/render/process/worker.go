// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

const (
	// watching is how often a worker looks at its memory and its time.
	watching = 20 * time.Millisecond
	// maxStack bounds, in bytes, the stack of a template that includes itself.
	maxStack = 64 << 20
)

// Serve is the worker: it renders what it reads from in, one bundle after another, and writes the results to out. It returns the exit status
// of the program when in ends, at once even while a template runs, so that a worker never outlives its Runner, and when a limit is exceeded.
// The program has to end then: the template may still be running.
func Serve(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(maxStack)
	questions := make(chan []byte)
	go func() {
		defer close(questions)
		for {
			q, err := readFrame(in, math.MaxInt)
			if err != nil {
				return
			}
			questions <- q
		}
	}()
	for message := range questions {
		var q question
		if json.Unmarshal(message, &q) != nil {
			return 1
		}
		limit(q.Limits.Memory)
		answered := make(chan []byte, 1)
		go func() { answered <- q.answer() }()
		a, status := await(answered, questions, q.Limits)
		if a == nil {
			return status
		}
		if writeFrame(out, a) != nil {
			return 1
		}
		if used() > q.Limits.Memory/4 {
			debug.FreeOSMemory() // what this bundle took is not to count against the next
		}
	}
	return 0
}

// await waits for an answer, nil where the worker has to end before it comes.
func await(answered, questions <-chan []byte, limits Limits) (a []byte, status int) {
	begun := processorTime()
	ticker := time.NewTicker(watching)
	defer ticker.Stop()
	for {
		select {
		case a := <-answered:
			return a, 0
		case <-questions: // the Runner asks nothing before it has an answer: it is gone
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

// answer renders the bundle.
func (q *question) answer() []byte {
	var a answer
	result, err := render.Render(context.Background(), q.Input)
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
		message = []byte(`{"Failed":"its objects could not be passed on"}`)
	case len(message) > q.Limits.Answer:
		message = []byte(`{"TooLarge":true}`)
	}
	return message
}

// limit sets what the runtime and the kernel enforce. Near the limit the garbage collector works harder, so that what is over it is in use.
func limit(memory int64) {
	debug.SetMemoryLimit(memory / 4 * 3)
	limitKernel(memory)
}

// used is the memory that the program holds, in bytes.
func used() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()) - int64(samples[1].Value.Uint64())
}
