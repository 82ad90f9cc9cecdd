// SPDX-License-Identifier: Apache-2.0

package github_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/github"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

func written(t *testing.T, a *report.Audit) string {
	t.Helper()
	var b bytes.Buffer
	if err := github.Write(&b, a); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// command is a workflow command as a runner reads it.
type command struct {
	name       string
	properties map[string]string
	message    string
}

// read parses the output of a step by the rules of GitHub's runner: a line is a command if it begins with "::" and has
// a second "::". Before the latter are the name, a blank and the properties KEY=VALUE, separated by commas. Escapes are
// replaced at the end, that of "%" as the last one.
func read(t *testing.T, output string) []command {
	t.Helper()
	unescape := func(s string, pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
		}
		return strings.ReplaceAll(s, "%25", "%")
	}
	var out []command
	for _, line := range strings.FieldsFunc(output, func(r rune) bool { return r == '\n' || r == '\r' }) {
		rest, ok := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::")
		head, message, closed := strings.Cut(rest, "::")
		if !ok || !closed {
			t.Errorf("a line is no command: %q", line)
			continue
		}
		c := command{properties: map[string]string{}, message: unescape(message, "%0D", "\r", "%0A", "\n")}
		var properties string
		c.name, properties, _ = strings.Cut(head, " ")
		for p := range strings.SplitSeq(properties, ",") {
			key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			c.properties[key] = unescape(value, "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",")
		}
		out = append(out, c)
	}
	return out
}

func TestGolden(t *testing.T) {
	for name, a := range map[string]*report.Audit{"sick": reports.Sample(t, "sick"),
		"clean": reports.Sample(t, "clean"), "full": reports.Full()} {
		golden.Compare(t, name+".txt", written(t, a))
	}
}

// TestCommands checks that a runner reads every finding, with its severity, and one command for all gaps.
func TestCommands(t *testing.T) {
	a := reports.Full()
	a.Findings[0].Message = "100%, a: b, c %0A %25"
	got := read(t, written(t, a))
	for _, f := range a.Findings {
		name := map[report.Severity]string{report.Error: "error", report.Warning: "warning",
			report.Info: "notice"}[f.Severity]
		if !slices.ContainsFunc(got, func(c command) bool {
			return c.name == name && c.properties["title"] == f.Code+" "+f.Title &&
				strings.Contains(strings.Split(c.message, "\n")[0], f.Message)
		}) {
			t.Errorf("no %s for %s %q", name, f.Code, f.Message)
		}
	}
	if got[0].name != "notice" || got[1].name != "warning" || strings.Count(got[1].message, "\n") != len(a.Gaps)-1 {
		t.Errorf("the first commands are not the totals and the gaps: %q", got[:2])
	}
	if n := len(a.Findings) + len(a.Notes) + 2; len(got) != n {
		t.Errorf("%d commands, want %d", len(got), n)
	}
}

// TestProblems checks that equal findings, and those that follow from another one, have one annotation that names them.
func TestProblems(t *testing.T) {
	a := reports.Fleet(20, 50, 2)
	got := read(t, written(t, a))
	if len(got) != 6 {
		t.Fatalf("%d commands, want the totals and 5 problems", len(got))
	}
	for _, want := range []string{"20 bundles (repo8-app008, repo8-app018 and 18 more) on 26 clusters",
		"\nso 1 cluster reports wrong totals\n", "\nthe same for 51 more: cluster-edge-00/repo8-app018, "} {
		if !strings.Contains(got[1].message, want) {
			t.Errorf("%q is not in %q", want, got[1].message)
		}
	}
}

// TestHostile checks that no text of the cluster becomes a command or a property.
func TestHostile(t *testing.T) {
	plain := read(t, written(t, reports.Hostile(reports.Full(), "x")))
	for _, evil := range []string{"\n::error::x", "\r\n::set-env name=A::b\r", "::stop-commands::x",
		",file=a,line=1::x", "%0A::error::x", "##[error]x\n##[add-mask]a", "\u2028::error::x\x1b[2J"} {
		got := read(t, written(t, reports.Hostile(reports.Full(), evil)))
		if len(got) != len(plain) {
			t.Errorf("%q: %d commands, want %d", evil, len(got), len(plain))
			continue
		}
		for i, c := range got {
			if c.name != plain[i].name || len(c.properties) != 1 || c.properties["title"] == "" {
				t.Errorf("%q changes the command %q to %q", evil, plain[i], c)
			}
			if strings.ContainsFunc(c.message, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
				t.Errorf("%q is printed with control characters", evil)
			}
		}
	}
}

// TestUnknown checks that a result without problems is a notice only if everything was read.
func TestUnknown(t *testing.T) {
	ready := report.BundleDeployment{Name: "a", State: report.Ready, Counts: report.Counts{Desired: 1, Ready: 1}}
	for name, a := range map[string]*report.Audit{
		"nothing": {},
		"a gap":   {BundleDeployments: []report.BundleDeployment{ready}, Gaps: []report.Gap{{What: "x"}}},
		"no result": {BundleDeployments: []report.BundleDeployment{ready, {Name: "b", State: report.Unknown,
			Reason: "ClusterNotRead"}}},
	} {
		if c := read(t, written(t, a))[0]; c.name != "warning" {
			t.Errorf("%s: the totals are a %s", name, c.name)
		}
	}
	clean := &report.Audit{BundleDeployments: []report.BundleDeployment{ready}}
	if c := read(t, written(t, clean))[0]; c.name != "notice" {
		t.Errorf("the totals of a clean report are a %s", c.name)
	}
}

// TestLength checks that no message is too long for GitHub, and that what is cut is counted.
func TestLength(t *testing.T) {
	a := reports.Full()
	for i := range 5000 {
		a.Gaps = append(a.Gaps, report.Gap{What: fmt.Sprintf("namespace-%04d", i), Reason: "Forbidden",
			Effect: "unknown"})
	}
	got := read(t, written(t, a))[1]
	if n := len(got.message); n > 60_000 {
		t.Errorf("a message of %d bytes", n)
	}
	lines := strings.Split(got.message, "\n")
	if want := fmt.Sprintf("… and %d lines more", len(a.Gaps)-len(lines)+1); lines[len(lines)-1] != want {
		t.Errorf("the message ends with %q, want %q", lines[len(lines)-1], want)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteFails(t *testing.T) {
	if err := github.Write(failing{}, reports.Full()); err == nil {
		t.Error("no error for a failed write")
	}
}

// TestLeftOut checks that the first annotation counts the findings which the report does not list, and does not look
// like a result without problems.
func TestLeftOut(t *testing.T) {
	a := reports.LeftOut()
	a.Gaps, a.BundleDeployments, a.Summary.Counts = nil, []report.BundleDeployment{{State: report.Ready}},
		report.Counts{}
	first := read(t, written(t, a))[0]
	for _, l := range a.LeftOut() {
		if first.name != "warning" || !strings.Contains(first.message, l.Text) {
			t.Errorf("%q is not in the %s %s", l.Text, first.name, first.message)
		}
	}
}
