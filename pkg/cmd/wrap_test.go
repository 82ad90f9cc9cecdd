// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestRefill checks each kind of block of a help text.
func TestRefill(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a paragraph": {"one two three four\nfive six\n\nseven", "one two three four five\nsix\n\nseven"},
		"an item with its meaning": {"List:\n\n  a    one two three four five six\n       seven\n  long eight",
			"List:\n\n  a    one two three four\n       five six seven\n  long eight"},
		"an item without a meaning": {"Usage:\n  audit [gitrepo/NAME | bundle/NAME] [flags]",
			"Usage:\n  audit [gitrepo/NAME\n      | bundle/NAME]\n      [flags]"},
		"code": {"Run:\n\n\tsource <(program completion bash)\n    kubectl get bundledeployments " +
			"--all", "Run:\n\n\tsource <(program completion bash)\n    kubectl get bundledeployments --all"},
		"other scripts": {"größe größe größe größe größe", "größe größe größe größe\ngröße"},
	} {
		if got := refill(tc.text, 25); got != tc.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, tc.want)
		}
	}
}

// TestHelpWidth checks that the help of each command has the width of the terminal, except for examples, code and
// words, and that it has all words of the text.
func TestHelpWidth(t *testing.T) {
	for _, width := range []int{0, 60, 80, 100, 200} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		root := New("kubectl-fleetdoctor", cli.Environment{Streams: streams})
		wrapHelp(root, width)
		limit := width
		if width == 0 {
			limit = helpWidth
		}
		for _, c := range commands(root) {
			out.Reset()
			if err := c.Help(); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			for _, want := range append(strings.Fields(c.Long), strings.Split(c.Example, "\n")...) {
				if !strings.Contains(got, want) {
					t.Errorf("%d columns: the help of %s has no %q", width, c.CommandPath(), want)
				}
			}
			if c.Example != "" {
				got = strings.Replace(got, c.Example, "", 1)
			}
			for line := range strings.SplitSeq(got, "\n") {
				if n := utf8.RuneCountInString(line); n > limit && !strings.HasPrefix(line, "\t") &&
					strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%d columns: %s: %d columns: %s", width, c.CommandPath(), n, line)
				}
			}
		}
	}
}

// commands returns a command and all commands below it.
func commands(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, child := range c.Commands() {
		out = append(out, commands(child)...)
	}
	return out
}
