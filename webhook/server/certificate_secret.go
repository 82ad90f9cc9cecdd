// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// authorityName is the key in the Secret with the certificate of cert-controller's authority.
const authorityName = "ca.crt"

// caRetryAfter is the time between two attempts to write a configuration.
const caRetryAfter = 2 * time.Second

// certificateSecret serves the current certificate of one Secret, and has the API server trust its authority. It logs
// and counts a pair that cannot be used. The previous pair then stays in use, also if the Secret becomes empty or is
// deleted. It is a reconcile.Reconciler.
type certificateSecret struct {
	key types.NamespacedName
	// names are the DNS names that the certificate should have; a missing name is logged.
	names    []string
	injector caInjector
	log      logr.Logger

	current  atomic.Pointer[tls.Certificate]
	failures atomic.Uint64
	version  string // of the Secret that was used last; used only by Reconcile
}

var _ certificateSource = (*certificateSecret)(nil)

// watch adds a controller to the manager, which reconciles when the Secret or a configuration changes. The cache of the
// manager must be restricted to the objects with these names, because the role allows no others.
func (s *certificateSecret) watch(m manager.Manager) error {
	b := builder.ControllerManagedBy(m).Named("certificate").For(&corev1.Secret{}).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}) // tests run several servers in a process
	for _, configuration := range webhookConfigurations(s.injector.name) {
		b = b.Watches(configuration, &handler.EnqueueRequestForObject{})
	}
	if err := b.Complete(s); err != nil {
		return fmt.Errorf("adding the controller of the certificate: %w", err)
	}
	return nil
}

// Reconcile implements reconcile.Reconciler. It uses the Secret, and writes the caBundles, whatever changed.
func (s *certificateSecret) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	secret := &corev1.Secret{}
	if err := s.injector.reader.Get(ctx, s.key, secret); apierrors.IsNotFound(err) {
		s.log.Info("the Secret of the certificate is deleted: the certificate stays in use")
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the Secret of the certificate: %w", err)
	}
	if s.version != secret.ResourceVersion {
		s.version = secret.ResourceVersion
		s.use(secret)
	}
	authority := secret.Data[authorityName]
	if len(authority) == 0 {
		return reconcile.Result{}, nil
	}
	if err := s.injector.inject(ctx, authority); err != nil {
		s.injector.log.Error(err, "the caBundle could not be written; trying again")
		return reconcile.Result{RequeueAfter: caRetryAfter}, nil
	}
	return reconcile.Result{}, nil
}

// use serves the pair of a Secret, if the pair can be used. Logs and errors do not quote it.
func (s *certificateSecret) use(secret *corev1.Secret) {
	public, private := secret.Data[CertName], secret.Data[KeyName]
	before := s.current.Load()
	if len(public)+len(private) == 0 {
		s.log.Info("the Secret has no certificate yet", "served", before != nil)
		return
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		s.failures.Add(1)
		s.log.Error(err, "the certificate and the key in the Secret do not match", "served", before != nil)
		return
	}
	if before != nil && slices.EqualFunc(before.Certificate, pair.Certificate, slices.Equal) {
		return
	}
	s.current.Store(&pair)
	s.log.Info("serving a certificate", "names", pair.Leaf.DNSNames, "notAfter", pair.Leaf.NotAfter)
	for _, name := range s.names {
		if err := pair.Leaf.VerifyHostname(name); err != nil {
			s.log.Info("the certificate does not contain a name: remove "+CertName+
				" from the Secret to get a new certificate", "name", name)
		}
	}
}

// markCertificate writes the file from which cert-controller learns that the certificate is mounted. No certificate is
// read from it.
func markCertificate(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, CertName), nil, 0o600); err != nil {
		return fmt.Errorf("writing the file for which the rotation of certificates waits: %w", err)
	}
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
