// SPDX-License-Identifier: Apache-2.0

package cmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// run runs the verb with arguments and returns its output.
func run(t *testing.T, args ...string) (*bytes.Buffer, error) {
	t.Helper()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	c := cmd.NewExplain(cli.Environment{Streams: streams, Name: "kubectl fleetdoctor", Version: "test"})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	return out, c.ExecuteContext(t.Context())
}

func TestTopics(t *testing.T) {
	for args, want := range map[string][]string{
		"FD101":       {"FD101"},
		"fd101 Lag":   {"FD101", "Lag"},
		"Missing":     {"FD101", "Missing"},
		"Unmarked":    {"Unmarked"},
		"idmismatch":  {"FD108"},
		"AgentSilent": {"AgentSilent"},
	} {
		out, err := run(t, append(strings.Fields(args), "-o", "json")...)
		if err != nil {
			t.Fatal(err)
		}
		var got report.Explanation
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, x := range got.Topics {
			names = append(names, x.Name)
		}
		if strings.Join(names, " ") != strings.Join(want, " ") || got.Tool.Version != "test" {
			t.Errorf("%s: %q of version %q, want %q", args, names, got.Tool.Version, want)
		}
	}
	out, err := run(t, "-o", "name")
	if err != nil || !strings.HasPrefix(out.String(), "FD101\nFD102\n") {
		t.Errorf("the list begins with %.20q: %v", out, err)
	}
}

// TestUnknownWord checks that a word that is not known is wrong usage, with a similar word as hint.
func TestUnknownWord(t *testing.T) {
	for word, hint := range map[string]string{"FD1011": "FD101", "Mising": "Missing", "Forbiddn": "Forbidden",
		"quite-something-else": "explain lists"} {
		_, err := run(t, word)
		var e *cli.Error
		if !errors.As(err, &e) || e.Status != cli.ExitUsage || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v, want status %d and a hint with %q", word, err, cli.ExitUsage, hint)
		}
	}
	if _, err := run(t, "FD101", "-o", "xml"); cli.ExitStatus(err) != cli.ExitUsage {
		t.Errorf("an unknown format: %v", err)
	}
}
