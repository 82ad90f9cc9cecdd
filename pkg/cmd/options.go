// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
)

// NewOptions returns the verb. Its help is its output.
func NewOptions() *cobra.Command {
	c := &cobra.Command{Use: "options", Short: "List the flags of all commands that read a cluster",
		Args: cli.NoCommand, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.Flags().AddFlagSet(input.ConnectionFlags())
	return c
}
