// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// AdoptionPrinter shows a plan, or what came of it.
type AdoptionPrinter func(io.Writer, *report.Adoption) error

// NewAdoption returns the printer of a format, one of Formats.
func NewAdoption(format string, o Options) (AdoptionPrinter, error) {
	switch format {
	case "table":
		return text{Options: o}.adoption, nil
	case "wide":
		return text{Options: o, wide: true}.adoption, nil
	case "json":
		return func(w io.Writer, a *report.Adoption) error { return writeJSON(w, a) }, nil
	case "yaml":
		return func(w io.Writer, a *report.Adoption) error { return writeYAML(w, a) }, nil
	case "name":
		return adoptedNames, nil
	}
	return nil, noFormat(format)
}

// adoptedNames prints the objects that a plan changes as arguments of kubectl, one a line.
func adoptedNames(w io.Writer, a *report.Adoption) error {
	for _, o := range a.Objects {
		if o.Action == report.ActionRefuse || o.Action == report.ActionNone {
			continue
		}
		kind, _, _ := strings.Cut(o.Key().String(), " ")
		if err := printName(w, o.Namespace, kind, o.Name); err != nil {
			return err
		}
	}
	return nil
}

func (t text) adoption(w io.Writer, a *report.Adoption) error {
	var b bytes.Buffer
	if a.Kind == report.KindAdoptionResult {
		t.outcome(&b, a)
	} else {
		t.plan(&b, a)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// plan shows what is to be done, bundle deployment by bundle deployment.
func (t text) plan(b *bytes.Buffer, a *report.Adoption) {
	title := "Adoption plan for "
	if a.Undo {
		title = "Undo plan for "
	}
	t.origin(b, title, a.Source, a.TakenAt)
	t.notRead(b, a.Gaps, a.Notes)
	for rest := a.Objects; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(o report.AdoptedObject) bool { return o.BundleDeployment != rest[0].BundleDeployment })
		if n < 0 {
			n = len(rest)
		}
		fmt.Fprintln(b, t.bold("bundle deployment "+printable(rest[0].BundleDeployment)))
		t.alike(b, rest[:n])
		b.WriteByte('\n')
		rest = rest[n:]
	}
	t.planVerdict(b, a)
}

// alike shows objects with which the same is to be done together: the keys are those of their set, and say little ten times over.
func (t text) alike(b *bytes.Buffer, objects []report.AdoptedObject) {
	var order []string
	groups := map[string][]report.AdoptedObject{}
	for _, o := range objects {
		key, err := json.Marshal([]any{o.Action, o.Reason, o.Refusals, o.Changes, o.Effects, o.Overwrites, o.Message})
		if err != nil {
			key = []byte(o.UID)
		}
		if groups[string(key)] == nil {
			order = append(order, string(key))
		}
		groups[string(key)] = append(groups[string(key)], o)
	}
	slices.SortStableFunc(order, func(x, y string) int {
		return cmp.Compare(actionRank[groups[x][0].Action], actionRank[groups[y][0].Action])
	})
	for _, key := range order {
		t.together(b, groups[key])
	}
}

// actionRank puts what is to be decided about before what needs nothing.
var actionRank = map[report.Action]int{report.ActionAdopt: 0, report.ActionRestore: 0, report.ActionRefuse: 1, report.ActionNone: 2}

// actionWords are the actions as a plan says them.
var actionWords = map[report.Action]string{report.ActionAdopt: "adopt", report.ActionRestore: "restore", report.ActionRefuse: "refuse", report.ActionNone: "leave"}

var actionColours = map[report.Action]string{report.ActionAdopt: green, report.ActionRestore: green, report.ActionRefuse: red, report.ActionNone: faint}

func (t text) together(b *bytes.Buffer, group []report.AdoptedObject) {
	first := group[0]
	shown := group
	if !t.wide {
		shown = group[:min(len(group), most)]
	}
	for _, o := range shown {
		line := fmt.Sprintf("  %s %s", t.colour(actionColours[o.Action], fmt.Sprintf("%-7s", actionWords[o.Action])), printable(o.Key().String()))
		if o.Reason != "" {
			line += "  " + t.faint(printable(o.Reason))
		}
		fmt.Fprintln(b, line)
	}
	if n := len(group) - len(shown); n > 0 {
		fmt.Fprintf(b, "  %s\n", t.faint(fmt.Sprintf("… and %d more (-o wide shows them)", n)))
	}
	for _, r := range first.Refusals {
		wrapped(b, inset, sentence(r)+".")
	}
	if first.Message != "" {
		wrapped(b, inset, sentence(first.Message)+".")
	}
	if first.Action == report.ActionRefuse && !t.wide {
		return
	}
	for _, c := range first.Changes {
		t.change(b, c)
	}
	for _, e := range first.Effects {
		wrapped(b, inset, sentence(e)+".")
	}
	t.overwrites(b, first.Overwrites)
}

