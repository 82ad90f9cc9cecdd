// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// maxObject is the limit of one object of a list, and of all other data of a page, in bytes. etcd accepts objects of
// 1.5 MiB.
const maxObject = 16 << 20

// answer is a list that is being read, with the kind that it has stated so far.
type answer struct {
	*jsontext.Decoder
	input            *limitedReader
	objects          object.ItemReader
	apiVersion, kind string
	listed           bool // it has items
}

func newAnswer(body io.Reader) *answer {
	in := &limitedReader{reader: body, left: maxObject}
	return &answer{Decoder: jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true)), input: in}
}

// next reads one object of at most maxObject bytes.
func (a *answer) next() (object.Item, error) {
	a.input.left = maxObject
	return a.objects.Read(a.Decoder)
}

// value decodes the next value.
func (a *answer) value(into any) error {
	raw, err := a.ReadValue()
	if err != nil {
		return err
	}
	return object.Into(raw, into)
}

// limitedReader limits the buffer of the decoder, which grows to the longest value. Unlike io.LimitReader, it returns
// an error at the limit.
type limitedReader struct {
	reader io.Reader
	left   int
}

// Read implements io.Reader.
func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, &transport.SizeError{Most: maxObject}
	}
	n, err := r.reader.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// finalError is an error of an answer that a second request would return again.
type finalError struct{ text string }

func (e *finalError) Error() string { return e.text }

// endless is the error of a list that has no end.
func endless(format string, args ...any) error {
	return &finalError{"reading of the list stopped: " + fmt.Sprintf(format, args...)}
}

// unreadError is an error of an answer that a second request may not have.
type unreadError struct{ err error }

func (e *unreadError) Error() string { return "the answer could not be read: " + e.err.Error() }
