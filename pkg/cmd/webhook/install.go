// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// values are the flags for the values of the chart. They implement chart.Values.
type values struct {
	installation.Values
	certificates, guardDefault *cli.Enum
}

func newValues() *values {
	const selfSigned = string(installation.SelfSigned)
	return &values{certificates: cli.NewEnum(selfSigned, selfSigned, string(installation.CertManager)),
		guardDefault: newGuardDefault()}
}

func newGuardDefault() *cli.Enum {
	off, warn, deny := string(admission.GuardOff), string(admission.GuardWarn), string(admission.GuardDeny)
	return cli.NewEnum(warn, off, warn, deny)
}

const guardDefaultUsage = "Mode of the validating handler in namespaces without the label " + admission.GuardLabel

// AddFlags implements chart.Values.
func (v *values) AddFlags(c *cobra.Command, common *install.Common) {
	v.certificates.AddTo(c, "certificates",
		"Source of the webhook's certificate: the webhook itself, or cert-manager, which must be installed")
	v.guardDefault.AddTo(c, "guard-default", guardDefaultUsage)
	f := c.Flags()
	f.BoolVar(&v.Exact, "exact", false,
		"Also add ownership metadata to objects that have none, in namespaces labeled fleetdoctor.io/adopt=exact")
	f.StringSliceVar(&v.ReleaseNamespaces, "release-namespaces", nil,
		"The only namespaces whose release records, and other Secrets, the webhook may read (default all)")
	f.StringSliceVar(&common.APIServers, "api-servers", nil,
		"The only addresses (IP or CIDR) that reach the webhook and that it reaches: those of the control plane "+
			"nodes, and of the Service kubernetes (default all)")
}

// Parse implements chart.Values.
func (v *values) Parse(common install.Common, isGiven install.Given) (any, error) {
	for _, name := range v.ReleaseNamespaces {
		if wrong := validation.IsDNS1123Label(name); wrong != nil {
			return nil, fmt.Errorf("--release-namespaces has the invalid name %q: %s", name, wrong[0])
		}
	}
	if isGiven("release-namespaces") && len(v.ReleaseNamespaces) == 0 {
		return nil, errors.New("--release-namespaces is empty")
	}
	slices.Sort(v.ReleaseNamespaces)
	v.ReleaseNamespaces = slices.Compact(v.ReleaseNamespaces)
	v.Common, v.Certificates = common, installation.Certificates(v.certificates.String())
	v.GuardDefault = admission.GuardMode(v.guardDefault.String())
	return &v.Values, nil
}
