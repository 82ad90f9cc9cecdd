// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"
)

// certificateKey is the key of the certificate in the Secret. No other key is read.
const certificateKey = "tls.crt"

// certificates reads the certificate chain of a Secret, the server's own certificate first. Errors do not quote it.
func certificates(secret *unstructured.Unstructured) ([]*x509.Certificate, error) {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", certificateKey)
	if encoded == "" {
		return nil, errors.New("it does not have a certificate yet")
	}
	data, _ := base64.StdEncoding.DecodeString(encoded) // an API server only has valid base64
	chain, err := cert.ParseCertsPEM(data)
	if err != nil {
		return nil, errors.New("it does not have a valid certificate")
	}
	return chain, nil
}

// verify returns an error unless an API server with the caBundle accepts the certificate chain for a name at a time.
func verify(bundle []byte, chain []*x509.Certificate, name string, at time.Time) error {
	roots, err := cert.NewPoolFromBytes(bundle)
	if err != nil {
		return errors.New("reading the caBundle: it does not have a valid certificate")
	}
	o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool(), CurrentTime: at, DNSName: name,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err = chain[0].Verify(o)
	return err
}
