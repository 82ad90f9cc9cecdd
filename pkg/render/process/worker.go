// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
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
