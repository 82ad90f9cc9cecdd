// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	dto "github.com/prometheus/client_model/go"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher/metrics"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// webhookConfigurations are empty objects of the kinds from which the API server reads the authority that it trusts.
func webhookConfigurations(name string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(kind))
		u.SetName(name)
		out = append(out, u)
	}
	return out
}

// caInjector writes the authority into the caBundle of the webhooks of one mutating and one validating configuration.
// It applies only these fields, server-side: the installer owns all other fields.
type caInjector struct {
	name   string // of the configurations, and of the field manager
	reader client.Reader
	writer client.Writer
	log    logr.Logger
}

// inject applies the authority, in PEM, to the configurations that do not have it. A configuration that does not exist
// is not an error.
func (c caInjector) inject(ctx context.Context, authority []byte) error {
	var failed []error
	for _, live := range webhookConfigurations(c.name) {
		kind := live.GetKind()
		if err := c.reader.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			failed = append(failed, client.IgnoreNotFound(err))
			continue
		}
		patch := bundlePatch(live, authority)
		if patch == nil {
			continue
		}
		apply := client.ApplyConfigurationFromUnstructured(patch)
		if err := c.writer.Apply(ctx, apply, client.FieldOwner(c.name), client.ForceOwnership); err != nil {
			failed = append(failed, fmt.Errorf("applying the caBundle of %s %q: %w", kind, c.name, err))
			continue
		}
		c.log.Info("wrote the caBundle", "kind", kind, "name", c.name)
	}
	return errors.Join(failed...)
}

// bundlePatch is the patch for a configuration; nil if all its webhooks have the authority. It states the uid and the
// resource version, because otherwise it would create a configuration or a webhook again that was deleted.
func bundlePatch(live *unstructured.Unstructured, authority []byte) *unstructured.Unstructured {
	webhooks, _, err := unstructured.NestedSlice(live.Object, "webhooks")
	if err != nil || live.GetDeletionTimestamp() != nil {
		return nil
	}
	bundle := base64.StdEncoding.EncodeToString(authority)
	var applied []any
	same := true
	for _, w := range webhooks {
		webhook, ok := w.(map[string]any)
		if !ok {
			return nil
		}
		has, _, _ := unstructured.NestedString(webhook, "clientConfig", "caBundle")
		same = same && has == bundle
		trust := map[string]any{"caBundle": bundle}
		applied = append(applied, map[string]any{"name": webhook["name"], "clientConfig": trust})
	}
	if same {
		return nil
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": live.GetAPIVersion(), "kind": live.GetKind(),
		"metadata": map[string]any{
			"name": live.GetName(), "uid": string(live.GetUID()), "resourceVersion": live.GetResourceVersion()},
		"webhooks": applied,
	}}
}

// The names of a certificate and its key: the keys in a Secret of type kubernetes.io/tls, and the files if it is
// mounted.
const (
	CertName = "tls.crt"
	KeyName  = "tls.key"
)

// certificateSource provides the serving certificate: from a Secret that cert-controller writes, or from files that
// another program writes, for example cert-manager. A new certificate is served without a restart.
type certificateSource interface {
	// GetCertificate is for tls.Config. Without a certificate it returns an error, which ends the handshake; the API
	// server then applies the failurePolicy.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Failures counts the certificates that could not be used.
	Failures() float64
}

// checkCertificate returns an error if no certificate is in use that is valid now.
func checkCertificate(s certificateSource, now time.Time) error {
	leaf, err := leafOf(s)
	switch {
	case err != nil:
		return err
	case now.After(leaf.NotAfter):
		return fmt.Errorf("the certificate in use expired at %s", leaf.NotAfter.Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("the certificate in use is not valid before %s", leaf.NotBefore.Format(time.RFC3339))
	}
	return nil
}

// leafOf returns the certificate in use.
func leafOf(s certificateSource) (*x509.Certificate, error) {
	c, err := s.GetCertificate(nil)
	if err != nil {
		return nil, err
	}
	return c.Leaf, nil // crypto/tls sets the leaf of each pair that it reads
}

// certificateFiles serves the current certificate in a directory. controller-runtime's watcher reads the files when
// they change and every ten seconds, and keeps the last certificate that could be used.
type certificateFiles struct{ *certwatcher.CertWatcher }

// newCertificateFiles reads the certificate of a directory. The files have the names of a mounted Secret, and must
// exist.
func newCertificateFiles(dir string) (certificateFiles, error) {
	public, private := filepath.Join(dir, CertName), filepath.Join(dir, KeyName)
	w, err := certwatcher.New(public, private)
	if err != nil {
		return certificateFiles{}, fmt.Errorf("reading the certificate %s and its key %s: %w", public, private, err)
	}
	return certificateFiles{w}, nil
}

// Failures implements certificateSource. controller-runtime counts the failures of all watchers of the process; only
// one exists.
func (certificateFiles) Failures() float64 {
	var m dto.Metric
	if err := metrics.ReadCertificateErrors.Write(&m); err != nil {
		return 0
	}
	return m.GetCounter().GetValue()
}

// organization and authority are the names of the self-signed authority. They must not change: cert-controller replaces
// an authority that has other names.
const (
	authority    = "fleetdoctor-webhook-ca"
	organization = "fleetdoctor"
)

// certificateNames returns the DNS names with which the API server calls a Service, and the others.
func certificateNames(service, namespace string, others ...string) []string {
	name := service + "." + namespace + ".svc"
	return append([]string{name, name + ".cluster.local"}, others...)
}

// addRotation adds a rotator of cert-controller to the manager, which makes the certificate and replaces it before it
// expires. The rotator could write the webhook configurations too, but only whole, and it would need to read all of the
// cluster; a caInjector writes only their caBundle.
//
// secret stores the authority and the certificate; it must exist, and may be empty. names are the DNS names of the
// certificate; cert-controller replaces a certificate without the first one. dir is a directory with the file of
// markCertificate.
//
// A certificateSecret serves a new certificate without a restart. An error of the manager ends the process if the
// Secret does not exist at the start, or if it cannot be read within two minutes.
func addRotation(m manager.Manager, secret types.NamespacedName, names []string, dir string) error {
	// Every replica has a rotator. If two write at the same time, the API server refuses one write, and its replica
	// reads again.
	err := rotator.AddRotator(m, &rotator.CertRotator{
		SecretKey:      secret,
		CertDir:        dir,
		CertName:       CertName,
		KeyName:        KeyName,
		CAName:         authority,
		CAOrganization: organization,
		DNSName:        names[0],
		ExtraDNSNames:  names[1:],
		IsReady:        make(chan struct{}),
		ControllerName: "certificates-" + secret.Name, // must be unique in a process
	})
	if err != nil {
		return fmt.Errorf("adding the rotation of certificates: %w", err)
	}
	return nil
}
