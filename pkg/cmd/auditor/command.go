// SPDX-License-Identifier: Apache-2.0

// Package auditor has the verb auditor and its subcommands, which install, inspect, remove and run the auditor.
package auditor

import (
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

// NewCommand returns the verb and its subcommands.
func NewCommand(env verb.Environment) *cobra.Command {
	return chart.NewVerb("auditor", "Install, inspect and remove the auditor, which keeps an audit current",
		newInstall(env), newStatus(env), newHistory(env), newServe(env),
		chart.NewUninstall(env, component, "Remove the auditor from the cluster"))
}
