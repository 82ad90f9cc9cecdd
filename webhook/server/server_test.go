// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/ports"
)

const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1",` +
	`"operation":"CREATE"}}`

// offline is a Server that needs no cluster, with a handler of the test and a certificate from files.
type offline struct {
	*Server
	base      string            // the URL of the webhook
	addresses map[string]string // of metrics and probes, by endpoint
	synced    *atomic.Bool
	end       context.CancelFunc
	ended     chan error
}

// options returns options for free ports of the loopback interface.
func options(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	public, private, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{{127, 0, 0, 1}}, nil,
		"")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{CertName: public, KeyName: private} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Host: "127.0.0.1", Port: freePort(t),
		Metrics: loopback(t), Probes: loopback(t),
		Certificates: Certificates{Files: true, Dir: dir}, Log: logr.Discard()}
}

// freePort returns a port that is not in use.
func freePort(t *testing.T) int {
	t.Helper()
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return free[0]
}

// loopback returns a free address.
func loopback(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", freePort(t))
}

// occupy listens on a port.
func occupy(t *testing.T) (l net.Listener, port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return l, int(at.Port())
}

// start runs a server with one handler, at /stamp.
func start(t *testing.T, o Options, handle admission.HandlerFunc) offline {
	t.Helper()
	m, err := newManager(o)
	if err != nil {
		t.Fatal(err)
	}
	source, err := newCertificateSource(m, o)
	if err != nil {
		t.Fatal(err)
	}
	synced := &atomic.Bool{}
	s, err := build(m, o, source, components{handlers: map[string]admission.Handler{StampPath: handle},
		metrics: NewCollector(sources(time.Time{}, time.Time{}, time.Time{})),
		synced:  map[string]func() bool{"records": synced.Load}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	f := offline{Server: s, base: fmt.Sprintf("https://127.0.0.1:%d", o.Port),
		addresses: map[string]string{Metrics: o.Metrics, Probes: o.Probes},
		synced:    synced, end: end, ended: make(chan error, 1)}
	go func() { f.ended <- s.Run(ctx); close(f.ended) }()
	t.Cleanup(func() {
		end()
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
	})
	// Wait for a handshake: a connection is accepted before the server has started.
	poll.True(t, "a server", func() bool {
		c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", o.Port), &tls.Config{InsecureSkipVerify: true})
		return err == nil && c.Close() == nil
	})
	return f
}

// insecure returns a client that does not verify certificates.
func insecure() *http.Client {
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

// answer is the part of a response that tests compare.
type answer struct {
	code        int
	proto, alpn string
	closed      bool // the server closes the connection
	body        string
}

func post(t *testing.T, url string, body io.Reader) answer {
	t.Helper()
	r, err := insecure().Post(url, "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{code: r.StatusCode, proto: r.Proto, alpn: r.TLS.NegotiatedProtocol, closed: r.Close, body: read(t, r)}
}

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// probe sends a request to the endpoint for metrics or probes.
func (f offline) probe(t *testing.T, endpoint, path string) (int, string) {
	t.Helper()
	r, err := http.Get("http://" + f.addresses[endpoint] + path)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, read(t, r)
}

func allow(context.Context, admission.Request) admission.Response { return admission.Allowed("") }

func TestProtocol(t *testing.T) {
	f := start(t, options(t), allow)
	got := post(t, f.base+StampPath, strings.NewReader(review))
	if got.code != http.StatusOK || !strings.Contains(got.body, `"allowed":true`) ||
		!strings.Contains(got.body, `"uid":"1"`) {
		t.Errorf("a review: got %+v", got)
	}
	if got.proto != "HTTP/1.1" || got.alpn == "h2" {
		t.Errorf("got %s, negotiated %q; want HTTP/1.1", got.proto, got.alpn)
	}
	address := strings.TrimPrefix(f.base, "https://")
	for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true,
		tls.VersionTLS13: true} {
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10,
			MaxVersion: version})
		if err == nil {
			err = c.Close()
		}
		if (err == nil) != want {
			t.Errorf("%s: got error %v", tls.VersionName(version), err)
		}
	}
	large := bytes.Repeat([]byte(" "), maxBody)
	if got := post(t, f.base+StampPath, bytes.NewReader(large)); got.code != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: got %+v", got)
	}
	// A body without a stated length is read up to the limit.
	unstated := io.MultiReader(bytes.NewReader(large))
	if got := post(t, f.base+StampPath, unstated); got.code != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body without a stated length: got %+v", got)
	}
	r, err := insecure().Get(f.base + StampPath)
	if err != nil {
		t.Fatal(err)
	}
	if read(t, r); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: got %s", r.Status)
	}
}

// TestPanic checks that the answer to a panic is an HTTP error, to which the failurePolicy applies, and not a denial.
func TestPanic(t *testing.T) {
	f := start(t, options(t), func(_ context.Context, req admission.Request) admission.Response {
		return admission.Allowed(req.UserInfo.Groups[0]) // panics: the user has no groups
	})
	got := post(t, f.base+StampPath, strings.NewReader(review))
	if got.code != http.StatusInternalServerError || strings.Contains(got.body, "allowed") ||
		strings.Contains(got.body, "index") {
		t.Errorf("got %+v", got)
	}
}

