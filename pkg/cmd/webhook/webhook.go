// SPDX-License-Identifier: Apache-2.0

// Package webhook has the verb webhook and its subcommands, which install, inspect, remove and run the admission
// webhook.
package webhook

import (
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

const groupLong = `When a client writes an object that a Helm release of Fleet desires, the admission webhook adds
Fleet's ownership metadata, as adopt does for existing objects. It warns, or denies the request, if another user
removes this metadata.

No cluster depends on the webhook: while it does not answer, requests continue without it. If it causes
problems, webhook disable stops all calls of it at once.`

// NewCommand returns the verb and its subcommands.
func NewCommand(env verb.Environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "webhook",
		Short: "Install, inspect and remove the webhook that keeps Fleet's ownership metadata",
		Long:  groupLong,
		Args:  verb.NoCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(newInstall(env), newUninstall(env), newStatus(env), newTest(env), newDisable(env), newEnable(env),
		newServe(env))
	return c
}
