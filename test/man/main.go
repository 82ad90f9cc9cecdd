// SPDX-License-Identifier: Apache-2.0

// Command man writes the man pages of the program, one for each command, and the scripts with which shells complete
// its arguments, from the commands themselves.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: man DIRECTORY VERSION, with the date of the pages in SOURCE_DATE_EPOCH; "+
			"writes DIRECTORY/man and DIRECTORY/completions")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		fmt.Fprintf(os.Stderr, "man: %v\n", err)
		os.Exit(1)
	}
}

func run(dir, version, epoch string) error {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return errors.New("SOURCE_DATE_EPOCH must be a number of seconds, so that the same sources give the same pages")
	}
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := writeCompletions(completions); err != nil {
		return err
	}
	return writePages(man, version, time.Unix(seconds, 0).UTC())
}

func program() *cobra.Command {
	return cmd.New("kubectl-fleetdoctor", cli.Environment{Streams: genericiooptions.NewTestIOStreamsDiscard()})
}

// writeCompletions writes the scripts that the command completion prints, under the names that the shells expect.
func writeCompletions(dir string) error {
	root := program()
	return errors.Join(
		root.GenBashCompletionFileV2(filepath.Join(dir, "kubectl-fleetdoctor.bash"), true),
		root.GenZshCompletionFile(filepath.Join(dir, "_kubectl-fleetdoctor")),
		root.GenFishCompletionFile(filepath.Join(dir, "kubectl-fleetdoctor.fish"), true),
		root.GenPowerShellCompletionFileWithDesc(filepath.Join(dir, "kubectl-fleetdoctor.ps1")))
}

// writePages writes the pages of all commands.
func writePages(dir, version string, date time.Time) error {
	root := program()
	prepare(root)
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "kubectl-fleetdoctor " + version,
		Manual: "kubectl fleetdoctor"}
	return doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{Header: header, Path: dir, CommandSeparator: "-"})
}

// prepare makes the texts of a command, and of all below it, valid Markdown, from which the library makes the pages.
func prepare(c *cobra.Command) {
	c.Annotations = nil // the pages are named as the file of the program
	c.Long = markdown(c.Long)
	for _, child := range c.Commands() {
		prepare(child)
	}
}

// special are the characters that Markdown would interpret.
var special = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "|", `\|`)

// markdown escapes a text, and keeps the lines of its indented blocks.
func markdown(text string) string {
	var out []string
	indented := false
	for line := range strings.SplitSeq(text, "\n") {
		was := indented
		indented = strings.HasPrefix(line, "  ")
		switch {
		case indented:
			line = "    " + line
		case !strings.HasPrefix(line, "\t"): // a tab begins a block of code already
			line = special.Replace(line)
		}
		if indented != was {
			out = append(out, "")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
