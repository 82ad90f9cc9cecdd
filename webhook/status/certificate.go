// SPDX-License-Identifier: Apache-2.0

package status

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// certificateKey is where the Secret has the certificate. Nothing else of it is looked at.
const certificateKey = "tls.crt"

// certificates reads the certificate of a Secret, the server's own first. Errors do not quote it.
func certificates(secret *unstructured.Unstructured) ([]*x509.Certificate, error) {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", certificateKey)
	if encoded == "" {
		return nil, errNoCertificate
	}
	return parsePEM(encoded)
}

var errNoCertificate = errors.New("there is no certificate in it yet")

// parsePEM reads the certificates of a base64 text.
func parsePEM(encoded string) ([]*x509.Certificate, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("it is no base64")
	}
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("a certificate in it cannot be read")
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("no certificate is in it")
	}
	return out, nil
}

// trusted says whether the API server, which has the caBundle, accepts the certificate under a name at a time; nil if it does.
func trusted(bundle string, chain []*x509.Certificate, name string, at time.Time) error {
	roots, err := parsePEM(bundle)
	if err != nil {
		return fmt.Errorf("reading the caBundle: %w", err)
	}
	o := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: at, DNSName: name,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, c := range roots {
		o.Roots.AddCert(c)
	}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err = chain[0].Verify(o)
	return err
}
