// SPDX-License-Identifier: Apache-2.0

// Package help has what users read about each command: one text file for each, with its examples at the end. A file is
// named as the path of its command, "webhook-install.txt". In examples, the program is "kubectl fleetdoctor".
package help

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed *.txt
var files embed.FS

// AddTo sets the texts of the root command and of all commands below it. program is how the user calls the program. A
// command without a file keeps the texts that it has: those of a command that cobra adds.
func AddTo(root *cobra.Command, program string) { add(root, "", program) }

// add sets the texts of a command, whose path begins with prefix.
func add(c *cobra.Command, prefix, program string) {
	name := prefix + c.Name()
	if content, err := files.ReadFile(name + ".txt"); err == nil {
		text, examples, _ := strings.Cut(strings.TrimSpace(string(content)), "\n\nExamples:\n")
		c.Long, c.Example = text, strings.ReplaceAll(examples, "kubectl fleetdoctor", program)
	}
	if c.HasParent() {
		prefix = name + "-"
	}
	for _, child := range c.Commands() {
		add(child, prefix, program)
	}
}
