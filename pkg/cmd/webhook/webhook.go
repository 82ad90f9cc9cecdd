// SPDX-License-Identifier: Apache-2.0

// Package webhook has the verb webhook and its subcommands, which install, inspect, remove and run the admission
// webhook.
package webhook

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// component is what the verb installs.
var component = chart.Component{
	Chart: installation.Chart, Verb: "webhook", Noun: "the webhook",
	NotReady:  "Meanwhile requests continue without the webhook.",
	NoKind:    "Install cert-manager first, or leave out --certificates=cert-manager.",
	Generated: "cert-manager made the Secret",
	Otherwise: func(o *input.Flags) string {
		return "In an emergency, this stops its calls until Fleet deploys it again:\n" + o.Commands().Kubectl +
			" delete mutatingwebhookconfigurations,validatingwebhookconfigurations -l " + installation.Selector
	},
	Kept: "others may have objects in it",
}

// statusRights are the rights that status requires, in terms of RBAC.
const statusRights = "It requires get on the objects of an installation (webhook install --dry-run=client lists " +
	"them), list on secrets,\nand for the test also get on namespaces, list on configmaps, services, " +
	"serviceaccounts, deployments and statefulsets,\nand patch on the tested object."

// NewCommand returns the verb and its subcommands.
func NewCommand(env cli.Environment) *cobra.Command {
	return chart.NewVerb("webhook", "Install, inspect and remove the webhook that keeps Fleet's ownership metadata",
		chart.NewInstall(env, component, "Install the admission webhook, or upgrade it", newValues()),
		chart.NewUninstall(env, component, "Remove the admission webhook from the cluster"),
		newStatus(env), newServe(env))
}

func newStatus(env cli.Environment) *cobra.Command {
	warnings := &installation.Warnings{}
	// evaluate implements chart.Evaluator.
	evaluate := func(ctx context.Context, c *install.Cluster, f install.Facts) (*install.Status, any, []string) {
		facts := installation.Read(ctx, c, f)
		tester := &installation.Tester{Cluster: c, Mutating: facts.Mutating, Validating: facts.Validating,
			Warnings: warnings, Now: env.Now}
		facts.Test = tester.Test(ctx)
		s := installation.Evaluate(facts)
		var names []string
		for _, webhook := range s.Webhooks {
			names = append(names, escape.Line(webhook.Name))
		}
		return &s.Status, s, names
	}
	return chart.NewStatus(env, component, "Report the state of the admission webhook, and test it with a dry run",
		statusRights, warnings, evaluate)
}
