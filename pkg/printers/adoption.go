// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Adoption lays out the plan of an adoption, or its result. Its names are the objects that the plan changes.
func Adoption(a *report.Adoption, o Options) Document {
	return Document{o, a, a.Objects, func(t text, b *bytes.Buffer) error { t.adoption(b, a); return nil },
		func(b *bytes.Buffer) {
			for _, o := range a.Objects {
				if o.Action != report.ActionRefuse && o.Action != report.ActionNone {
					objectName(b, o.Ref)
				}
			}
		}}
}

func (t text) adoption(b *bytes.Buffer, a *report.Adoption) {
	if a.Kind == report.KindAdoptionResult {
		t.outcome(b, a)
	} else {
		t.plan(b, a)
	}
}

// plan shows the actions, bundle deployment by bundle deployment.
func (t text) plan(b *bytes.Buffer, a *report.Adoption) {
	title := "Adoption plan for "
	if a.Undo {
		title = "Undo plan for "
	}
	t.head(b, title, a.Source, a.TakenAt)
	t.notRead(b, a.Gaps, a.Notes)
	for objects := range chunks(a.Objects, func(x, y report.AdoptedObject) bool {
		return x.BundleDeployment == y.BundleDeployment
	}) {
		fmt.Fprintln(b, t.bold("bundle deployment "+printable(objects[0].BundleDeployment)))
		t.groupedByAction(b, objects)
		emptyLine(b)
	}
	t.planSummary(b, a)
}

// groupedByAction shows objects with the same action, reasons and changes together: the changes are the same for all
// objects of a bundle.
func (t text) groupedByAction(b *bytes.Buffer, objects []report.AdoptedObject) {
	groups := grouped(objects, func(o report.AdoptedObject) string {
		raw, _ := json.Marshal([]any{o.Action, o.Reason, o.Refusals, o.Changes, o.Effects, o.Overwrites,
			o.Message}) // a report has a JSON form
		return string(raw)
	})
	slices.SortStableFunc(groups, func(x, y []report.AdoptedObject) int {
		return cmp.Compare(actionRank[x[0].Action], actionRank[y[0].Action])
	})
	for _, group := range groups {
		t.actionGroup(b, group)
	}
}

// actionRank puts actions that need a decision first.
var actionRank = map[report.Action]int{report.ActionAdopt: 0, report.ActionRestore: 0, report.ActionRefuse: 1,
	report.ActionNone: 2}

// actionWords are the names of the actions in a plan.
var actionWords = map[report.Action]string{report.ActionAdopt: "adopt", report.ActionRestore: "restore",
	report.ActionRefuse: "refuse", report.ActionNone: "leave"}

var actionColours = map[report.Action]string{report.ActionAdopt: green, report.ActionRestore: green,
	report.ActionRefuse: red, report.ActionNone: faint}

func (t text) actionGroup(b *bytes.Buffer, group []report.AdoptedObject) {
	first := group[0]
	listed(t, b, "  ", group, "", func(o report.AdoptedObject) {
		line := fmt.Sprintf("  %s %s", t.colour(actionColours[o.Action], fmt.Sprintf("%-7s", actionWords[o.Action])),
			printable(o.Key().String()))
		if o.Reason != "" {
			line += "  " + t.faint(printable(o.Reason))
		}
		fmt.Fprintln(b, line)
	})
	t.sentences(b, inset, first.Refusals...)
	if first.Message != "" {
		t.sentences(b, inset, first.Message)
	}
	if first.Action == report.ActionRefuse && !t.wide {
		return
	}
	for _, c := range first.Changes {
		t.change(b, c)
	}
	t.sentences(b, inset, first.Effects...)
	t.overwrites(b, first.Ref, first.Overwrites)
}

// change shows one label or annotation: in one line if it fits, else the values in the lines below.
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

// keyValue returns a quoted value, or the word none if the key does not exist.
func keyValue(v *string) string {
	if v == nil {
		return "none"
	}
	return printable(fmt.Sprintf("%q", *v))
}

// planSummary shows the counts and the digest of a plan.
func (t text) planSummary(b *bytes.Buffer, a *report.Adoption) {
	s := a.Summary
	action := "adopt"
	if a.Undo {
		action = "restore"
	}
	if s.Change == 0 {
		fmt.Fprintf(b, "Nothing to %s%s.\n", action, t.otherCounts(s))
		return
	}
	fmt.Fprintf(b, "%s to %s%s.\nThe digest of this plan is %s\n", plural(s.Change, "object"), action, t.otherCounts(s),
		printable(a.Digest))
}

// otherCounts counts the objects that are not changed.
func (t text) otherCounts(s report.AdoptionSummary) string {
	var out string
	if s.Refused > 0 {
		out += ", " + t.colour(red, fmt.Sprintf("%d refused", s.Refused))
	}
	if s.Unchanged > 0 {
		out += fmt.Sprintf(", %d unchanged", s.Unchanged)
	}
	return out
}

// outcome shows the result of a plan: the failures object by object, and the counts.
func (t text) outcome(b *bytes.Buffer, a *report.Adoption) {
	past := "adopted"
	if a.Undo {
		past = "restored"
	}
	failed := slices.DeleteFunc(slices.Clone(a.Objects), func(o report.AdoptedObject) bool {
		return o.Outcome != report.OutcomeFailed && o.Outcome != report.OutcomeChanged
	})
	listed(t, b, "  ", failed, "", func(o report.AdoptedObject) {
		word := "failed"
		if o.Outcome == report.OutcomeChanged {
			word = "changed"
		}
		fmt.Fprintf(b, "  %s %s\n", t.colour(red, fmt.Sprintf("%-7s", word)), printable(o.Key().String()))
		t.wrapped(b, inset, o.Message) // the message of the server
	})
	s := a.Summary
	line := fmt.Sprintf("%s %d of %s", past, s.Done, plural(s.Change, "object"))
	if a.DryRun != "" {
		line = "(" + a.DryRun + " dry run) " + line
	}
	if rest := s.Change - s.Done - s.Failed; rest > 0 {
		line += fmt.Sprintf(", %d not tried", rest)
	}
	fmt.Fprintf(b, "%s%s.\n", sentence(line), t.otherCounts(report.AdoptionSummary{Refused: s.Refused}))
	t.sentences(b, "", a.Notes...)
	for _, d := range a.Deployments {
		fmt.Fprintf(b, "  %s  %s → %s ready\n", printable(strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")),
			fraction(d.Before.Ready, d.Before.Desired), t.colour(green, fraction(d.After.Ready, d.After.Desired)))
	}
	if a.Receipt != "" && s.Done+s.Failed > 0 {
		fmt.Fprintf(b, "Undo with: %s\n", printable(t.Undo+" "+escape.Shell(a.Receipt)))
	}
}
