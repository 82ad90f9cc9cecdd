// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"

	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher/metrics"
)

// certificateFiles serves the certificate in a folder, and each that replaces it. controller-runtime's watcher reads the
// files when they change and every ten seconds, and keeps the last certificate that it could use.
type certificateFiles struct{ watcher *certwatcher.CertWatcher }

var _ certificateSource = (*certificateFiles)(nil)

// newCertificateFiles reads the certificate of a folder. The files have the names of a mounted Secret, and must exist.
func newCertificateFiles(dir string) (*certificateFiles, error) {
	public, private := filepath.Join(dir, CertName), filepath.Join(dir, KeyName)
	w, err := certwatcher.New(public, private)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate %s and its key %s: %w", public, private, err)
	}
	return &certificateFiles{w}, nil
}

// Start implements certificateSource.
func (f *certificateFiles) Start(ctx context.Context) error {
	if err := f.watcher.Start(ctx); err != nil {
		return fmt.Errorf("watching the files of the certificate: %w", err)
	}
	return nil
}

// NeedLeaderElection implements certificateSource.
func (f *certificateFiles) NeedLeaderElection() bool { return f.watcher.NeedLeaderElection() }

// GetCertificate implements certificateSource.
func (f *certificateFiles) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.watcher.GetCertificate(hello)
}

// Failures implements certificateSource. controller-runtime counts for all watchers of the process; there is only one.
func (f *certificateFiles) Failures() float64 {
	var m dto.Metric
	if err := metrics.ReadCertificateErrors.Write(&m); err != nil {
		return 0
	}
	return m.GetCounter().GetValue()
}
