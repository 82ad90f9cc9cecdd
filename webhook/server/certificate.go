// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher/metrics"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

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
