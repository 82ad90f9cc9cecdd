// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// pages writes the pages and returns them by their file name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := writePages(dir, "v1.2.3", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name()] = string(content)
	}
	return out
}

// TestPages checks that each command has a page with its description and its flags, and that there is no page of
// another command.
func TestPages(t *testing.T) {
	got := pages(t)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		c.Annotations = nil
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, ok := got[name]
		delete(got, name)
		if plain := strings.ReplaceAll(page, `\-`, "-"); !ok || !strings.Contains(plain, c.Short) ||
			!strings.Contains(plain, "v1.2.3") || !strings.Contains(plain, `"Jan 2026"`) {
			t.Errorf("%s: no page, or without its description, version or date:\n%.300s", name, page)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(strings.ReplaceAll(page, `\-`, "-"), "--"+f.Name) {
				t.Errorf("%s has no flag --%s", name, f.Name)
			}
		})
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(program())
	for name := range got {
		t.Errorf("%s is the page of no command", name)
	}
}

// TestPagesAgain checks that the same commands give the same bytes.
func TestPagesAgain(t *testing.T) {
	first, again := pages(t), pages(t)
	for name := range first {
		if first[name] != again[name] {
			t.Errorf("%s differs", name)
		}
	}
	if len(first) == 0 || len(first) != len(again) {
		t.Errorf("%d and %d pages", len(first), len(again))
	}
	for _, epoch := range []string{"", "today"} {
		if run(t.TempDir(), "v1.2.3", epoch) == nil {
			t.Errorf("SOURCE_DATE_EPOCH=%q is accepted", epoch)
		}
	}
}

// TestCompletions checks that the scripts are those that the program prints.
func TestCompletions(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, "v1.2.3", "0"); err != nil {
		t.Fatal(err)
	}
	for name, shell := range map[string]string{"kubectl-fleetdoctor.bash": "bash", "_kubectl-fleetdoctor": "zsh",
		"kubectl-fleetdoctor.fish": "fish", "kubectl-fleetdoctor.ps1": "powershell"} {
		written, err := os.ReadFile(filepath.Join(dir, "completions", name))
		if err != nil {
			t.Fatal(err)
		}
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		if status := cmd.Main(t.Context(), []string{"kubectl-fleetdoctor", "completion", shell},
			cli.Environment{Streams: streams}); status != 0 || out.String() != string(written) {
			t.Errorf("%s is not the output of completion %s (status %d)", name, shell, status)
		}
	}
}
