// SPDX-License-Identifier: Apache-2.0

// Package webhook has the verb webhook and its subcommands, which install, inspect, remove and run the admission
// webhook.
package webhook

import (
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

// NewCommand returns the verb and its subcommands.
func NewCommand(env verb.Environment) *cobra.Command {
	return chart.NewVerb("webhook", "Install, inspect and remove the webhook that keeps Fleet's ownership metadata",
		newInstall(env),
		chart.NewUninstall(env, component, "Remove the admission webhook from the cluster"),
		newStatus(env), newServe(env))
}
