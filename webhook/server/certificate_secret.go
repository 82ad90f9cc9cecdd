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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// coreClient is as much of client-go's clientset as is used: all of it would make the program a sixth larger.
type coreClient interface {
	CoreV1() typedcorev1.CoreV1Interface
}

// authorityName is where cert-controller keeps the certificate of its authority.
const authorityName = "ca.crt"

// Secret serves the certificate of one Secret, and each that replaces it. A pair that cannot be used is logged and counted, and the one
// before stays in use, also where the Secret is emptied or deleted.
type certificateSecret struct {
	key    types.NamespacedName
	names  []string
	marker string
	client coreClient
	log    logr.Logger

	current  atomic.Pointer[tls.Certificate]
	failures atomic.Uint64
	marked   bool // only of the goroutine that hears of changes
	told     func(authority []byte)
}

var _ certificateSource = (*certificateSecret)(nil)

// newCertificateSecret makes the source. names are the DNS names that the certificate should have: it is logged where one has not. dir is a folder
// that exists and may be written to; the public certificate is put there, once, as cert-controller waits for.
func newCertificateSecret(client coreClient, key types.NamespacedName, names []string, dir string, log logr.Logger) *certificateSecret {
	return &certificateSecret{key: key, names: names, marker: filepath.Join(dir, CertName), client: client, log: log.WithValues("secret", key.String())}
}

// Tell has f told of the authority, in PEM, with each state of the Secret that has one. It is called before Start.
func (s *certificateSecret) Tell(f func(authority []byte)) { s.told = f }

// NeedLeaderElection implements certificateSource.
func (*certificateSecret) NeedLeaderElection() bool { return false }

// Start watches the Secret until the context ends. Its error is that of writing the marker.
func (s *certificateSecret) Start(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	take := func(o any) {
		if secret, ok := o.(*corev1.Secret); ok {
			if err := s.take(secret); err != nil {
				stop(err)
			}
		}
	}
	secrets, selector := s.client.CoreV1().Secrets(s.key.Namespace), fields.OneTermEqualSelector("metadata.name", s.key.Name).String()
	// coreClient-go's fakes stream no lists, and say so through the client.
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return secrets.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return secrets.Watch(ctx, o)
		},
	}, s.client)
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		Logger:        &s.log,
		ObjectType:    &corev1.Secret{},
		ListerWatcher: source,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    take,
			UpdateFunc: func(_, o any) { take(o) },
			DeleteFunc: func(any) { s.log.Info("the Secret of the certificate is deleted: the certificate stays in use") },
		},
	})
	informer.RunWithContext(logr.NewContext(ctx, s.log))
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// take makes the pair of a Secret the one in use, if it can be used. Neither a log nor an error quotes it.
func (s *certificateSecret) take(secret *corev1.Secret) error {
	if authority := secret.Data[authorityName]; s.told != nil && len(authority) > 0 {
		s.told(authority)
	}
	public, private := secret.Data[CertName], secret.Data[KeyName]
	before := s.current.Load()
	if len(public)+len(private) == 0 {
		s.log.Info("the Secret holds no certificate yet", "served", before != nil)
		return nil
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		s.failures.Add(1)
		s.log.Error(err, "the Secret holds no pair of certificate and key that fit", "served", before != nil)
		return nil
	}
	if before != nil && slices.EqualFunc(before.Certificate, pair.Certificate, slices.Equal) {
		return nil
	}
	s.current.Store(&pair)
	s.log.Info("serving a certificate", "names", pair.Leaf.DNSNames, "notAfter", pair.Leaf.NotAfter)
	for _, name := range s.names {
		if err := pair.Leaf.VerifyHostname(name); err != nil {
			s.log.Info("the certificate lacks a name: remove "+CertName+" from the Secret, and another is made", "name", name)
		}
	}
	return s.mark(public)
}

// mark tells cert-controller, which looks for a file, that the certificate is in use.
func (s *certificateSecret) mark(public []byte) error {
	if s.marked {
		return nil
	}
	if err := os.WriteFile(s.marker, public, 0o600); err != nil {
		return fmt.Errorf("writing the public certificate, which certificates are rotated by: %w", err)
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
