// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// authorityName is the key in the Secret with the certificate of cert-controller's authority.
const authorityName = "ca.crt"

// certificateSecret serves the current certificate of one Secret. It logs and counts a pair that cannot be used. The
// previous pair then stays in use, also if the Secret becomes empty or is deleted.
type certificateSecret struct {
	key    types.NamespacedName
	names  []string
	marker string
	client typedcorev1.SecretsGetter
	log    logr.Logger

	current  atomic.Pointer[tls.Certificate]
	failures atomic.Uint64
	marked   bool // used only by the goroutine that receives changes
	// onAuthority receives the authority, in PEM, of each state of the Secret that has one.
	onAuthority func(authority []byte)
}

var _ certificateSource = (*certificateSecret)(nil)

// newCertificateSecret makes the source. names are the DNS names that the certificate should have; a missing name is
// logged. dir is an existing, writable directory: the source writes the public certificate there once, because
// cert-controller waits for this file.
func newCertificateSecret(client typedcorev1.SecretsGetter, key types.NamespacedName, names []string, dir string,
	onAuthority func([]byte), log logr.Logger) *certificateSecret {
	return &certificateSecret{key: key, names: names, marker: filepath.Join(dir, CertName), client: client,
		onAuthority: onAuthority, log: log.WithValues("secret", key.String())}
}

// Start watches the Secret until the context ends. It returns an error if the marker cannot be written.
func (s *certificateSecret) Start(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	use := func(o any) {
		if secret, ok := o.(*corev1.Secret); ok {
			if err := s.use(secret); err != nil {
				stop(err)
			}
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    use,
		UpdateFunc: func(_, o any) { use(o) },
		DeleteFunc: func(any) { s.log.Info("the Secret of the certificate is deleted: the certificate stays in use") },
	}
	secrets := s.client.Secrets(s.key.Namespace)
	_, informer := newInformer(s.client, secrets, s.key.Name, &corev1.Secret{}, handler, &s.log)
	informer.RunWithContext(logr.NewContext(ctx, s.log))
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// use serves the pair of a Secret, if the pair can be used. Logs and errors do not quote it.
func (s *certificateSecret) use(secret *corev1.Secret) error {
	if authority := secret.Data[authorityName]; len(authority) > 0 {
		s.onAuthority(authority)
	}
	public, private := secret.Data[CertName], secret.Data[KeyName]
	before := s.current.Load()
	if len(public)+len(private) == 0 {
		s.log.Info("the Secret has no certificate yet", "served", before != nil)
		return nil
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		s.failures.Add(1)
		s.log.Error(err, "the certificate and the key in the Secret do not match", "served", before != nil)
		return nil
	}
	if before != nil && slices.EqualFunc(before.Certificate, pair.Certificate, slices.Equal) {
		return nil
	}
	s.current.Store(&pair)
	s.log.Info("serving a certificate", "names", pair.Leaf.DNSNames, "notAfter", pair.Leaf.NotAfter)
	for _, name := range s.names {
		if err := pair.Leaf.VerifyHostname(name); err != nil {
			s.log.Info("the certificate does not contain a name: remove "+CertName+
				" from the Secret to get a new certificate", "name", name)
		}
	}
	return s.mark(public)
}

// mark writes the file from which cert-controller learns that the certificate is in use.
func (s *certificateSecret) mark(public []byte) error {
	if s.marked {
		return nil
	}
	if err := os.WriteFile(s.marker, public, 0o600); err != nil {
		return fmt.Errorf("writing the public certificate, for which the rotation of certificates waits: %w", err)
	}
	s.marked = true
	return nil
}

// GetCertificate implements certificateSource.
func (s *certificateSecret) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := s.current.Load(); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("no certificate yet: none was read from Secret %s", s.key)
}

// Failures implements certificateSource.
func (s *certificateSecret) Failures() float64 { return float64(s.failures.Load()) }
