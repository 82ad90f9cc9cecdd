// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"path/filepath"

	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher/metrics"
)

// certificateFiles serves the current certificate in a directory. controller-runtime's watcher reads the files when they
// change and every ten seconds, and keeps the last certificate that could be used.
type certificateFiles struct{ *certwatcher.CertWatcher }

// newCertificateFiles reads the certificate of a directory. The files have the names of a mounted Secret, and must exist.
func newCertificateFiles(dir string) (certificateFiles, error) {
	public, private := filepath.Join(dir, CertName), filepath.Join(dir, KeyName)
	w, err := certwatcher.New(public, private)
	if err != nil {
		return certificateFiles{}, fmt.Errorf("reading the certificate %s and its key %s: %w", public, private, err)
	}
	return certificateFiles{w}, nil
}

// Failures implements certificateSource. controller-runtime counts the failures of all watchers of the process; only one exists.
func (certificateFiles) Failures() float64 {
	var m dto.Metric
	if err := metrics.ReadCertificateErrors.Write(&m); err != nil {
		return 0
	}
	return m.GetCounter().GetValue()
}
