// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// watched is a running certificateSecret. Its Secret is empty at first.
type watched struct {
	*certificateSecret
	secrets typedcorev1.SecretInterface
	dir     string
	logged  *lockedBuffer
}

// fakeSecrets is a fake client with the method by which its clientset reports that it cannot stream lists.
type fakeSecrets struct {
	typedcorev1.SecretsGetter
	*fake.Clientset
}

func secretsOf(c *fake.Clientset) fakeSecrets { return fakeSecrets{c.CoreV1(), c} }

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func watchSecret(t *testing.T) watched {
	t.Helper()
	key := types.NamespacedName{Namespace: "system", Name: "cert"}
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	w := watched{secrets: client.CoreV1().Secrets(key.Namespace), dir: t.TempDir(), logged: &lockedBuffer{}}
	log := funcr.New(func(prefix, args string) {
		w.logged.mu.Lock()
		defer w.logged.mu.Unlock()
		w.logged.WriteString(prefix + " " + args + "\n")
	}, funcr.Options{})
	w.certificateSecret = newCertificateSecret(secretsOf(client), key, []string{"hook.system.svc"}, w.dir,
		func([]byte) {}, log)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w watched) put(t *testing.T, public, private []byte) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "cert"}}
	if public != nil || private != nil {
		s.Data = map[string][]byte{CertName: public, KeyName: private}
	}
	if _, err := w.secrets.Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
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
	poll.True(t, "the first certificate", func() bool { return serial(w) == 1 })
	if err := checkCertificate(w, now); err != nil {
		t.Error(err)
	}
	if leaf, err := leafOf(w); err != nil || leaf.NotAfter.Unix() != now.Add(time.Minute).Unix() {
		t.Errorf("expiry: got %v, %v", leaf, err)
	}
	poll.True(t, "the marker", func() bool {
		marker, err := os.ReadFile(filepath.Join(w.dir, CertName))
		return err == nil && bytes.Equal(marker, first.public)
	})

	unusable := []struct{ public, private []byte }{
		{first.public, second.private},
		{[]byte("no certificate"), first.private},
		{first.public, nil},
		{first.private, first.public}, // the error must not contain the key
	}
	for i, b := range unusable {
		w.put(t, b.public, b.private)
		poll.True(t, "a failure", func() bool { return w.Failures() == float64(i+1) })
	}
	w.put(t, nil, nil)
	if err := w.secrets.Delete(t.Context(), "cert", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	poll.True(t, "the deletion", func() bool { return strings.Contains(w.logged.String(), "is deleted") })
	if got := serial(w); got != 1 {
		t.Errorf("after the deletion: got certificate %d, want the first", got)
	}

	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "cert"},
		Data: map[string][]byte{CertName: second.public, KeyName: second.private}}
	if _, err := w.secrets.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	poll.True(t, "the second certificate", func() bool { return serial(w) == 2 })
	if err := checkCertificate(w, now); err == nil || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("expired: got error %v", err)
	}
	poll.True(t, "the log of the missing name", func() bool {
		return strings.Contains(w.logged.String(),
			"does not contain a name")
	})
	for _, p := range []pair{first, second} {
		if body := strings.Split(string(p.private), "\n")[1]; strings.Contains(w.logged.String(), body) {
			t.Error("a key was logged")
		}
	}
}

// TestSecretWithoutMarker checks that the source ends with an error if the marker cannot be written, for which
// cert-controller waits.
func TestSecretWithoutMarker(t *testing.T) {
	p := newPair(t, 1, time.Now().Add(time.Hour))
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "cert"},
		Data: map[string][]byte{CertName: p.public, KeyName: p.private}})
	s := newCertificateSecret(secretsOf(client), types.NamespacedName{Namespace: "system", Name: "cert"}, nil,
		filepath.Join(t.TempDir(), "none"), func([]byte) {}, funcr.New(func(string, string) {}, funcr.Options{}))
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "writing the public certificate") {
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
	server.Go(func() { accept(l) })
	if c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: trusted,
		ServerName: "hook.system.svc"}); err == nil {
		t.Errorf("a handshake without a certificate succeeded: %v", c.Close())
	}
	w.put(t, pairs[0].public, pairs[0].private)
	poll.True(t, "the first certificate", func() bool { return serial(w) == 1 })

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
			}
		})
	}
	for i, p := range pairs[1:] {
		w.put(t, p.public, p.private)
		poll.True(t, "the next certificate", func() bool { return serial(w) == int64(i+2) })
	}
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
