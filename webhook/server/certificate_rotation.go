// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// organization and authority name the self-signed authority. They do not change: cert-controller replaces an authority
// with other names.
const (
	authority    = "fleetdoctor-webhook-ca"
	organization = "fleetdoctor"
)

// rotation describes the certificate that cert-controller makes.
type rotation struct {
	// Secret holds the authority and the certificate. It must exist, and may be empty.
	Secret types.NamespacedName
	// Names are the DNS names of the certificate. cert-controller replaces a certificate without the first one.
	Names []string
	// Dir is the folder in which a certificateSecret writes its marker.
	Dir string
	// Instance distinguishes rotations of one Secret in one process, for tests.
	Instance string
}

// certificateNames are the DNS names by which the API server calls a Service, and others.
func certificateNames(service, namespace string, others ...string) []string {
	name := service + "." + namespace + ".svc"
	return append([]string{name, name + ".cluster.local"}, others...)
}

// addRotation adds a rotator of cert-controller to the manager, which makes the certificate and replaces it in time. The
// rotator could write the webhook configurations too, but only whole ones; a caInjector writes only their caBundle.
//
// A new certificate does not end the process: a certificateSecret serves it. An error of the manager ends it if the Secret
// does not exist at the start, if it cannot be read within two minutes, and if no source has written its marker in Dir
// within about 17 minutes.
func addRotation(m manager.Manager, r rotation) error {
	// Every replica has a rotator: of two writes at the same time the API server refuses one, and its replica reads again.
	err := rotator.AddRotator(m, &rotator.CertRotator{
		SecretKey:      r.Secret,
		CertDir:        r.Dir,
		CertName:       CertName,
		KeyName:        KeyName,
		CAName:         authority,
		CAOrganization: organization,
		DNSName:        r.Names[0],
		ExtraDNSNames:  r.Names[1:],
		IsReady:        make(chan struct{}),
		// controller-runtime refuses two controllers with the same name in a process.
		ControllerName: strings.TrimSuffix("certificates-"+r.Secret.Name+"-"+r.Instance, "-"),
	})
	if err != nil {
		return fmt.Errorf("adding the rotation of certificates: %w", err)
	}
	return nil
}
