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

// The names of a certificate and its key, as keys of a Secret of type kubernetes.io/tls, and as files where such a Secret is mounted.
const (
	CertName = "tls.crt"
	KeyName  = "tls.key"
)

// certificateSource is where the certificate in use comes from. Start blocks until the context ends; the manager of controller-runtime runs it.
type certificateSource interface {
	Start(context.Context) error
	// NeedLeaderElection is false: every replica serves.
	NeedLeaderElection() bool
	// GetCertificate is for tls.Config. Without a certificate it is an error, and so the handshake ends: the API server then goes on as the
	// failurePolicy says.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Failures counts how often what was found could not be used.
	Failures() float64
}

// Expiry is when the certificate in use ends; ok is false where there is none.
func expiryOf(s certificateSource) (at time.Time, ok bool) {
	leaf, err := leafOf(s)
	if err != nil {
		return time.Time{}, false
	}
	return leaf.NotAfter, true
}

// Check returns an error where there is no certificate, or none that is valid now.
func checkCertificate(s certificateSource, now time.Time) error {
	leaf, err := leafOf(s)
	switch {
	case err != nil:
		return err
	case now.After(leaf.NotAfter):
		return fmt.Errorf("the certificate in use has expired at %s", leaf.NotAfter.Format(time.RFC3339))
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
	if c == nil || c.Leaf == nil { // crypto/tls fills in the leaf of every pair that it reads
		return nil, errors.New("no certificate yet")
	}
	return c.Leaf, nil
}
