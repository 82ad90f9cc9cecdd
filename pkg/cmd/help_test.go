// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestHelpTexts checks that each command has a text in the directory help, with examples that have the name of the
// program, and that each text there has a command.
func TestHelpTexts(t *testing.T) {
	root := New("kubectl-fleetdoctor", cli.Environment{})
	var visit func(*cobra.Command)
	var named []string
	visit = func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), root.CommandPath()+" ")
		file := strings.ReplaceAll(path, " ", "-") + ".txt"
		_, err := os.Stat("help/" + file)
		ofCobra := path == "help" || strings.HasPrefix(path, "completion ")
		switch {
		case err != nil && !ofCobra:
			t.Errorf("%s: %v", path, err)
		case err == nil && c.Long == "":
			t.Errorf("%s: no text", path)
		}
		if strings.Contains(c.Example, "kubectl fleetdoctor") {
			t.Errorf("%s: an example calls the program by another name:\n%s", path, c.Example)
		}
		named = append(named, file)
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(root)
	entries, err := os.ReadDir("help")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".txt") && !slices.Contains(named, e.Name()) {
			t.Errorf("%s: no command has this path", e.Name())
		}
	}
}
