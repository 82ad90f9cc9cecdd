// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"strings"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// organization and authority are what the self-signed authority is called. cert-controller makes a new one where a Secret's is called
// otherwise: they do not change.
const (
	authority    = "fleetdoctor-webhook-ca"
	organization = "fleetdoctor"
)

// rotation says which certificate to make.
type rotation struct {
	// Secret holds the authority and the certificate. It has to exist, and may be empty.
	Secret types.NamespacedName
	// Names are the DNS names of the certificate. Only by the first is it judged whether a certificate still fits.
	Names []string
	// Dir is where the marker of a Secret source appears.
	Dir string
	// Valid is how long a certificate is valid, and Early how long before its end it is replaced; zero stands for cert-controller's own, a
	// year and 90 days.
	Valid, Early time.Duration
	// Instance tells rotations of one Secret in one process apart, which tests have.
	Instance string
}

// Names are the DNS names by which the API server calls a Service, and others.
func certificateNames(service, namespace string, others ...string) []string {
	name := service + "." + namespace + ".svc"
	return append([]string{name, name + ".cluster.local"}, others...)
}

// Rotate has cert-controller, in the manager, make the certificate and replace it in time. It would also write the webhook webhookConfigurations, but
// whole: a caInjector writes no more than their caBundle.
//
// It never ends the process because a certificate is new: a Secret source serves it as it is. It does end it, through an error of the
// manager, where the Secret does not exist at the start, where it cannot be read within two minutes, and where no source has marked a
// certificate in Dir within about 17 minutes.
func addRotation(m manager.Manager, r rotation) error {
	// Every replica does it: of two that write at once one is refused by the API server, and reads again.
	err := rotator.AddRotator(m, &rotator.CertRotator{
		SecretKey:          r.Secret,
		CertDir:            r.Dir,
		CertName:           CertName,
		KeyName:            KeyName,
		CAName:             authority,
		CAOrganization:     organization,
		DNSName:            r.Names[0],
		ExtraDNSNames:      r.Names[1:],
		ServerCertDuration: r.Valid,
		LookaheadInterval:  r.Early,
		IsReady:            make(chan struct{}),
		// controller-runtime refuses two controllers of one name in a process, as its metrics could not tell them apart.
		ControllerName: strings.TrimSuffix("certificates-"+r.Secret.Name+"-"+r.Instance, "-"),
	})
	if err != nil {
		return fmt.Errorf("adding the rotation of certificates: %w", err)
	}
	return nil
}
