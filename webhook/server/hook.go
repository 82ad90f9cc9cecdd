// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/certs"
)

// maxBody is the size of a body that is refused: as much as controller-runtime reads. It holds an object as it was and as it will be, of 3 MiB
// each, which is twice what the API server stores.
const maxBody = 7 << 20

// maxBodies bounds what bodies may be read at once, in bytes: whoever can reach the port may post. Decoding one takes some times its size.
const maxBodies = 32 << 20

// readTimeout is for a whole request. The API server waits two seconds for the answer to one.
const readTimeout = 10 * time.Second

// newHook makes controller-runtime's webhook server, which times out on headers and idle connections by itself.
func newHook(o Options, source certs.Source, handlers map[string]admission.Handler, draining func() bool) webhook.Server {
	s := webhook.NewServer(webhook.Options{Host: o.Host, Port: o.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.NextProtos = []string{"http/1.1"} // not h2: one connection could ask for any number of streams at once, and reset them (CVE-2023-44487)
		c.GetCertificate = source.GetCertificate
	}}})
	reading := semaphore.NewWeighted(maxBodies)
	for path, handler := range handlers {
		w := &admission.Webhook{Handler: handler, LogConstructor: func(logr.Logger, *admission.Request) logr.Logger { return o.Log }}
		// A recovered panic would be answered with a denial, whatever the failurePolicy.
		s.Register(path, protect(w.WithRecoverPanic(false), reading, draining, o.Log))
	}
	return s
}

// protect keeps from a handler what is no request for it, and from the API server what is no answer. What goes wrong is an HTTP error: to that
// the failurePolicy applies.
func protect(next http.Handler, reading *semaphore.Weighted, draining func() bool, log logr.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "admission reviews are posted", http.StatusMethodNotAllowed)
			return
		case r.ContentLength >= maxBody:
			w.Header().Set("Connection", "close") // and the body is not read
			http.Error(w, fmt.Sprintf("the admission review is larger than %d bytes", maxBody), http.StatusRequestEntityTooLarge)
			return
		}
		size := r.ContentLength
		if size < 0 { // it does not say
			size = maxBody
		}
		if !reading.TryAcquire(size) {
			w.Header().Set("Connection", "close")
			http.Error(w, "there is too much to read", http.StatusServiceUnavailable)
			return
		}
		defer reading.Release(size)
		if draining() {
			w.Header().Set("Connection", "close") // the next request finds another replica, and no connection that is about to end
		}
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout)); err != nil {
			log.V(1).Info("a request has no deadline", "error", err.Error())
		}
		defer func() {
			if fault := recover(); fault != nil {
				// What is recovered may quote the request; the stack does not.
				log.Error(fmt.Errorf("fault of type %T", fault), "a request was not answered", "path", r.URL.Path, "stack", string(debug.Stack()))
				http.Error(w, "the webhook failed", http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
