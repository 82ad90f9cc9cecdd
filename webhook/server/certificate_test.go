// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pair is a self-signed certificate and its key, in PEM. The serial number identifies it.
type pair struct{ public, private []byte }

func newPair(t *testing.T, serial int64, notAfter time.Time, names ...string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: notAfter.Add(-time.Hour),
		NotAfter: notAfter, DNSNames: names,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}
}

// serial returns the serial number of the certificate in use; 0 without a certificate.
func serial(s certificateSource) int64 {
	c, err := s.GetCertificate(nil)
	if err != nil || c == nil {
		return 0
	}
	return c.Leaf.SerialNumber.Int64()
}

func TestNames(t *testing.T) {
	want := []string{"hook.system.svc", "hook.system.svc.cluster.local", "localhost"}
	if diff := cmp.Diff(want, certificateNames("hook", "system", "localhost")); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
