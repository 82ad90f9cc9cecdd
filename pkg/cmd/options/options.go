// SPDX-License-Identifier: Apache-2.0

// Package options is the verb options.
package options

import (
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

// NewCommand returns the verb. Its help is its output.
func NewCommand() *cobra.Command {
	c := &cobra.Command{Use: "options", Short: "List the flags of all commands that read a cluster",
		Args: verb.NoCommand, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.Flags().AddFlagSet(input.ConnectionFlags())
	return c
}
