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
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

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
