// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// The names of a certificate and its key: as keys of a Secret of type kubernetes.io/tls, and as files if it is mounted.
const (
	CertName = "tls.crt"
	KeyName  = "tls.key"
)

// certificateSource provides the serving certificate: a Secret that cert-controller fills, or files that somebody else
// writes, for example cert-manager. A new certificate is served without a restart. The manager of controller-runtime runs
// Start, which blocks until the context ends.
type certificateSource interface {
	Start(context.Context) error
	// NeedLeaderElection is false: every replica serves.
	NeedLeaderElection() bool
	// GetCertificate is for tls.Config. Without a certificate it returns an error, which ends the handshake; the API server
	// then continues by the failurePolicy.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Failures counts the certificates that could not be used.
	Failures() float64
}

// expiryOf is the end of the certificate in use; ok is false if there is none.
func expiryOf(s certificateSource) (at time.Time, ok bool) {
	leaf, err := leafOf(s)
	if err != nil {
		return time.Time{}, false
	}
	return leaf.NotAfter, true
}

// checkCertificate returns an error if there is no certificate that is valid now.
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

func leafOf(s certificateSource) (*x509.Certificate, error) {
	c, err := s.GetCertificate(nil)
	if err != nil {
		return nil, err
	}
	if c == nil || c.Leaf == nil { // crypto/tls sets the leaf of each pair that it reads
		return nil, errors.New("no certificate yet")
	}
	return c.Leaf, nil
}
