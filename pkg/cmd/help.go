// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mitchellh/go-wordwrap"
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

// FlagGroup is a heading of flags, with the names of the flags below it.
type FlagGroup struct {
	Title string
	Names []string
}

// FlagGroups are the groups in the order of the help. A flag is in the same group in each command that has it.
var FlagGroups = []FlagGroup{
	{"Scope flags", []string{"all-namespaces", "namespace", "selector", "filename", "gitrepo", "path"}},
	{"Output flags", []string{"all", "allow-missing-template-keys", "by", "color", "diff", "full",
		"no-headers", "output", "quiet", "rows", "sort-by", "summary", "template", "watch",
		"watch-interval"}},
	{"Finding flags", []string{"code", "fail-on", "ignore-file", "require-complete", "severity", "since"}},
	{"Cluster flags", []string{"cluster", "cluster-snapshot", "contexts", "via-kubeconfig-secrets", "via-rancher"}},
	{"Input flags", []string{"agent-scope", "as-version", "client", "desired", "print-rbac", "server-check",
		"snapshot", "status-only"}},
	{"Archive flags", []string{"same-masks", "with-bundles"}},
	{"Write flags", []string{"allow", "confirm", "dangerous-take-from", "deployed-by-fleet", "dry-run", "exact",
		"policy", "receipt", "timeout", "undo", "wait", "yes"}},
	{"Installation flags", []string{"api-servers", "certificates", "cluster-name", "dashboards", "events",
		"guard-default", "image", "journal", "keep", "open-reports", "prometheus", "prometheus-labels", "read-rules",
		"record",
		"release-namespaces", "replicas", "reset-values", "set", "set-string", "values"}},
	{"Server flags", []string{"bind-address", "cert-dir", "cert-secret", "configuration", "extra-names",
		"health-probe-bind-address", "log-level", "metrics-bind-address", "port", "record-groups", "service",
		"shutdown-delay"}},
	{"Flags", []string{"no-descriptions", "version"}},
}

// FlagGroupOf returns the title of the group of a flag, "" for a flag of no group.
func FlagGroupOf(name string) string {
	for _, g := range FlagGroups {
		if slices.Contains(g.Names, name) {
			return g.Title
		}
	}
	return ""
}

//go:embed help/*.txt
var helpTexts embed.FS

// addHelp sets the texts of a command, whose path begins with prefix, and of all commands below it. program is how the
// user calls the program. A command without a file keeps the texts that it has: those of a command that cobra adds.
func addHelp(c *cobra.Command, prefix, program string) {
	name := prefix + c.Name()
	if content, err := helpTexts.ReadFile("help/" + name + ".txt"); err == nil {
		text, examples, _ := strings.Cut(strings.TrimSpace(string(content)), "\n\nExamples:\n")
		c.Long, c.Example = text, strings.ReplaceAll(examples, "kubectl fleetdoctor", program)
	}
	if c.HasParent() {
		prefix = name + "-"
	}
	for _, child := range c.Commands() {
		addHelp(child, prefix, program)
	}
}

const (
	// helpWidth is the width of help if the output is no terminal.
	helpWidth = 100
	// minHelp is the least width for which help is laid out, maxProse the greatest one of sentences. Lines of flags use
	// the whole terminal.
	minHelp, maxProse = 40, 120
)

// refill wraps text. It fills paragraphs, and lists whose items are indented by up to three spaces. It does not change
// code, which is indented more.
func refill(text string, width int) string {
	var out strings.Builder
	open := block{}
	end := func() {
		out.WriteString(open.wrapped(width))
		open = block{}
	}
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.TrimLeft(line, " ")
		indent := len(line) - len(words)
		continues := words != "" && indent == open.hanging
		switch {
		case open.text != "" && continues:
			open.text += " " + words
			continue
		case words == "", indent > 3, strings.HasPrefix(words, "\t"), strings.HasPrefix(words, "#"):
			end()
			out.WriteString(line + "\n")
		default:
			end()
			open = newBlock(line, indent)
		}
	}
	end()
	return strings.TrimSuffix(out.String(), "\n")
}

// block is a paragraph or an item of a list. Its lines but the first are indented by hanging.
type block struct {
	head, text string
	hanging    int
}

// newBlock begins a block with its first line. An item that has a term and its description, separated by two spaces,
// continues below the description.
func newBlock(line string, indent int) block {
	head := line[:indent]
	if indent == 0 {
		return block{text: line}
	}
	if term, description, ok := strings.Cut(line[indent:], "  "); ok {
		text := strings.TrimLeft(description, " ")
		head += term + "  " + description[:len(description)-len(text)]
		return block{head, text, utf8.RuneCountInString(head)}
	}
	return block{head, line[indent:], indent + 4}
}

// wrapped returns the lines of a block.
func (b block) wrapped(width int) string {
	if b.text == "" {
		return ""
	}
	lines := wordwrap.WrapString(strings.Join(strings.Fields(b.text), " "), uint(max(width-b.hanging, minHelp/2)))
	return b.head + strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", b.hanging)) + "\n"
}
