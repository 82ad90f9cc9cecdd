// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// The names of a certificate and its key: the keys in a Secret of type kubernetes.io/tls, and the files if it is mounted.
const (
	CertName = "tls.crt"
	KeyName  = "tls.key"
)

// certificateSource provides the serving certificate: from a Secret that cert-controller writes, or from files that
// another program writes, for example cert-manager. A new certificate is served without a restart.
type certificateSource interface {
	manager.Runnable
	// GetCertificate is for tls.Config. Without a certificate it returns an error, which ends the handshake; the API server
	// then applies the failurePolicy.
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
