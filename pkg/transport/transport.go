// SPDX-License-Identifier: Apache-2.0

// Package transport limits connections to an API server, because any server may answer at its address. It limits the targets of redirects, the size
// of answers and the time of a Retry-After. Every client of this program uses a configuration from Guard or an HTTP client from Client.
package transport

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
)

// Bounds of what a server may answer. Zero values mean no bound.
type Bounds struct {
	// Answer is the size of one answer in bytes, after decompression.
	Answer int64
	// Page is the same for a page of a list: a request with the parameter "limit". Zero means Answer.
	Page int64
}

// MaxWait is the longest Retry-After that is accepted. API servers ask for at most 32 seconds. client-go waits up to 10 times for one
// request, so that a request waits for at most 10 minutes.
const MaxWait = time.Minute

// Guard returns a copy of a configuration whose clients follow no redirect to another server, read no answer beyond its bound, and wait no
// longer than MaxWait. Their errors are RedirectError, SizeError and WaitError, wrapped as net/http does.
func Guard(config *rest.Config, b Bounds) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &guard{next, b} })
	return config
}

// Client makes an HTTP client of a configuration, guarded as Guard does it. Its requests end with their contexts, also while a credential
// plugin of the configuration runs, which net/http cannot interrupt; the plugin itself is left to the caller.
func Client(config *rest.Config, b Bounds) (*http.Client, error) {
	client, err := rest.HTTPClientFor(Guard(config, b))
	if err != nil {
		return nil, err
	}
	own := *client // which may be net/http's own
	own.Transport = &interruptible{client.Transport}
	return &own, nil
}

// guard is the innermost of a client's transports: it sees every single answer, after decompression.
type guard struct {
	next   http.RoundTripper
	bounds Bounds
}

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	err = leadsAway(req, resp)
	if err == nil {
		err = waitsTooLong(resp)
	}
	if err != nil {
		_ = resp.Body.Close() // the answer is not used
		return nil, err
	}
	if most := g.most(req); most > 0 && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &boundedBody{ReadCloser: resp.Body, most: most}
	}
	return resp, nil
}

// most is the bound of the answer to a request, 0 for none. A watch has no end.
func (g *guard) most(req *http.Request) int64 {
	query := req.URL.Query()
	switch {
	case query.Get("watch") != "":
		return 0
	case query.Get("limit") != "" && g.bounds.Page > 0:
		return g.bounds.Page
	}
	return g.bounds.Answer
}

// SizeError says that an answer is larger than its bound.
type SizeError struct{ Most int64 } // bytes

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the answer is larger than %d MiB after decompression", e.Most>>20)
}

// boundedBody fails once it has given more than most bytes.
type boundedBody struct {
	io.ReadCloser
	most, given int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.given += int64(n); b.given > b.most {
		return 0, &SizeError{b.most}
	}
	return n, err
}

// WaitError says that a server requests a longer wait than MaxWait.
type WaitError struct {
	Status string // of the answer: "Service Unavailable"
	Asked  string // seconds, as the header has them
}

// Error implements error.
func (e *WaitError) Error() string {
	return fmt.Sprintf("the server answered %q and asks to wait %s s; this program waits at most %.0f s", e.Status, e.Asked, MaxWait.Seconds())
}

// waitsTooLong returns an error where client-go would wait longer than MaxWait. It waits for nothing but a number of seconds.
func waitsTooLong(resp *http.Response) error {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		return nil
	}
	asked := resp.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(asked); err == nil && seconds > int(MaxWait/time.Second) {
		return &WaitError{http.StatusText(resp.StatusCode), asked}
	}
	return nil
}
