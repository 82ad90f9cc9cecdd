// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
)

// flagError is the error for an unknown flag. A mistyped subcommand with flags is parsed by its parent, which does not know them: then the
// subcommand is reported.
func flagError(c *cobra.Command, err error) error {
	if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
		return c.ValidateArgs(words)
	}
	return exit.UsageError(err)
}

// refuseUnknown makes the commands that cobra adds, help and completion, refuse unknown arguments as wrong usage.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, words []string) error {
				named, rest, err := root.Find(words)
				switch {
				case err != nil:
					return err
				case named.HasSubCommands():
					return named.ValidateArgs(rest)
				}
				return verb.NoCommand(named, rest)
			}
		case "completion":
			c.Args = verb.NoCommand
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Args = verb.NoCommand
			}
		}
	}
}
