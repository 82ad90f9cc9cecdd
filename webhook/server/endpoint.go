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

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// maxBody is the size from which a body is refused, as in controller-runtime. A review contains two states of an
// object, each of up to 3 MiB, which is twice the size that the API server stores.
const maxBody = 7 << 20

// maxUsual is the size of the largest body that the API server usually sends.
const maxUsual = 1 << 20

// requestsTLS is the configuration of the port for admission requests.
func requestsTLS(source certificateSource) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// Not h2: one connection could open and reset any number of streams (CVE-2023-44487).
		NextProtos:     []string{"http/1.1"},
		GetCertificate: source.GetCertificate,
	}
}

// requestsHandler serves admission requests, by path. Of controller-runtime's webhook server it uses only the
// multiplexer, which counts requests: that server has no option for its listener, and it reads headers of 1 MiB for 32
// seconds.
func requestsHandler(handlers map[string]ctrladmission.Handler, draining func() bool, log logr.Logger) http.Handler {
	s := webhook.NewServer(webhook.Options{})
	limits := newBodyLimits()
	logger := func(logr.Logger, *ctrladmission.Request) logr.Logger { return log }
	for path, handler := range handlers {
		w := &ctrladmission.Webhook{Handler: handler, LogConstructor: logger}
		// controller-runtime would answer a panic with a denial, to which the failurePolicy does not apply.
		s.Register(path, protect(w.WithRecoverPanic(false), limits, draining, log))
	}
	return s.WebhookMux()
}

// bodyLimits bound the bytes of all bodies in memory: any client that reaches the port may send bodies, and decoding
// needs about twenty times their size. Bodies that are large, or do not state their size, have a separate limit, so
// that they do not block bodies of usual size.
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
		text := fmt.Sprintf("the admission review is larger than %d bytes", large.Limit)
		http.Error(w, text, http.StatusRequestEntityTooLarge)
	case errors.Is(err, errTooManyBytes):
		http.Error(w, errTooManyBytes.Error(), http.StatusServiceUnavailable)
	default:
		http.Error(w, "the admission review was not received", http.StatusBadRequest)
	}
}

// protect passes requests to a handler within the limits of size. Failures are HTTP errors, because the
// failurePolicy applies to these.
func protect(next http.Handler, limits bodyLimits, draining func() bool, log logr.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "admission reviews are sent by POST", http.StatusMethodNotAllowed)
			return
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
				log.Error(fmt.Errorf("fault of type %T", fault), "a request was not answered",
					"path", r.URL.Path, "stack", string(debug.Stack()))
				http.Error(w, "the webhook failed", http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
