// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// findings shows what is wrong, bundle by bundle, and last what belongs to none.
func (t text) findings(b *bytes.Buffer, a *report.Audit) {
	groups := map[string][]report.Finding{}
	for _, f := range a.Findings {
		if f.Severity != report.Info || t.wide {
			groups[f.BundleDeployment] = append(groups[f.BundleDeployment], f)
		}
	}
	for _, list := range groups {
		slices.SortStableFunc(list, func(x, y report.Finding) int { return cmp.Compare(rank[x.Severity], rank[y.Severity]) })
	}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		key := strings.TrimPrefix(bd.Namespace+"/"+bd.Name, "/")
		if list := groups[key]; len(list) > 0 {
			fmt.Fprintln(b, t.bold(printable(groupTitle(bd))))
			t.group(b, list, differences(bd))
			delete(groups, key)
		}
	}
	var rest []report.Finding
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		rest = append(rest, groups[key]...)
	}
	if len(rest) > 0 {
		fmt.Fprintln(b, t.bold("Beside the bundles"))
		t.group(b, rest, nil)
	}
}

// rank puts the worst first.
var rank = map[report.Severity]int{report.Error: 0, report.Warning: 1, report.Info: 2}

func groupTitle(bd *report.BundleDeployment) string {
	title := "bundle deployment " + strings.TrimPrefix(bd.Namespace+"/"+bd.Name, "/")
	if bd.Cluster != "" {
		title = "bundle " + bd.Bundle + " on cluster " + bd.Cluster
	}
	return title
}

func differences(bd *report.BundleDeployment) map[object.Ref][]report.Difference {
	out := map[object.Ref][]report.Difference{}
	for _, r := range bd.Resources {
		out[r.Ref] = r.Differences
	}
	return out
}

// group shows the findings of one bundle, cut short where one code has many.
func (t text) group(b *bytes.Buffer, list []report.Finding, diffs map[object.Ref][]report.Difference) {
	shown := map[string]int{}
	total := map[string]int{}
	for _, f := range list {
		total[f.Code]++
	}
	last := ""
	for i, f := range list {
		shown[f.Code]++
		if n := shown[f.Code]; n > most && !t.wide {
			if n == total[f.Code] {
				fmt.Fprintf(b, "  %s\n", t.faint(fmt.Sprintf("… and %d more of %s (-o wide shows them)", n-most, printable(f.Code))))
			}
			continue
		}
		t.finding(b, f)
		if t.Diff && f.Code == "FD104" {
			t.diff(b, diffs[f.Object])
		}
		if t.Diff && f.Code == "FD104" {
			continue // what it would suggest is on the screen
		}
		if next := f.Remediation; next != "" && next != last && (i+1 == len(list) || list[i+1].Remediation != next || shown[f.Code] == most) {
			t.next(b, next)
			last = next
		}
	}
	fmt.Fprintln(b)
}

// inset is where everything below the first line of a finding begins.
const inset = "          "

// commands are the programs with which commands begin; other advice is a sentence.
var commands = []string{"kubectl", "kubectl-fleetdoctor", "helm"}

// next shows what to do. A command stays on one line, however long, so that it can be copied.
func (t text) next(b *bytes.Buffer, s string) {
	if program, _, _ := strings.Cut(s, " "); slices.Contains(commands, path.Base(program)) {
		fmt.Fprintf(b, "%s%s %s\n", inset, t.faint("→"), printable(s))
		return
	}
	wrapped(b, inset, "→ "+s)
}

func (t text) finding(b *bytes.Buffer, f report.Finding) {
	colour := map[report.Severity]string{report.Error: red, report.Warning: yellow, report.Info: cyan}[f.Severity]
	const before = len("  warning FD100  ")
	fmt.Fprintf(b, "  %s %s  %s\n", t.colour(colour, fmt.Sprintf("%-7s", f.Severity)), printable(f.Code),
		strings.Join(lines(f.Message, before, len(inset)), "\n"+inset))
	evidence := f.Evidence
	if f.Code == "FD102" && !t.wide {
		evidence = nil // five keys an object; the command has the one that Fleet looks at
	}
	for _, e := range evidence {
		for _, line := range lines(e, len(inset), len(inset)) {
			fmt.Fprintln(b, inset+t.faint(line))
		}
	}
}

// diff shows field by field what the bundle states and what is there.
func (t text) diff(b *bytes.Buffer, diffs []report.Difference) {
	for _, d := range diffs {
		note := ""
		if d.Note != "" {
			note = t.faint("  (" + printable(d.Note) + ")")
		}
		fmt.Fprintf(b, "%s%s%s\n", inset, printable(d.Path), note)
		t.side(b, red, "-", d.Desired)
		t.side(b, green, "+", d.Live)
	}
}

func (t text) side(b *bytes.Buffer, code, sign string, v report.Value) {
	if v.IsZero() {
		return
	}
	s, ok := v.Shown().(string)
	if !ok {
		raw, err := json.Marshal(v)
		if err != nil {
			raw = []byte(fmt.Sprint(v.Shown()))
		}
		s = string(raw)
	}
	for _, line := range strings.Split(s, "\n") {
		fmt.Fprintf(b, "%s  %s\n", inset, t.colour(code, sign+" "+printable(line)))
	}
}

// printable keeps an object's own text from driving the terminal, or from reading otherwise than it is written: control characters,
// those that change the direction of writing, and line ends that are none to us.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
