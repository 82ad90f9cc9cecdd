// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// watched is a certificateSecret that is reconciled with each change of its Secret, which is empty at first.
type watched struct {
	*certificateSecret
	client client.Client
	logged *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func emptySecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "cert"}}
}

func watchSecret(t *testing.T) watched {
	t.Helper()
	w := watched{client: fake.NewClientBuilder().WithObjects(emptySecret()).Build(), logged: &lockedBuffer{}}
	log := funcr.New(func(prefix, args string) {
		w.logged.mu.Lock()
		defer w.logged.mu.Unlock()
		w.logged.WriteString(prefix + " " + args + "\n")
	}, funcr.Options{})
	w.certificateSecret = &certificateSecret{
		key:      client.ObjectKeyFromObject(emptySecret()),
		names:    []string{"hook.system.svc"},
		injector: caInjector{reader: w.client, writer: w.client, log: log},
		log:      log,
	}
	w.reconcile(t)
	return w
}

func (w watched) reconcile(t *testing.T) {
	t.Helper()
	if _, err := w.Reconcile(t.Context(), reconcile.Request{}); err != nil {
		t.Fatal(err)
	}
}

func (w watched) put(t *testing.T, public, private []byte) {
	t.Helper()
	s := emptySecret()
	if public != nil || private != nil {
		s.Data = map[string][]byte{CertName: public, KeyName: private}
	}
	if err := w.client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t)
	w.reconcile(t) // without a change, it does not use the Secret again
}

// TestSecret changes, empties, deletes and creates the Secret.
func TestSecret(t *testing.T) {
	now := time.Now()
	first, second := newPair(t, 1, now.Add(time.Minute), "hook.system.svc"),
		newPair(t, 2, now.Add(-time.Minute), "other")
	w := watchSecret(t)

	if err := checkCertificate(w, now); err == nil ||
		!strings.Contains(err.Error(), "none was read from Secret system/cert") {
		t.Errorf("empty: got error %v", err)
	}
	if leaf, err := leafOf(w); err == nil {
		t.Errorf("empty: got certificate %v", leaf)
	}
	w.put(t, first.public, first.private)
	if got := serial(w); got != 1 {
		t.Errorf("got certificate %d, want the first", got)
	}
	if err := checkCertificate(w, now); err != nil {
		t.Error(err)
	}
	if leaf, err := leafOf(w); err != nil || leaf.NotAfter.Unix() != now.Add(time.Minute).Unix() {
		t.Errorf("expiry: got %v, %v", leaf, err)
	}
	unusable := []struct{ public, private []byte }{
		{first.public, second.private},
		{[]byte("no certificate"), first.private},
		{first.public, nil},
		{first.private, first.public}, // the error must not contain the key
	}
	for i, b := range unusable {
		w.put(t, b.public, b.private)
		if n := w.Failures(); n != float64(i+1) {
			t.Errorf("%v failures, want %d", n, i+1)
		}
	}
	w.put(t, nil, nil)
	if err := w.client.Delete(t.Context(), emptySecret()); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t)
	if !strings.Contains(w.logged.String(), "is deleted") {
		t.Error("the deletion is not logged")
	}
	if got := serial(w); got != 1 {
		t.Errorf("after the deletion: got certificate %d, want the first", got)
	}

	s := emptySecret()
	s.Data = map[string][]byte{CertName: second.public, KeyName: second.private}
	if err := w.client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t)
	if got := serial(w); got != 2 {
		t.Errorf("got certificate %d, want the second", got)
	}
	if err := checkCertificate(w, now); err == nil || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("expired: got error %v", err)
	}
	if !strings.Contains(w.logged.String(), "does not contain a name") {
		t.Error("the missing name is not logged")
	}
	for _, p := range []pair{first, second} {
		if body := strings.Split(string(p.private), "\n")[1]; strings.Contains(w.logged.String(), body) {
			t.Error("a key was logged")
		}
	}
}

// TestNoMarker checks that the error of a directory that cannot be written names the directory.
func TestNoMarker(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if err := markCertificate(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got error %v", err)
	}
}

// TestRotationUnderHandshakes replaces the certificate repeatedly while clients connect. Each handshake uses a valid
// pair, and none uses an older pair than the one in use at its beginning.
func TestRotationUnderHandshakes(t *testing.T) {
	const rotations, clientCount = 8, 4
	end := time.Now().Add(time.Hour)
	w, trusted := watchSecret(t), x509.NewCertPool()
	pairs := make([]pair, rotations)
	for i := range pairs {
		pairs[i] = newPair(t, int64(i+1), end, "hook.system.svc")
		trusted.AppendCertsFromPEM(pairs[i].public)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12,
		GetCertificate: w.GetCertificate})
	if err != nil {
		t.Fatal(err)
	}
	var clients, server sync.WaitGroup
	var done atomic.Int64 // handshakes
	server.Go(func() { accept(l) })
	if c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: trusted,
		ServerName: "hook.system.svc"}); err == nil {
		t.Errorf("a handshake without a certificate succeeded: %v", c.Close())
	}
	w.put(t, pairs[0].public, pairs[0].private)

	ctx, stop := context.WithCancel(t.Context())
	for range clientCount {
		clients.Go(func() {
			for ctx.Err() == nil {
				before := serial(w)
				c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: trusted,
					ServerName: "hook.system.svc"})
				if err != nil {
					t.Errorf("a handshake failed: %v", err)
					return
				}
				if got := c.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got < before {
					t.Errorf("served certificate %d after %d", got, before)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				done.Add(1)
			}
		})
	}
	handshakes := func() { // waits until each client has connected again, about twice
		before := done.Load()
		poll.True(t, "handshakes", func() bool { return done.Load() > before+2*clientCount })
	}
	for _, p := range pairs[1:] {
		handshakes()
		w.put(t, p.public, p.private)
	}
	handshakes()
	stop()
	clients.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	server.Wait()
}

// accept completes handshakes until the listener closes.
func accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if t, ok := c.(*tls.Conn); ok && t.Handshake() == nil {
			_, _ = t.Read(make([]byte, 1)) // until the client closes
		}
		_ = c.Close()
	}
}
