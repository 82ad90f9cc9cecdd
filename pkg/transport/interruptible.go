// SPDX-License-Identifier: Apache-2.0

package transport

import "net/http"

// interruptible is the outermost of a client's transports: it returns when the request's context ends, whatever those within do. client-go
// runs credential plugins within RoundTrip, and without the context.
type interruptible struct{ next http.RoundTripper }

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (i *interruptible) WrappedRoundTripper() http.RoundTripper { return i.next }

// answer is what a transport returned.
type answer struct {
	resp *http.Response
	err  error
}

// RoundTrip implements http.RoundTripper.
func (i *interruptible) RoundTrip(req *http.Request) (*http.Response, error) {
	answers := make(chan answer)
	go func() {
		resp, err := i.next.RoundTrip(req)
		select {
		case answers <- answer{resp, err}:
		case <-req.Context().Done():
			if err == nil {
				_ = resp.Body.Close() // nobody waits for it
			}
		}
	}()
	select {
	case a := <-answers:
		return a.resp, a.err
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}
