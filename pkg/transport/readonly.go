// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"net/http"
)

// ReadOnly returns a transport that sends only GET requests.
func ReadOnly(next http.RoundTripper) http.RoundTripper { return readOnly{next} }

type readOnly struct{ next http.RoundTripper }

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (r readOnly) WrappedRoundTripper() http.RoundTripper { return r.next }

// RoundTrip implements http.RoundTripper.
func (r readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return r.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close() // as http.RoundTripper requires
	}
	return nil, fmt.Errorf("%s %s is not sent: the program may only read", req.Method, req.URL.Path)
}
