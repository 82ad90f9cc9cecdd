// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
)

// TestCommandGroups checks that each command of the program is in one group, and that the help has them in the order of
// the groups.
func TestCommandGroups(t *testing.T) {
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	root := New("kubectl-fleetdoctor", cli.Environment{Streams: streams})
	var want []string
	for _, g := range commandGroups {
		want = append(want, g.title+":")
		want = append(want, g.commands...)
	}
	root.InitDefaultVersionFlag()
	if err := root.Help(); err != nil {
		t.Fatal(err)
	}
	var got []string
	_, list, _ := strings.Cut(out.String(), "[command]\n\n")
	list, _, _ = strings.Cut(list, "\n\nFlags:")
	for line := range strings.SplitSeq(list, "\n") {
		if line == strings.TrimSpace(line) && line != "" {
			got = append(got, line)
		} else if fields := strings.Fields(line); len(fields) > 0 {
			got = append(got, fields[0])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the help has %q, want %q", got, want)
	}
	for _, c := range root.Commands() {
		if n := count(want, c.Name()); n != 1 {
			t.Errorf("%s is in %d groups", c.Name(), n)
		}
	}
}

// TestFlagGroups checks that each flag of each command is in one group, that the help of the command shows it once, or
// the command options does, and that the groups have no flag that no command has.
func TestFlagGroups(t *testing.T) {
	root := New("kubectl-fleetdoctor", cli.Environment{Streams: genericiooptions.NewTestIOStreamsDiscard()})
	connection := input.ConnectionFlags()
	known := map[string]bool{}
	for _, c := range commands(root) {
		c.InitDefaultVersionFlag()
		shown := 0
		for _, g := range flagGroups(c) {
			g.flags.VisitAll(func(*pflag.Flag) { shown++ })
		}
		want := 0
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			known[f.Name] = true
			isOption := input.Connects(connection, f)
			switch {
			case f.Name == "help", isOption && c.Name() != "options":
				return
			case !isOption && FlagGroupOf(f.Name) == "":
				t.Errorf("%s: --%s is in no group", c.CommandPath(), f.Name)
			}
			want++
		})
		if shown != want {
			t.Errorf("%s: the help shows %d flags, want %d", c.CommandPath(), shown, want)
		}
	}
	for _, g := range FlagGroups {
		for _, name := range g.Names {
			if !known[name] {
				t.Errorf("%s: no command has --%s", g.Title, name)
			}
			if other := FlagGroupOf(name); other != g.Title {
				t.Errorf("--%s is in %s and in %s", name, g.Title, other)
			}
		}
	}
}

func count(list []string, of string) int {
	n := 0
	for _, s := range list {
		if s == of {
			n++
		}
	}
	return n
}
