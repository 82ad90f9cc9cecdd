// SPDX-License-Identifier: Apache-2.0

// Package transport limits the connections to an API server, because another server may answer at its address. It
// limits the targets of redirects, the size and the time of answers, and the time of a Retry-After. Every client of
// this program uses a configuration from Guard or an HTTP client from Client.
//
// It also has the other direction: a Server for metrics, probes or admission requests, with limits for its connections.
package transport

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"k8s.io/client-go/rest"
)

// Bounds are the limits of answers. A zero value means no limit.
type Bounds struct {
	// Answer is the size of one answer in bytes, after decompression.
	Answer int64
	// Page is the size of the answer to a request with the parameter "limit", which is a page of a list. Zero means
	// Answer.
	Page int64
}

// MaxWait is the longest Retry-After that is accepted. API servers send at most 32 seconds. client-go waits up to 10
// times for one request, so a request waits at most 10 minutes.
const MaxWait = time.Minute

// MaxError is the size of the largest body of an error that is read, in bytes after decompression. It is held in
// memory, and has a message.
const MaxError = 2 << 20

// Guard returns a copy of a configuration. Its clients follow no redirect to another server, read no answer beyond its
// limit, no error beyond MaxError, and wait at most MaxWait for another attempt and requestTimeout for an answer. Their
// errors are RedirectError, SizeError, WaitError and TimeoutError, as wrapped by net/http.
func Guard(config *rest.Config, b Bounds) *rest.Config {
	config = rest.CopyConfig(config)
	timeout := cmp.Or(config.Timeout, requestTimeout)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		next = &deadline{next, timeout}
		g := &guard{next: next, decompress: next, bounds: b}
		if !config.DisableCompression {
			g.decompress = gzhttp.Transport(buffered{next}, gzhttp.TransportEnableZstd(false),
				gzhttp.TransportAlwaysDecompress(true))
		}
		return g
	})
	return config
}

// Client makes an HTTP client with the limits of Guard. Each request ends with its context, even while a credential
// plugin runs, which net/http cannot interrupt. The plugin itself continues to run.
func Client(config *rest.Config, b Bounds) (*http.Client, error) {
	client, err := rest.HTTPClientFor(Guard(config, b))
	if err != nil {
		return nil, err
	}
	own := *client // a copy, because client may be http.DefaultClient
	own.Transport = &interruptible{client.Transport}
	return &own, nil
}

// guard is the innermost transport of a client. It receives every answer after decompression.
type guard struct {
	next http.RoundTripper
	// decompress is next with a faster decompression than that of net/http. It must not be used for a watch: client-go
	// closes the body of a watch while another goroutine reads it, and gzhttp would use the same decompressor for
	// another answer.
	decompress http.RoundTripper
	bounds     Bounds
}

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	next := g.decompress
	if isWatch(req) {
		next = g.next
	}
	resp, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	err = refuseRedirect(req, resp)
	if err == nil {
		err = waitsTooLong(resp)
	}
	if err != nil {
		_ = resp.Body.Close() // the answer is not used
		return nil, err
	}
	if limit := g.limit(req, resp); limit > 0 && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &boundedBody{ReadCloser: resp.Body, limit: limit}
	}
	return resp, nil
}

// buffered reads the compressed pages of lists in pieces of bufferSize. The decompressor reads 4 KiB at a time. For
// each read, HTTP/2 sends a frame that permits the server to send more.
type buffered struct{ next http.RoundTripper }

const bufferSize = 256 << 10

// RoundTrip implements http.RoundTripper.
func (b buffered) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err == nil && isPage(req) && resp.Header.Get("Content-Encoding") == "gzip" {
		resp.Body = &bufferedBody{bufio.NewReaderSize(resp.Body, bufferSize), resp.Body}
	}
	return resp, err
}

type bufferedBody struct {
	io.Reader
	io.Closer
}

// isPage reports whether a request is for a page of a list.
func isPage(req *http.Request) bool { return req.URL.Query().Get("limit") != "" }

// limit is the limit of the answer to a request, 0 for none. A watch has no end.
func (g *guard) limit(req *http.Request, resp *http.Response) int64 {
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		return MaxError
	case isWatch(req):
		return 0
	case isPage(req) && g.bounds.Page > 0:
		return g.bounds.Page
	}
	return g.bounds.Answer
}

// SizeError means that an answer is larger than its limit.
type SizeError struct{ Most int64 } // bytes

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the answer is larger than %d MiB after decompression", e.Most>>20)
}

// boundedBody fails when it has returned more than limit bytes.
type boundedBody struct {
	io.ReadCloser
	limit, read int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > b.limit {
		return 0, &SizeError{b.limit}
	}
	return n, err
}

// WaitError means that a server requests a longer wait than MaxWait.
type WaitError struct {
	Status string // of the answer: "Service Unavailable"
	Wait   string // seconds, as in the header
}

// Error implements error.
func (e *WaitError) Error() string {
	return fmt.Sprintf("the server answered %q with a Retry-After of %s s; the longest wait is %.0f s", e.Status,
		e.Wait, MaxWait.Seconds())
}

// waitsTooLong returns an error if client-go would wait longer than MaxWait. client-go accepts only a number of
// seconds.
func waitsTooLong(resp *http.Response) error {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		return nil
	}
	wait := resp.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(wait); err == nil && seconds > int(MaxWait/time.Second) {
		return &WaitError{http.StatusText(resp.StatusCode), wait}
	}
	return nil
}

// RedirectError means that a server redirected a request, and that the redirect was not followed.
type RedirectError struct {
	Method string
	// From and To are scheme, host and port. To is empty if the answer has no valid address.
	From, To string
}

// Error implements error.
func (e *RedirectError) Error() string {
	to := "to an invalid address"
	if e.To != "" {
		to = fmt.Sprintf("to %q", e.To)
	}
	return fmt.Sprintf("%s redirects this %s request %s, and the redirect is not followed; check the server address "+
		"in the kubeconfig (--server) and the "+
		"proxy", e.From, e.Method, to)
}

// redirects are the status codes that net/http follows.
var redirects = map[int]bool{http.StatusMovedPermanently: true, http.StatusFound: true, http.StatusSeeOther: true,
	http.StatusTemporaryRedirect: true, http.StatusPermanentRedirect: true}

// refuseRedirect returns an error for a redirect to another server or scheme. It refuses each redirect of a request
// that writes, because net/http would send the body again or change the request to a read.
func refuseRedirect(req *http.Request, resp *http.Response) error {
	location := resp.Header.Get("Location")
	if !redirects[resp.StatusCode] || location == "" {
		return nil
	}
	e := &RedirectError{Method: req.Method, From: origin(req.URL)}
	to, err := req.URL.Parse(location)
	if err != nil {
		return e
	}
	e.To = origin(to)
	if e.To == e.From && (req.Method == http.MethodGet || req.Method == http.MethodHead) {
		return nil
	}
	return e
}

// ports are the default ports of schemes.
var ports = map[string]string{"http": "80", "https": "443"}

// origin is the scheme, host and port of an address, without user, path and query.
func origin(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = ports[scheme]
	}
	return scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

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
