// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
)

// commandGroups are the headings of the help of the program with the commands below them, in the order of the help.
var commandGroups = []struct {
	title    string
	commands []string
}{
	{"Diagnose", []string{"audit", "why", "owner"}},
	{"Before a change", []string{"preflight", "impact", "targets"}},
	{"Repair", []string{"repair", "adopt"}},
	{"Capture", []string{"snapshot", "compare"}},
	{"Other commands", []string{"agents", "auditor", "explain", "mcp", "webhook", "version", "options", "completion",
		"help"}},
}

// groupCommands assigns the commands of the program to their groups.
func groupCommands(root *cobra.Command) {
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range root.Commands() {
			if slices.Contains(g.commands, c.Name()) {
				c.GroupID = g.title
			}
		}
	}
}

// wrapHelp wraps the help of all commands to the width of the terminal; 0 if the output is no terminal. Examples stay
// as they are.
func wrapHelp(root *cobra.Command, terminal int) {
	width := max(cmp.Or(terminal, helpWidth), minHelp)
	prose := min(width, maxProse)
	root.SetUsageFunc(func(c *cobra.Command) error {
		fmt.Fprint(c.OutOrStderr(), usage(c, width, prose))
		return nil
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		text := refill(strings.TrimSpace(cmp.Or(c.Long, c.Short)), prose) + "\n\n"
		if c.Runnable() || c.HasSubCommands() {
			text += c.UsageString()
		}
		fmt.Fprint(c.OutOrStdout(), text)
	})
}

// usage returns the usage of a command, laid out for a number of columns; sentences have at most prose.
func usage(c *cobra.Command, columns, prose int) string {
	var sections []string
	add := func(title, body string) {
		if body = strings.TrimRight(body, "\n"); body != "" {
			sections = append(sections, title+":\n"+body)
		}
	}
	add("Usage", useLines(c, prose))
	add("Examples", c.Example)
	if len(c.Groups()) == 0 {
		add("Available Commands", refill(commandLines(c.Commands()), prose))
	}
	for _, g := range commandGroups {
		add(g.title, refill(commandLines(membersOf(c, g.title, g.commands)), prose))
	}
	for _, g := range flagGroups(c) {
		add(g.title, g.flags.FlagUsagesWrapped(columns))
	}
	out := strings.Join(sections, "\n\n") + "\n\n"
	for _, next := range hints(c) {
		out += refill(next, prose) + "\n"
	}
	return strings.TrimRight(out, "\n") + "\n"
}

// useLines are the command lines that a command accepts.
func useLines(c *cobra.Command, prose int) string {
	var lines string
	if c.Runnable() {
		lines = "  " + c.UseLine() + "\n"
	}
	if c.HasAvailableSubCommands() {
		lines += "  " + c.CommandPath() + " [command]"
	}
	return refill(lines, prose)
}

// membersOf are the commands of a group, in the order of their names there.
func membersOf(c *cobra.Command, group string, names []string) []*cobra.Command {
	var members []*cobra.Command
	for _, child := range c.Commands() {
		if child.GroupID == group {
			members = append(members, child)
		}
	}
	slices.SortFunc(members, func(x, y *cobra.Command) int {
		return slices.Index(names, x.Name()) - slices.Index(names, y.Name())
	})
	return members
}

// commandLines has a line for each command, with what it does.
func commandLines(commands []*cobra.Command) string {
	var lines strings.Builder
	for _, c := range commands {
		if c.IsAvailableCommand() || c.Name() == "help" {
			fmt.Fprintf(&lines, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
	return lines.String()
}

// flagGroup is a heading of the help of a command with the flags below it.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups returns the flags of a command in their groups. As in the help of kubectl, --help is in none, and the
// flags of kubectl are only those of the command options.
func flagGroups(c *cobra.Command) []flagGroup {
	flags, kubectls := map[string]*pflag.FlagSet{}, input.ConnectionFlags()
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		title := FlagGroupOf(f.Name)
		if input.Connects(kubectls, f) {
			title = ""
		}
		if c.Name() == "options" {
			title = "Flags"
		}
		if title == "" || f.Name == "help" {
			return
		}
		if flags[title] == nil {
			flags[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		flags[title].AddFlag(f)
	})
	var groups []flagGroup
	for _, g := range FlagGroups {
		if flags[g.Title] != nil {
			groups = append(groups, flagGroup{g.Title, flags[g.Title]})
		}
	}
	return groups
}

// hints name the commands that show more.
func hints(c *cobra.Command) []string {
	var out []string
	if c.HasAvailableSubCommands() {
		out = append(out, fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.",
			c.CommandPath()))
	}
	connects := c.LocalFlags().Lookup("kubeconfig") != nil && c.Name() != "options"
	if connects || !c.HasParent() {
		out = append(out, fmt.Sprintf("Use \"%s options\" for the flags of all commands.", c.Root().CommandPath()))
	}
	return out
}
