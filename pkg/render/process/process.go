// SPDX-License-Identifier: Apache-2.0

// Package process renders bundles in separate processes. A chart is not trusted, and Helm's template engine cannot be interrupted:
// {{ range until 1000000000 }} ends only with its process. A Runner starts this program again as a worker, which renders one bundle after
// another, and replaces a worker that exceeded a limit.
//
// The limits apply on every platform: a worker checks its own processor time and memory and exits, and the Runner kills a worker that does not
// answer. On Linux the kernel also enforces a second, higher limit of memory, so that a single large allocation fails immediately. On Windows
// the elapsed time replaces the processor time.
package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// argument is the only argument of a worker.
const argument = "render-worker"

// IsWorker reports whether a Runner started the program with these arguments: it must then call Serve and exit.
func IsWorker(args []string) bool { return len(args) == 2 && args[1] == argument }

// Limits of a worker. A zero field stands for its default.
type Limits struct {
	// Time is how much processor time a bundle may take, so that a machine that is busy makes no difference. Default 10 s.
	Time time.Duration
	// Clock is how long a bundle may take on the clock. Default 60 s.
	Clock time.Duration
	// Memory is what the worker may use, in bytes. Default 512 MiB.
	Memory int64
	// Answer is how large the rendered objects may be, in bytes as they are passed on. Default 32 MiB: a release that Helm can store is far
	// below it.
	Answer int
}

func (l Limits) completed() Limits {
	if l.Time == 0 {
		l.Time = 10 * time.Second
	}
	if l.Clock == 0 {
		l.Clock = time.Minute
	}
	if l.Memory == 0 {
		l.Memory = 512 << 20
	}
	if l.Answer == 0 {
		l.Answer = 32 << 20
	}
	return l
}

// question is the request to a worker, as JSON.
type question struct {
	Limits Limits
	Input  render.Input
}

// answer is the response of a worker. One of the fields is set.
type answer struct {
	Result        *render.Result             `json:",omitempty"`
	Refused       *render.Error              `json:",omitempty"`
	ClusterScoped *render.ClusterScopedError `json:",omitempty"`
	// TooLarge says that the answer exceeded its limit.
	TooLarge bool `json:",omitempty"`
	// Failed is an error that is not caused by the bundle.
	Failed string `json:",omitempty"`
}

// The exit statuses of a worker that exceeded a limit.
const (
	exceededTime   = 71
	exceededMemory = 72
)

const headerSize = 8

var errFrame = errors.New("a message is longer than its limit")

// writeFrame writes a message behind its length.
func writeFrame(w io.Writer, message []byte) error {
	frame := binary.BigEndian.AppendUint64(make([]byte, 0, headerSize+len(message)), uint64(len(message)))
	_, err := w.Write(append(frame, message...))
	return err
}

// readFrame reads a message of at most limit bytes.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint64(header[:])
	if size > uint64(limit) {
		return nil, errFrame
	}
	message := make([]byte, size)
	if _, err := io.ReadFull(r, message); err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	return message, nil
}
