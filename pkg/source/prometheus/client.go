// SPDX-License-Identifier: Apache-2.0

// Package prometheus sends queries to the HTTP API of Prometheus, which Thanos and Mimir have too. It limits the size
// and the time of answers.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

const (
	// maxAnswer is the size of the largest answer in bytes, after decompression. A series has about 400 bytes.
	maxAnswer = 256 << 20
	// maxMessage is the number of characters of a message of the server that are shown.
	maxMessage = 1000
	// requestTimeout is the time for one query.
	requestTimeout = 2 * time.Minute
)

// Options of a Client.
type Options struct {
	// URL is the address of the server, without credentials. Its path is that of the API without /api/v1.
	URL string
	// TokenFile has a bearer token, CAFile the certificates of authorities as PEM. Empty for none.
	TokenFile, CAFile string
	// Header is sent with each request.
	Header http.Header
}

// Client sends queries to one server.
type Client struct{ api v1.API }

// New makes a client. It reads the files, and makes no request.
func New(o Options) (*Client, error) {
	config := &rest.Config{Host: o.URL, BearerTokenFile: o.TokenFile, Timeout: requestTimeout,
		TLSClientConfig: rest.TLSClientConfig{CAFile: o.CAFile}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &withHeader{next, o.Header} })
	client, err := transport.Client(config, transport.Bounds{Answer: maxAnswer})
	if err != nil {
		return nil, err
	}
	c, err := api.NewClient(api.Config{Address: o.URL, Client: client})
	if err != nil {
		return nil, err
	}
	return &Client{v1.NewAPI(c)}, nil
}

// Query returns the series of an expression at a time; the zero time is the present time of the server. If the answer
// is not complete, warnings say why. No error quotes the address, the token or the body of an answer.
func (c *Client) Query(ctx context.Context, expression string, at time.Time) (series model.Vector, warnings []string,
	err error) {
	value, warned, err := c.api.Query(ctx, expression, at)
	for _, w := range warned {
		warnings = append(warnings, message(w))
	}
	if err != nil {
		return nil, warnings, explained(err)
	}
	series, ok := value.(model.Vector)
	if !ok {
		return nil, warnings, fmt.Errorf("the server answered with a %T, and not with series", value)
	}
	return series, warnings, nil
}

// explained returns the error of a query without the texts that quote an address or an answer.
func explained(err error) error {
	if redirect, ok := errors.AsType[*transport.RedirectError](err); ok {
		return fmt.Errorf("the server redirects to %q, and the redirect is not followed", redirect.To)
	}
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	if of, ok := errors.AsType[*v1.Error](err); ok && of.Type != v1.ErrBadResponse {
		return fmt.Errorf("the server answered: %s", message(of.Msg))
	}
	_, broken := errors.AsType[net.Error](err)
	_, large := errors.AsType[*transport.SizeError](err)
	if broken || large || errors.Is(err, context.Canceled) {
		return err
	}
	return errNoAPI
}

var errNoAPI = errors.New("the answer is not that of the HTTP API of Prometheus, or not complete")

// message returns a text of the server for one line.
func message(s string) string {
	out := []rune(escape.WithoutCredentials(escape.Line(s)))
	return string(out[:min(len(out), maxMessage)])
}

// withHeader adds a header to each request.
type withHeader struct {
	next   http.RoundTripper
	header http.Header
}

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (w *withHeader) WrappedRoundTripper() http.RoundTripper { return w.next }

// RoundTrip implements http.RoundTripper.
func (w *withHeader) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range w.header {
		req.Header[name] = values
	}
	return w.next.RoundTrip(req)
}
