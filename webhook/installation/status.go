// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// Evaluate makes the status of an installation. It is pure. Data that could not be read are Unknown.
func Evaluate(f *Facts) *Status {
	s := &Status{Status: install.NewStatus(&f.Facts, Chart, StatusKind, "the webhook",
		f.configuration(install.MutatingKind), f.configuration(install.ValidatingKind), f.Deployment(Chart)),
		Webhooks: []WebhookStatus{}, Test: f.Test}
	if !s.IsFound() {
		return s
	}
	e := &evaluation{f, s}
	e.certificate()
	e.configuration("mutating", install.MutatingKind)
	e.configuration("validating", install.ValidatingKind)
	e.replicas()
	e.endpoints()
	s.CheckManifests(&f.Facts, "webhook install")
	e.namespaces()
	e.calls()
	e.test()
	return s
}
