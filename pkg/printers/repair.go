// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Repair lays out the plan of an adoption, or its result. Its names are the objects that the plan changes.
func Repair(a *report.Repair, o Options) Document {
	return Document{o, a, a.Objects, func(t text) { t.adoption(a) }, func(t text) {
		for _, o := range a.Objects {
			if o.Action != report.ActionRefuse && o.Action != report.ActionNone {
				t.objectName(o.Ref)
			}
		}
	}}
}

func (t text) adoption(a *report.Repair) {
	if a.Kind == report.KindAdoptionResult {
		t.outcome(a)
	} else {
		t.plan(a)
	}
}

// wordsOf returns the words for an adoption, or for its undo.
func wordsOf(a *report.Repair) (plan, action, past string) {
	if a.Undo {
		return "Undo plan for ", "restore", "restored"
	}
	return "Adoption plan for ", "adopt", "adopted"
}

// plan shows the actions, bundle deployment by bundle deployment.
func (t text) plan(a *report.Repair) {
	title, _, _ := wordsOf(a)
	t.head(title, a.Source, a.TakenAt)
	t.notRead(a.Gaps, a.Notes)
	for objects := range chunks(a.Objects, func(x, y report.RepairedObject) bool {
		return x.BundleDeployment == y.BundleDeployment
	}) {
		t.line(t.bold("bundle deployment " + printable(objects[0].BundleDeployment)))
		t.groupedByAction(objects)
		t.emptyLine()
	}
	t.planSummary(a)
}

// groupedByAction shows objects with the same action, reasons and changes together: the changes are the same for all
// objects of a bundle.
func (t text) groupedByAction(objects []report.RepairedObject) {
	groups := grouped(objects, func(o report.RepairedObject) string {
		return alike(o.Action, o.Reason, o.Refusals, o.Changes, o.Effects, o.Overwrites, o.Message)
	})
	slices.SortStableFunc(groups, func(x, y []report.RepairedObject) int {
		return cmp.Compare(actionRank[x[0].Action], actionRank[y[0].Action])
	})
	for _, group := range groups {
		t.actionGroup(group)
	}
}

// actionRank puts actions that need a decision first.
var actionRank = map[report.Action]int{report.ActionAdopt: 0, report.ActionRestore: 0, report.ActionRefuse: 1,
	report.ActionNone: 2}

// actionWords are the names of the actions in a plan.
var actionWords = map[report.Action]string{report.ActionAdopt: "adopt", report.ActionRestore: "restore",
	report.ActionRefuse: "refuse", report.ActionNone: "leave"}

func (t text) actionGroup(group []report.RepairedObject) {
	first := group[0]
	listed(t, "  ", group, "", func(o report.RepairedObject) {
		line := "  " + t.padded(actionWords[o.Action]) + " " + printable(o.Key().String())
		if o.Reason != "" {
			line += "  " + t.faint(printable(o.Reason))
		}
		t.line(line)
	})
	t.sentences(inset, append(slices.Clone(first.Refusals), first.Message)...)
	if first.Action == report.ActionRefuse && !t.wide {
		return
	}
	for _, c := range first.Changes {
		t.change(c)
	}
	t.sentences(inset, first.Effects...)
	t.overwrites(first.Ref, first.Overwrites)
}

// change shows one label or annotation: in one line if it fits, else the values in the lines below.
func (t text) change(c report.KeyChange) {
	key := fmt.Sprintf("%s%-10s %s:", inset, printable(c.Field), printable(c.Key))
	old, now := keyValue(c.Old), keyValue(c.New)
	if c.Old == nil {
		t.linef("%s %s", key, t.colour(green, now))
		return
	}
	if span(key+" "+old+" → "+now) <= width {
		t.linef("%s %s → %s", key, t.colour(red, old), t.colour(green, now))
		return
	}
	below := inset + "           "
	t.linef("%s\n%s%s →\n%s%s", key, below, t.colour(red, old), below, t.colour(green, now))
}

// keyValue returns a quoted value, or the word none if the key does not exist.
func keyValue(v *string) string {
	if v == nil {
		return "none"
	}
	return printable(fmt.Sprintf("%q", *v))
}

// planSummary shows the counts and the digest of a plan.
func (t text) planSummary(a *report.Repair) {
	s := a.Summary
	_, action, _ := wordsOf(a)
	if s.Change == 0 {
		t.linef("Nothing to %s%s.", action, t.otherCounts(s))
		return
	}
	t.linef("%s to %s%s.\nThe digest of this plan is %s", plural(s.Change, "object"), action, t.otherCounts(s),
		printable(a.Digest))
}

// otherCounts counts the objects that are not changed.
func (t text) otherCounts(s report.RepairSummary) string {
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
func (t text) outcome(a *report.Repair) {
	failed := slices.DeleteFunc(slices.Clone(a.Objects), func(o report.RepairedObject) bool {
		return o.Outcome != report.OutcomeFailed && o.Outcome != report.OutcomeChanged
	})
	listed(t, "  ", failed, "", func(o report.RepairedObject) {
		t.linef("  %s %s", t.padded(strings.ToLower(string(o.Outcome))), printable(o.Key().String()))
		t.wrapped(inset, o.Message) // the message of the server
	})
	s := a.Summary
	_, _, past := wordsOf(a)
	line := fmt.Sprintf("%s %d of %s", past, s.Done, plural(s.Change, "object"))
	if a.DryRun != "" {
		line = "(" + a.DryRun + " dry run) " + line
	}
	if rest := s.Change - s.Done - s.Failed; rest > 0 {
		line += fmt.Sprintf(", %d not tried", rest)
	}
	t.linef("%s%s.", sentence(line), t.otherCounts(report.RepairSummary{Refused: s.Refused}))
	t.sentences("", a.Notes...)
	for _, d := range a.Deployments {
		name := printable(strings.TrimPrefix(d.Namespace+"/"+d.Name, "/"))
		if d.Failed != "" {
			t.linef("  %s  is not deployed yet:", name)
			t.wrapped(inset, d.Failed)
			t.remedies(inset, d.Remedies)
			continue
		}
		t.linef("  %s  %s → %s ready", name, fraction(d.Before.Ready, d.Before.Desired),
			t.colour(green, fraction(d.After.Ready, d.After.Desired)))
	}
	if a.Receipt != "" && s.Done+s.Failed > 0 {
		t.linef("Undo with: %s", printable(t.Undo+" "+escape.Shell(a.Receipt)))
	}
}
