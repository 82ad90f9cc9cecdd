// SPDX-License-Identifier: Apache-2.0

// Package auditor has the verb auditor and its subcommands.
package auditor

import (
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

// NewCommand returns the verb and its subcommands.
func NewCommand(env verb.Environment) *cobra.Command {
	c := &cobra.Command{Use: "auditor", Short: "Keep the result of the audit current in the cluster",
		Args: verb.NoCommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(newHistory(env))
	return c
}
