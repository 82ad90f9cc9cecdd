// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// requestTimeout is the time for a request and its whole answer, unless --request-timeout states another one. By
// default, API servers end a request after 60 seconds.
const requestTimeout = 90 * time.Second

// TimeoutError means that a server did not finish its answer in time.
type TimeoutError struct{ After time.Duration }

// Error implements error.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the server did not answer within %.0f s", e.After.Seconds())
}

// deadline ends requests that are not answered in time. Of a request that has no end, such as a watch, it limits only
// the time until the answer begins.
type deadline struct {
	next    http.RoundTripper
	timeout time.Duration
}

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (d *deadline) WrappedRoundTripper() http.RoundTripper { return d.next }

// RoundTrip implements http.RoundTripper.
func (d *deadline) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	late := &TimeoutError{d.timeout}
	timer := time.AfterFunc(d.timeout, func() { cancel(late) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	// reason is the error of a request that ended: that it was late, if it was.
	reason := func(err error) error {
		if err != nil && errors.Is(context.Cause(ctx), late) {
			return late
		}
		return err
	}
	resp, err := d.next.RoundTrip(req.WithContext(ctx))
	switch {
	case err != nil:
		defer end()
		return nil, reason(err)
	case hasNoEnd(req):
		timer.Stop()
	}
	if resp.StatusCode != http.StatusSwitchingProtocols { // whose body can also be written
		resp.Body = &timedBody{resp.Body, reason, end}
	}
	return resp, nil
}

func isWatch(req *http.Request) bool { return req.URL.Query().Get("watch") != "" }

// hasNoEnd reports whether the answer to a request ends only when the client or the server wants it to.
func hasNoEnd(req *http.Request) bool {
	return isWatch(req) || req.URL.Query().Get("follow") != "" || req.Header.Get("Upgrade") != ""
}

// timedBody is a body that must be read before its request ends.
type timedBody struct {
	io.ReadCloser
	reason func(error) error
	end    func()
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		return n, err
	}
	return n, b.reason(err)
}

// Close implements io.Closer.
func (b *timedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
