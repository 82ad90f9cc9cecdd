// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/proxy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

// secretValue is in the records of these tests. No log may contain it.
const secretValue = "invented-secret-value"

// watched is a Releases that runs until the test ends, with its index and its log.
type watched struct {
	*index.Releases
	*index.Index
	log *lines
}

func watchRecords(t *testing.T, config *rest.Config, namespaces ...string) watched {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := watched{Index: index.New(namespaces...), log: &lines{}}
	w.Releases = index.NewReleases(client.CoreV1(), namespaces, w.Index, w.log.logger())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(t.Context()) }()
	t.Cleanup(func() { // after the test's context is done
		if err := <-ended; err != nil {
			t.Errorf("the watch ended with %v", err)
		}
		for _, line := range w.log.all() {
			if strings.Contains(line, secretValue) {
				t.Errorf("the log quotes a record: %s", line)
			}
		}
	})
	return w
}

func (w watched) awaitSync(t *testing.T) {
	t.Helper()
	poll.Until(t, func() error {
		if !w.Synced() {
			return errors.New("not synced")
		}
		return nil
	})
}

// awaitOwners waits until an object has these owners ("namespace/name:revision").
func (w watched) awaitOwners(t *testing.T, k object.Key, want ...string) {
	t.Helper()
	poll.Until(t, func() error {
		var got []string
		for _, r := range owners(w.Index, k) {
			got = append(got, r.String())
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("owners of %s: %v, want %v", k, got, want)
		}
		return nil
	})
}

// awaitDamaged waits until a number of records could not be read.
func (w watched) awaitDamaged(t *testing.T, want int) {
	t.Helper()
	poll.Until(t, func() error {
		if _, _, got := w.Size(); got != want {
			return fmt.Errorf("%d unreadable records, want %d", got, want)
		}
		return nil
	})
}

// lines is a log.
type lines struct {
	mu  sync.Mutex
	got []string
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.got = append(l.got, args)
	}, funcr.Options{Verbosity: 5})
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

// naming counts the lines that report a Secret as unreadable.
func (l *lines) naming(secret string) (n int) {
	for _, line := range l.all() {
		if strings.Contains(line, "could not be read") && strings.Contains(line, fmt.Sprintf("%q", secret)) {
			n++
		}
	}
	return n
}

// api is an API server for Secrets. The test receives each request and writes the answer.
type api struct {
	*httptest.Server
	t        *testing.T
	requests chan *exchange
}

// exchange is a request and its answer.
type exchange struct {
	t     *testing.T
	query url.Values
	path  string
	done  chan struct{}
	mu    sync.Mutex // guards w: the test writes, and the server ends the answer when the client disconnects
	w     http.ResponseWriter
}

func serveAPI(t *testing.T) *api {
	t.Helper()
	a := &api{t: t, requests: make(chan *exchange)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		e := &exchange{t: t, query: r.URL.Query(), path: r.URL.Path, w: w, done: make(chan struct{})}
		select {
		case a.requests <- e:
		case <-r.Context().Done():
			return
		}
		select {
		case <-e.done:
		case <-r.Context().Done():
		}
		e.mu.Lock()
		defer e.mu.Unlock()
	}))
	t.Cleanup(func() { proxy.CloseServer(a.Server) })
	return a
}

func (a *api) config() *rest.Config { return &rest.Config{Host: a.URL, QPS: -1} }

// next waits for the next request.
func (a *api) next() *exchange {
	a.t.Helper()
	select {
	case e := <-a.requests:
		return e
	case <-time.After(poll.Deadline):
		a.t.Fatal("no request")
		return nil
	}
}

// send writes an event to a watch.
func (e *exchange) send(kind string, object any) {
	e.t.Helper()
	e.write(map[string]any{"type": kind, "object": object})
}

// answer writes a complete answer.
func (e *exchange) answer(status int, body any) {
	e.t.Helper()
	e.mu.Lock()
	e.w.WriteHeader(status)
	e.mu.Unlock()
	e.write(body)
	e.end()
}

func (e *exchange) write(body any) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := json.NewEncoder(e.w).Encode(body); err != nil {
		e.t.Error(err)
	}
	if err := http.NewResponseController(e.w).Flush(); err != nil {
		e.t.Error(err)
	}
}

func (e *exchange) end() { close(e.done) }

// listed ends the list at the beginning of a watch.
func (e *exchange) listed(version string) {
	e.t.Helper()
	e.send("BOOKMARK", secretOf("", "", version, nil, map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
}

// expire reports that the resource version is too old, and ends the watch. The client may disconnect before all is
// written.
func (e *exchange) expire() {
	e.mu.Lock()
	_ = json.NewEncoder(e.w).Encode(map[string]any{"type": "ERROR",
		"object": &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
			Message: "too old"}})
	e.mu.Unlock()
	e.end()
}

func secretOf(namespace, name, version string, value []byte, annotations map[string]string) *corev1.Secret {
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}, Type: "helm.sh/release.v1",
		Data: map[string][]byte{"release": value},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "1", ResourceVersion: version,
			Annotations: annotations}}
}

// deployed returns the record of a release of Fleet. Its manifest has one ConfigMap with the name of the release.
func deployed(t *testing.T, namespace, name string, revision int, version string) *corev1.Secret {
	t.Helper()
	return secretOf(namespace, fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision), version,
		valueOf(t, namespace, name, revision, configMap(name)), nil)
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  password: " + secretValue + "\n"
}

// keyOf returns the key of the ConfigMap of deployed.
func keyOf(namespace, name string) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: namespace, Name: name}
}

// valueOf returns a record in the encoding of its Secret.
func valueOf(t *testing.T, namespace, name string, revision int, manifest string) []byte {
	t.Helper()
	annotations := map[string]string{"fleet.cattle.io/bundle-id": name}
	document, err := json.Marshal(map[string]any{"name": name, "namespace": namespace, "version": revision,
		"info":     map[string]any{"status": "deployed"},
		"chart":    map[string]any{"metadata": map[string]any{"annotations": annotations}},
		"manifest": manifest})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(document); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.AppendEncode(nil, out.Bytes())
}
