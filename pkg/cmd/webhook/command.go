// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// component is what the verb installs.
var component = chart.Component{
	Chart: installation.Chart, Verb: "webhook", Noun: "the webhook",
	Stop:      "to stop the webhook, use `webhook uninstall`",
	NotReady:  "Meanwhile requests continue without the webhook.",
	NoKind:    "Install cert-manager first, or leave out --certificates=cert-manager.",
	Generated: "cert-manager made the Secret",
	Otherwise: func(o *input.Flags) string {
		return "In an emergency, this stops its calls until Fleet deploys it again:\n" + stopCalls(o)
	},
	Kept: "others may have objects in it",
}

// statusRights are the rights that status requires, in terms of RBAC.
const statusRights = "It requires get on every kind of an installation (webhook install --dry-run=client lists " +
	"them), list on secrets,\nnamespaces and endpointslices, and get on the nonResourceURL /metrics. " +
	"For the dry runs it requires get, create, patch\nand delete on the objects that releases of Fleet desire, " +
	"and get on apiservices."

// stopCalls is the command that deletes the webhook configurations, so that the API server calls no webhook of the
// installation.
func stopCalls(o *input.Flags) string {
	return o.Commands().Kubectl + " delete mutatingwebhookconfigurations,validatingwebhookconfigurations -l " +
		installation.Selector
}

func newGuardDefault() *flags.Enum {
	off, warn, deny := string(admission.GuardOff), string(admission.GuardWarn), string(admission.GuardDeny)
	return flags.NewEnum(warn, off, warn, deny)
}

const guardDefaultUsage = "Mode of the validating handler in namespaces without the label " + admission.GuardLabel
