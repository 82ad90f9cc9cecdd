// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed help/*.txt
var helpTexts embed.FS

// addHelp sets the texts of the root command and of all commands below it. program is how the user calls the program. A
// command without a file keeps the texts that it has: those of a command that cobra adds.
func addHelp(root *cobra.Command, program string) { addHelpTo(root, "", program) }

// addHelpTo sets the texts of a command, whose path begins with prefix.
func addHelpTo(c *cobra.Command, prefix, program string) {
	name := prefix + c.Name()
	if content, err := helpTexts.ReadFile("help/" + name + ".txt"); err == nil {
		text, examples, _ := strings.Cut(strings.TrimSpace(string(content)), "\n\nExamples:\n")
		c.Long, c.Example = text, strings.ReplaceAll(examples, "kubectl fleetdoctor", program)
	}
	if c.HasParent() {
		prefix = name + "-"
	}
	for _, child := range c.Commands() {
		addHelpTo(child, prefix, program)
	}
}
