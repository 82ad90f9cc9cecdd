// SPDX-License-Identifier: Apache-2.0

// Package webhook has the verb webhook and its subcommands, which install, inspect, remove and run the admission
// webhook.
package webhook

import (
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

// NewCommand returns the verb and its subcommands.
func NewCommand(env verb.Environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "webhook",
		Short: "Install, inspect and remove the webhook that keeps Fleet's ownership metadata",
		Args:  verb.NoCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(newInstall(env), newUninstall(env), newStatus(env), newTest(env), newDisable(env), newEnable(env),
		newServe(env))
	return c
}
