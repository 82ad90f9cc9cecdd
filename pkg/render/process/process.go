// SPDX-License-Identifier: Apache-2.0

// Package process renders bundles in a process of their own. A chart is a program of somebody else's, and Helm's template engine cannot be
// interrupted: {{ range until 1000000000 }} ends only with its process. A Runner starts this program again as a worker, which renders one
// bundle after another, and replaces a worker that exceeded a limit.
//
// The limits hold on every platform: a worker watches its own processor time and memory and ends itself, and the Runner kills one that does
// not answer. On Linux the kernel also refuses a worker memory beyond a second, higher limit, so that a single large allocation fails at
// once. On Windows the time on the clock stands for processor time.
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

// IsWorker says whether the program was started by a Runner, given all of its arguments: it then has to call Serve and end.
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

// question is what a worker is asked, as JSON.
type question struct {
	Limits Limits
	Input  render.Input
}

// answer is what it says. One of the fields is set.
type answer struct {
	Result        *render.Result             `json:",omitempty"`
	Refused       *render.Error              `json:",omitempty"`
	ClusterScoped *render.ClusterScopedError `json:",omitempty"`
	// TooLarge says that the answer exceeded its limit.
	TooLarge bool `json:",omitempty"`
	// Failed is an error that is no finding about the bundle.
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
