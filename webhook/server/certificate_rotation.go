// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// organization and authority are the names of the self-signed authority. They must not change: cert-controller replaces an
// authority that has other names.
const (
	authority    = "fleetdoctor-webhook-ca"
	organization = "fleetdoctor"
)

// certificateNames returns the DNS names with which the API server calls a Service, and the others.
func certificateNames(service, namespace string, others ...string) []string {
	name := service + "." + namespace + ".svc"
	return append([]string{name, name + ".cluster.local"}, others...)
}

// addRotation adds a rotator of cert-controller to the manager, which makes the certificate and replaces it before it
// expires. The rotator could write the webhook configurations too, but only whole; a caInjector writes only their caBundle.
//
// secret stores the authority and the certificate; it must exist, and may be empty. names are the DNS names of the
// certificate; cert-controller replaces a certificate without the first one. dir is the directory in which a
// certificateSecret writes its marker.
//
// A certificateSecret serves a new certificate without a restart. An error of the manager ends the process if the Secret
// does not exist at the start, if it cannot be read within two minutes, and if no source has written its marker in dir
// within about 17 minutes.
func addRotation(m manager.Manager, secret types.NamespacedName, names []string, dir string) error {
	// Every replica has a rotator. If two write at the same time, the API server refuses one write, and its replica reads again.
	err := rotator.AddRotator(m, &rotator.CertRotator{
		SecretKey:      secret,
		CertDir:        dir,
		CertName:       CertName,
		KeyName:        KeyName,
		CAName:         authority,
		CAOrganization: organization,
		DNSName:        names[0],
		ExtraDNSNames:  names[1:],
		IsReady:        make(chan struct{}),
		ControllerName: "certificates-" + secret.Name, // must be unique in a process
	})
	if err != nil {
		return fmt.Errorf("adding the rotation of certificates: %w", err)
	}
	return nil
}
