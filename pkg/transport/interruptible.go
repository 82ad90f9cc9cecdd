// SPDX-License-Identifier: Apache-2.0

package transport

import "net/http"

// interruptible is the outermost transport of a client. It returns when the context of the request ends, even if an
// inner transport blocks. client-go runs credential plugins in RoundTrip without the context.
type interruptible struct{ next http.RoundTripper }

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (i *interruptible) WrappedRoundTripper() http.RoundTripper { return i.next }

// answer is the result of RoundTrip.
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
				_ = resp.Body.Close() // the caller has returned
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
