// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// maxBody is the size from which a body is refused, as in controller-runtime. A review contains two states of an object, each
// of up to 3 MiB, which is twice the size that the API server stores.
const maxBody = 7 << 20

// maxUsual is the size of the largest body that the API server usually sends.
const maxUsual = 1 << 20

// readTimeout is for a whole request. The API server does not wait longer for an answer.
const readTimeout = 2 * time.Second

// writeTimeout is for the answer, from the start of the request. It leaves time to answer a request that arrived late,
// because the API server can be configured to wait longer.
const writeTimeout = 2 * readTimeout

// newEndpoint makes controller-runtime's webhook server. It has its own timeouts for headers and idle connections.
func newEndpoint(o Options, source certificateSource, handlers map[string]ctrladmission.Handler, draining func() bool) webhook.Server {
	s := webhook.NewServer(webhook.Options{Host: o.Host, Port: o.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.NextProtos = []string{"http/1.1"} // not h2: one connection could open and reset any number of streams (CVE-2023-44487)
		c.GetCertificate = source.GetCertificate
	}}})
	limits := newBodyLimits()
	for path, handler := range handlers {
		w := &ctrladmission.Webhook{Handler: handler, LogConstructor: func(logr.Logger, *ctrladmission.Request) logr.Logger { return o.Log }}
		// controller-runtime would answer a panic with a denial, to which the failurePolicy does not apply.
		s.Register(path, protect(w.WithRecoverPanic(false), limits, draining, o.Log))
	}
	return s
}

// bodyLimits bound the bytes of all bodies in memory: any client that reaches the port may send bodies, and decoding needs
// about twenty times their size. Bodies that are large, or do not state their size, have a separate limit, so that they do not
// block bodies of usual size.
type bodyLimits struct{ usual, large *semaphore.Weighted }

func newBodyLimits() bodyLimits {
	return bodyLimits{usual: semaphore.NewWeighted(maxBody), large: semaphore.NewWeighted(maxBody)}
}

// of returns the limit for the body of a request.
func (l bodyLimits) of(req *http.Request) *semaphore.Weighted {
	if req.ContentLength < 0 || req.ContentLength > maxUsual {
		return l.large
	}
	return l.usual
}

// limitedBody counts the received bytes, not the size in the header.
type limitedBody struct {
	io.ReadCloser
	limit *semaphore.Weighted
	taken int64
}

var errTooManyBytes = errors.New("too many bytes of admission reviews are received at the same time")

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.limit.TryAcquire(int64(n)) {
		return 0, errTooManyBytes
	}
	b.taken += int64(n)
	return n, err
}

// release returns the bytes to the limit.
func (b *limitedBody) release() { b.limit.Release(b.taken) }

// refuse answers that a body could not be read, with the reason.
func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close") // the rest of the body is not read
	large, ok := errors.AsType[*http.MaxBytesError](err)
	switch {
	case ok:
		http.Error(w, fmt.Sprintf("the admission review is larger than %d bytes", large.Limit), http.StatusRequestEntityTooLarge)
	case errors.Is(err, errTooManyBytes):
		http.Error(w, errTooManyBytes.Error(), http.StatusServiceUnavailable)
	default:
		http.Error(w, "the admission review was not received", http.StatusBadRequest)
	}
}

// protect passes requests to a handler within the limits of time and size. Failures are HTTP errors, because the
// failurePolicy applies to these.
func protect(next http.Handler, limits bodyLimits, draining func() bool, log logr.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "admission reviews are sent by POST", http.StatusMethodNotAllowed)
			return
		}
		now, connection := time.Now(), http.NewResponseController(w)
		if err := errors.Join(connection.SetReadDeadline(now.Add(readTimeout)), connection.SetWriteDeadline(now.Add(writeTimeout))); err != nil {
			log.V(1).Info("a request has no deadline", "error", err.Error())
		}
		if r.ContentLength >= maxBody {
			refuse(w, &http.MaxBytesError{Limit: maxBody - 1})
			return
		}
		body := &limitedBody{ReadCloser: r.Body, limit: limits.of(r)}
		defer body.release()
		review, err := io.ReadAll(http.MaxBytesReader(w, body, maxBody-1))
		if err != nil {
			refuse(w, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(review))
		if draining() {
			w.Header().Set("Connection", "close") // so that the next request goes to another replica
		}
		defer func() {
			if fault := recover(); fault != nil {
				// The recovered value may quote the request, and the stack does not.
				log.Error(fmt.Errorf("fault of type %T", fault), "a request was not answered", "path", r.URL.Path, "stack", string(debug.Stack()))
				http.Error(w, "the webhook failed", http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
