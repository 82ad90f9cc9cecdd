// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
)

// noCommand refuses every word after a command that only groups others, and suggests those that may have been meant.
func noCommand(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	err := &exit.Error{Status: exit.Usage, Err: fmt.Errorf("unknown command %q", words[0])}
	meant := c.SuggestionsFor(words[0])
	for i, verb := range meant {
		meant[i] = strconv.Quote(verb)
	}
	if len(meant) > 0 {
		err.Hint = "Did you mean " + strings.Join(meant, " or ") + "?"
	}
	return err
}

// flagError is the error of an unknown flag. A command that only groups others has hardly any flags, so a mistyped command with flags behind
// it arrives here: then the command is what is unknown.
func flagError(c *cobra.Command, err error) error {
	if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
		return c.ValidateArgs(words)
	}
	return exit.UsageError(err)
}

// refuseUnknown makes the commands that cobra adds by itself, help and completion, refuse unknown words as wrong usage.
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
				return noCommand(named, rest)
			}
		case "completion":
			c.Args = noCommand
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Args = noCommand
			}
		}
	}
}
