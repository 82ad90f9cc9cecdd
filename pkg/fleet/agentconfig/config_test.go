// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// certificate returns a CA as PEM.
func certificate(t *testing.T, name string, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: until,
		IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestReadConfig(t *testing.T) {
	until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	ca := certificate(t, "rancher-ca", until)
	data := `{
		"apiServerURL": "https://rancher.example",
		"apiServerCA": "` + base64.StdEncoding.EncodeToString(ca) + `",
		"agentTLSMode": "strict",
		"agentCheckinInterval": "5m",
		"garbageCollectionInterval": "15m",
		"bootstrap": {"namespace":"fleet-local","agentNamespace":"fleet-system","localAgentDisabled":true}
	}`
	got, err := ReadConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{APIServerURL: "https://rancher.example", CA: CA{Hash: HashCA(ca), Subject: "CN=rancher-ca",
		NotAfter: until, Certificates: 1},
		AgentTLSMode: "strict", CheckinInterval: 5 * time.Minute, GarbageCollectionInterval: 15 * time.Minute,
		BootstrapNamespace:      "fleet-local",
		BootstrapAgentNamespace: "fleet-system", LocalAgentDisabled: true}
	if *got != want {
		t.Errorf("%+v, want %+v", *got, want)
	}
	for data, hash := range map[string]string{
		`{"apiServerCA":""}`: emptyCA, `apiServerCA: ""`: emptyCA, `{}`: absentCA, `{"apiServerCA":null}`: absentCA,
		``: absentCA,
	} {
		got, err := ReadConfig(data)
		if err != nil || got.CA.Hash != hash || got.CA.Subject != "" {
			t.Errorf("%s: %+v, error %v", data, got, err)
		}
	}
	for _, data := range []string{`{"agentCheckinInterval":"1 week"}`, `{"apiServerCA":"s3cr3t!"}`, `- s3cr3t`,
		"\x00"} {
		if got, err := ReadConfig(data); err == nil || got != nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %+v, error %v", data, got, err)
		}
	}
}

func TestReadCA(t *testing.T) {
	first, second := certificate(t, "one", time.Unix(1893456000, 0)), certificate(t, "two", time.Unix(1924992000, 0))
	bundle := append(append([]byte("# a comment\n"), first...), second...)
	if got := ReadCA(bundle); got.Certificates != 2 || got.Subject != "CN=one" || got.NotAfter != time.Unix(1893456000,
		0).UTC() || got.Hash != HashCA(bundle) {
		t.Errorf("%+v", got)
	}
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})
	if got := ReadCA(broken); got.Certificates != 1 || got.Subject != "" || !got.NotAfter.IsZero() {
		t.Errorf("%+v", got)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})
	if got := ReadCA(key); got.Certificates != 0 {
		t.Errorf("%+v", got)
	}
}

const kubeconfig = "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://10.0.0.1'}}]\n"

// TestReadKubeConfig: a value that is masked is not known. It is never an absent one.
func TestReadKubeConfig(t *testing.T) {
	ca := certificate(t, "ca", time.Unix(1893456000, 0))
	for _, tc := range []struct {
		name string
		data map[string]string
		want KubeConfig
	}{
		{"kubeconfig alone", map[string]string{"value": kubeconfig}, KubeConfig{CA: ReadCA(nil)}},
		{"URL and CA", map[string]string{"value": kubeconfig, "apiServerURL": "https://rancher.example",
			"apiServerCA": string(ca)},
			KubeConfig{URL: "https://rancher.example", HasCA: true, CA: ReadCA(ca)}},
		{"empty URL and CA", map[string]string{"value": kubeconfig, "apiServerURL": "", "apiServerCA": ""},
			KubeConfig{CA: ReadCA([]byte{})}},
		{"no data", nil, KubeConfig{Hidden: true}},
		{"masked", map[string]string{"value": "REDACTED", "apiServerURL": "REDACTED", "apiServerCA": "REDACTED"},
			KubeConfig{Hidden: true}},
		{"masked URL", map[string]string{"value": kubeconfig, "apiServerURL": "***"}, KubeConfig{Hidden: true}},
		{"masked CA", map[string]string{"value": kubeconfig, "apiServerURL": "https://rancher.example",
			"apiServerCA": "***"}, KubeConfig{Hidden: true}},
		{"emptied", map[string]string{"value": "", "apiServerURL": "", "apiServerCA": ""}, KubeConfig{Hidden: true}},
	} {
		data := map[string][]byte{}
		for k, v := range tc.data {
			data[k] = []byte(v)
		}
		if got := ReadKubeConfig(data); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