// change shows one key: in one line where it fits, else what was and what is to be below it.
func (t text) change(b *bytes.Buffer, c report.KeyChange) {
	key := fmt.Sprintf("%s%-10s %s:", inset, printable(c.Field), printable(c.Key))
	old, now := keyValue(c.Old), keyValue(c.New)
	if c.Old == nil {
		fmt.Fprintf(b, "%s %s\n", key, t.colour(green, now))
		return
	}
	if span(key+" "+old+" → "+now) <= width {
		fmt.Fprintf(b, "%s %s → %s\n", key, t.colour(red, old), t.colour(green, now))
		return
	}
	below := inset + "           "
	fmt.Fprintf(b, "%s\n%s%s →\n%s%s\n", key, below, t.colour(red, old), below, t.colour(green, now))
}

// keyValue is a value as it would be typed, none where the key is not there.
func keyValue(v *string) string {
	if v == nil {
		return "none"
	}
	return printable(fmt.Sprintf("%q", *v))
}

// overwrites shows the fields that the next deploy puts back.
func (t text) overwrites(b *bytes.Buffer, diffs []report.Difference) {
	if t.Diff {
		t.diff(b, diffs)
		return
	}
	for i, d := range diffs {
		if i == most && !t.wide {
			fmt.Fprintf(b, "%s%s\n", inset, t.faint(fmt.Sprintf("… and %d more (-o wide shows them)", len(diffs)-most)))
			return
		}
		who := ""
		if d.Manager != "" {
			who = t.faint("  written by " + printable(d.Manager))
		}
		fmt.Fprintf(b, "%s%s%s\n", inset, printable(d.Path), who)
	}
}

// planVerdict is what is to be decided, and how.
func (t text) planVerdict(b *bytes.Buffer, a *report.Adoption) {
	s := a.Summary
	verb := "adopt"
	if a.Undo {
		verb = "restore"
	}
	if s.Change == 0 {
		fmt.Fprintf(b, "Nothing to %s%s.\n", verb, t.besides(s))
		return
	}
	fmt.Fprintf(b, "%s to %s%s.\nThe digest of this plan is %s\n", plural(s.Change, "object"), verb, t.besides(s), printable(a.Digest))
}

func (t text) besides(s report.AdoptionSummary) string {
	var out string
	if s.Refused > 0 {
		out += ", " + t.colour(red, fmt.Sprintf("%d refused", s.Refused))
	}
	if s.Unchanged > 0 {
		out += fmt.Sprintf(", %d left as they are", s.Unchanged)
	}
	return out
}

// outcome shows what came of a plan: what went wrong object by object, and the rest in numbers.
func (t text) outcome(b *bytes.Buffer, a *report.Adoption) {
	past := "adopted"
	if a.Undo {
		past = "restored"
	}
	shown := 0
	for _, o := range a.Objects {
		if o.Outcome != report.OutcomeFailed && o.Outcome != report.OutcomeChanged {
			continue
		}
		if shown++; shown > most && !t.wide {
			continue
		}
		word := "failed"
		if o.Outcome == report.OutcomeChanged {
			word = "left"
		}
		fmt.Fprintf(b, "  %s %s\n", t.colour(red, fmt.Sprintf("%-7s", word)), printable(o.Key().String()))
		wrapped(b, inset, o.Message) // the server's own words
	}
	if shown > most && !t.wide {
		fmt.Fprintf(b, "  %s\n", t.faint(fmt.Sprintf("… and %d more (-o wide shows them)", shown-most)))
	}
	s := a.Summary
	line := fmt.Sprintf("%s %d of %s", past, s.Done, plural(s.Change, "object"))
	if a.DryRun != "" {
		line = "(" + a.DryRun + " dry run) " + line
	}
	if rest := s.Change - s.Done - s.Failed; rest > 0 {
		line += fmt.Sprintf(", %d not tried", rest)
	}
	fmt.Fprintf(b, "%s%s.\n", sentence(line), t.besides(report.AdoptionSummary{Refused: s.Refused}))
	for _, n := range a.Notes {
		wrapped(b, "", sentence(n)+".")
	}
	for _, d := range a.Deployments {
		fmt.Fprintf(b, "  %s  %s → %s ready\n", printable(strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")),
			fraction(d.Before.Ready, d.Before.Desired), t.colour(green, fraction(d.After.Ready, d.After.Desired)))
	}
	if a.Receipt != "" && s.Done+s.Failed > 0 {
		fmt.Fprintf(b, "Take it back with: %s\n", printable(t.Undo+" "+shellescape.Quote(a.Receipt)))
	}
}
