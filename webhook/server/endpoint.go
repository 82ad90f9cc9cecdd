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
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// maxBody is the size of a body that is refused: as much as controller-runtime reads. It holds an object as it was and as it will be, of 3 MiB
// each, which is twice what the API server stores.
const maxBody = 7 << 20

// maxUsual is the size of the largest body that the API server sends from day to day.
const maxUsual = 1 << 20

// readTimeout is for a whole request: the API server waits no longer for the answer to one.
const readTimeout = 2 * time.Second

// writeTimeout is for its answer, from the same moment on. It leaves time to answer what came late, as the API server can be told to wait longer.
const writeTimeout = 2 * readTimeout

// newHook makes controller-runtime's webhook server, which times out on headers and idle connections by itself.
func newHook(o Options, source certificateSource, handlers map[string]admission.Handler, draining func() bool) webhook.Server {
	s := webhook.NewServer(webhook.Options{Host: o.Host, Port: o.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.NextProtos = []string{"http/1.1"} // not h2: one connection could ask for any number of streams at once, and reset them (CVE-2023-44487)
		c.GetCertificate = source.GetCertificate
	}}})
	room := newRooms()
	for path, handler := range handlers {
		w := &admission.Webhook{Handler: handler, LogConstructor: func(logr.Logger, *admission.Request) logr.Logger { return o.Log }}
		// A recovered panic would be answered with a denial, whatever the failurePolicy.
		s.Register(path, protect(w.WithRecoverPanic(false), room, draining, o.Log))
	}
	return s
}

// rooms bound, in bytes, the bodies that are held at once: whoever can reach the port may post, and decoding one takes some twenty times its
// size. Bodies that are large, or do not say how large they are, have a room of their own: in the other they would leave none for the usual ones.
type rooms struct{ usual, large *semaphore.Weighted }

func newRooms() rooms {
	return rooms{usual: semaphore.NewWeighted(maxBody), large: semaphore.NewWeighted(maxBody)}
}

// of is the room for the body of a request.
func (r rooms) of(req *http.Request) *semaphore.Weighted {
	if req.ContentLength < 0 || req.ContentLength > maxUsual {
		return r.large
	}
	return r.usual
}

// body takes room for what has arrived of it; what its header promises takes none.
type body struct {
	io.ReadCloser
	room  *semaphore.Weighted
	taken int64
}

var errNoRoom = errors.New("there is too much to read")

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.room.TryAcquire(int64(n)) {
		return 0, errNoRoom
	}
	b.taken += int64(n)
	return n, err
}

// leave gives the room back.
func (b *body) leave() { b.room.Release(b.taken) }

// refuse answers that a body cannot be read, and why.
func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close") // and the rest of it is not read
	large, ok := errors.AsType[*http.MaxBytesError](err)
	switch {
	case ok:
		http.Error(w, fmt.Sprintf("the admission review is larger than %d bytes", large.Limit), http.StatusRequestEntityTooLarge)
	case errors.Is(err, errNoRoom):
		http.Error(w, errNoRoom.Error(), http.StatusServiceUnavailable)
	default:
		http.Error(w, "the admission review did not arrive", http.StatusBadRequest)
	}
}

// protect keeps from a handler what is no request for it, and from the API server what is no answer. What goes wrong is an HTTP error: to that
// the failurePolicy applies.
func protect(next http.Handler, room rooms, draining func() bool, log logr.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "admission reviews are posted", http.StatusMethodNotAllowed)
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
		arriving := &body{ReadCloser: r.Body, room: room.of(r)}
		defer arriving.leave()
		review, err := io.ReadAll(http.MaxBytesReader(w, arriving, maxBody-1))
		if err != nil {
			refuse(w, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(review))
		if draining() {
			w.Header().Set("Connection", "close") // the next request finds another replica, and no connection that is about to end
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
