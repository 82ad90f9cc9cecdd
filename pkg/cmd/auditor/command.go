// SPDX-License-Identifier: Apache-2.0

// Package auditor has the verb auditor and its subcommands, which install, inspect, remove and run the auditor.
package auditor

import (
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

// NewCommand returns the verb and its subcommands.
func NewCommand(env verb.Environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "auditor",
		Short: "Install, inspect and remove the auditor that keeps the result of an audit current",
		Args:  verb.NoCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(newHistory(env), newServe(env))
	return c
}