func TestProbes(t *testing.T) {
	var mu sync.Mutex
	var logged []string
	o := options(t)
	o.Log = funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		if prefix == "readyz" {
			logged = append(logged, args)
		}
	}, funcr.Options{})
	f := start(t, o, allow)
	if status, body := f.probe(t, Probes, "/livez"); status != http.StatusOK {
		t.Errorf("livez: got %d %s", status, body)
	}
	status, body := f.probe(t, Probes, "/readyz")
	for _, want := range []string{"[+]certificate ok", "[+]draining ok", "[-]records failed"} {
		if !strings.Contains(body, want) {
			t.Errorf("readyz before all records are read: missing %q in %s", want, body)
		}
	}
	if status != http.StatusInternalServerError {
		t.Errorf("readyz before all records are read: got %d", status)
	}
	if _, body := f.probe(t, Probes, "/readyz/records"); !strings.Contains(body, errNotSynced.Error()) {
		t.Errorf("readyz/records: got %s", body)
	}
	f.synced.Store(true)
	for range 2 {
		if status, body := f.probe(t, Probes, "/readyz"); status != http.StatusOK {
			t.Errorf("readyz: got %d %s", status, body)
		}
	}
	mu.Lock()
	want := []string{`"level"=0 "msg"="not ready" "check"="records" "reason"="not everything was read yet"`,
		`"level"=0 "msg"="ready" "check"="records"`}
	if diff := cmp.Diff(want, logged); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	mu.Unlock()
	post(t, f.base+StampPath, strings.NewReader(review))
	if status, body := f.probe(t, Metrics, "/metrics"); status != http.StatusOK ||
		!strings.Contains(body, `controller_runtime_webhook_requests_total{code="200",webhook="/stamp"}`) {
		t.Errorf("metrics: got %d %s", status, body)
	}
}

// TestDrain sends requests during the shutdown.
func TestDrain(t *testing.T) {
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	o := options(t)
	o.ShutdownDelay = time.Hour
	over := make(chan time.Time)
	f := start(t, o, func(_ context.Context, req admission.Request) admission.Response {
		if req.Name == "slow" {
			entered <- struct{}{}
			<-leave
		}
		return admission.Allowed("")
	})
	f.synced.Store(true)
	answered := make(chan string, 1)
	go func() {
		r, err := insecure().Post(f.base+StampPath, "application/json",
			strings.NewReader(strings.Replace(review, `"uid"`, `"name":"slow","uid"`, 1)))
		if err != nil {
			answered <- err.Error()
			return
		}
		b, err := io.ReadAll(r.Body)
		answered <- fmt.Sprint(string(b), errors.Join(err, r.Body.Close()))
	}()
	<-entered
	f.after = func(d time.Duration) <-chan time.Time {
		if d != o.ShutdownDelay {
			t.Errorf("requests are answered for %s, want %s", d, o.ShutdownDelay)
		}
		return over
	}
	f.end()
	poll.True(t, "readyz fails", func() bool {
		status, body := f.probe(t, Probes, "/readyz")
		return status == http.StatusInternalServerError && strings.Contains(body, "[-]draining failed")
	})
	if got := post(t, f.base+StampPath, strings.NewReader(review)); !strings.Contains(got.body, `"allowed":true`) ||
		!got.closed {
		t.Errorf("a request during the delay: got %+v", got)
	}
	close(over)
	poll.True(t, "the listener closes", func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(f.base, "https://"))
		return err != nil || c.Close() != nil
	})
	close(leave)
	if got := <-answered; !strings.Contains(got, `"allowed":true`) {
		t.Errorf("the pending request: got %s", got)
	}
	if err := <-f.ended; err != nil {
		t.Error(err)
	}
}

func TestPortInUse(t *testing.T) {
	l, port := occupy(t)
	for endpoint, use := range map[string]func(*Options){
		Requests: func(o *Options) { o.Port = port },
		Metrics:  func(o *Options) { o.Metrics = l.Addr().String() },
		Probes:   func(o *Options) { o.Probes = l.Addr().String() },
	} {
		o := options(t)
		use(&o)
		s, err := New(o)
		if err == nil {
			err = s.Run(t.Context())
		}
		var listen *transport.ListenError
		if !errors.As(err, &listen) || !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatalf("%s: got error %v", endpoint, err)
		}
		if listen.Endpoint != endpoint || !strings.Contains(err.Error(), l.Addr().String()) {
			t.Errorf("%s: got error %v", endpoint, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestBodyLimit checks that a body that exceeds the common limit is refused with an HTTP error, and that the bytes of a
// request are released.
func TestBodyLimit(t *testing.T) {
	limits := bodyLimits{usual: semaphore.NewWeighted(16)}
	within := make(chan int, 1)
	var handler http.Handler
	handler = protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		second := httptest.NewRecorder()
		handler.ServeHTTP(second, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 10))))
		within <- second.Code
		w.WriteHeader(http.StatusOK)
	}), limits, func() bool { return false }, logr.Discard())
	for range 2 {
		first := httptest.NewRecorder()
		handler.ServeHTTP(first, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 10))))
		if got := <-within; first.Code != http.StatusOK || got != http.StatusServiceUnavailable {
			t.Errorf("got %d, and meanwhile %d", first.Code, got)
		}
	}
}
