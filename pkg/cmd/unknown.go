// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// flagError is the error for an unknown flag. A mistyped subcommand with flags is parsed by its parent, which does not
// know them: then the subcommand is reported.
func flagError(c *cobra.Command, err error) error {
	if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
		return c.ValidateArgs(words)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return &cli.Error{Status: cli.ExitUsage, Err: err, Hint: nearValue(err)}
	}
	if gone := cli.Removed(c.CommandPath(), written(unknown)); gone != "" {
		return cli.UsageError(errors.New(gone))
	}
	return &cli.Error{Status: cli.ExitUsage, Err: err, Hint: strings.TrimSpace(nearFlag(c, unknown) + "\n" +
		elsewhere(c, written(unknown)))}
}

// written is an unknown flag with its hyphens.
func written(unknown *pflag.NotExistError) string {
	if unknown.GetSpecifiedShortnames() != "" {
		return "-" + unknown.GetSpecifiedName()
	}
	return "--" + unknown.GetSpecifiedName()
}

// elsewhere names the other commands that have an unknown flag, such as --watch; "" if none has it.
func elsewhere(c *cobra.Command, given string) string {
	var names []string
	var visit func(*cobra.Command)
	visit = func(other *cobra.Command) {
		other.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && (given == "--"+f.Name || given == "-"+f.Shorthand) {
				names = append(names, strings.TrimPrefix(other.CommandPath(), c.Root().CommandPath()+" "))
			}
		})
		for _, child := range other.Commands() {
			visit(child)
		}
	}
	visit(c.Root())
	if len(names) == 0 {
		return ""
	}
	if len(names) > mostCommands {
		names = append(names[:mostCommands], "other commands")
	}
	list := names[len(names)-1]
	if others := names[:len(names)-1]; len(others) > 0 {
		list = strings.Join(others, ", ") + " and " + list
	}
	return fmt.Sprintf("%s is a flag of %s.", given, list)
}

// mostCommands is the number of commands that a hint names.
const mostCommands = 3

// nearFlag asks whether the user meant a flag of a similar name; "" if none is similar.
func nearFlag(c *cobra.Command, unknown *pflag.NotExistError) string {
	if unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return cli.HintIn("--", unknown.GetSpecifiedName(), "", names)
}

// nearValue asks whether the user meant a similar value of a flag with a fixed list of values; "" if none is similar.
func nearValue(err error) string {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if e, ok := invalid.GetFlag().Value.(interface{ Values() []string }); ok {
			return cli.HintIn("--"+invalid.GetFlag().Name+"=", invalid.GetValue(), "", e.Values())
		}
	}
	return ""
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
				return cli.NoCommand(named, rest)
			}
		case "completion":
			c.Args = cli.NoCommand
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() } // without it, cobra ignores Args
			for _, shell := range c.Commands() {
				shell.Args = cli.NoCommand
			}
		}
	}
}
