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
	if a.Kind == report.KindAdoptionResult || a.Kind == report.KindRepairResult {
		t.outcome(a)
	} else {
		t.plan(a)
	}
}

// wordsOf returns the words for a repair, an adoption, or an undo.
func wordsOf(a *report.Repair) (plan, action, past string) {
	switch {
	case a.Undo:
		return "Undo plan for ", "restore", "restored"
	case a.Kind == report.KindRepairPlan, a.Kind == report.KindRepairResult:
		return "Repair plan for ", "repair", "repaired"
	}
	return "Adoption plan for ", "adopt", "adopted"
}

// plan shows the actions, bundle deployment by bundle deployment.
func (t text) plan(a *report.Repair) {
	title, _, _ := wordsOf(a)
	t.head(title, a.Source, a.TakenAt)
	t.notRead(a.Gaps, a.Notes)
	var written, asked []report.RepairedObject
	for _, o := range a.Objects {
		if o.Step == report.StepDeploy || o.Step == report.StepResume {
			asked = append(asked, o)
		} else {
			written = append(written, o)
		}
	}
	for objects := range chunks(written, func(x, y report.RepairedObject) bool {
		return x.BundleDeployment == y.BundleDeployment && x.Cluster == y.Cluster
	}) {
		t.line(t.bold(placeOf(objects[0])))
		t.groupedByAction(objects)
		t.emptyLine()
	}
	if len(asked) > 0 { // for many clusters, the same
		t.line(t.bold("objects of Fleet, whose controllers and agents are asked"))
		t.groupedByAction(asked)
		t.emptyLine()
	}
	t.planSummary(a)
}

// placeOf names the bundle deployment of an object, and its cluster.
func placeOf(o report.RepairedObject) string {
	out := "without a bundle deployment"
	if o.BundleDeployment != "" {
		out = "bundle deployment " + printable(o.BundleDeployment)
	}
	if o.Cluster != "" {
		out += " on cluster " + printable(o.Cluster)
	}
	return out
}

// groupedByAction shows objects with the same action, reasons and changes together: the changes are the same for all
// objects of a bundle.
func (t text) groupedByAction(objects []report.RepairedObject) {
	groups := grouped(objects, func(o report.RepairedObject) string {
		return alike(o.Action, o.Step, o.Codes, o.Reason, o.Refusals, o.Changes, o.Effects, o.Restores, o.Overwrites,
			o.Message)
	})
	slices.SortStableFunc(groups, func(x, y []report.RepairedObject) int {
		return cmp.Compare(actionRank[x[0].Action], actionRank[y[0].Action])
	})
	for _, group := range groups {
		t.actionGroup(group)
	}
}

// actionRank puts what is not written last.
var actionRank = map[report.Action]int{report.ActionRefuse: 1, report.ActionNone: 2}

// actionWord is the name of an action in a plan.
func actionWord(o report.RepairedObject) string {
	if o.Action == report.ActionNone {
		return "leave"
	}
	return strings.ToLower(string(o.Action))
}

func (t text) actionGroup(group []report.RepairedObject) {
	first := group[0]
	listed(t, "  ", group, "", func(o report.RepairedObject) {
		line := "  " + t.padded(actionWord(o)) + " " + printable(o.Key().String())
		if len(o.Codes) > 0 {
			line += "  " + t.faint(printable(strings.Join(o.Codes, ", ")))
		} else if o.Reason != "" {
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
	t.restores(first.Ref, first.Restores)
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
	left := slices.DeleteFunc(slices.Clone(a.Objects), func(o report.RepairedObject) bool {
		return !a.Undo || o.Action != report.ActionNone
	})
	listed(t, "  ", left, "", func(o report.RepairedObject) {
		t.linef("  %s %s", t.padded(actionWord(o)), printable(o.Key().String()))
		t.sentences(inset, o.Message)
	})
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
		later := ""
		if n := d.After.NotReady - d.Before.NotReady; n > 0 {
			later = fmt.Sprintf(", %d not ready yet", n)
		}
		t.linef("  %s  %s → %s ready%s", name, fraction(d.Before.Ready, d.Before.Desired),
			t.colour(green, fraction(d.After.Ready, d.After.Desired)), later)
	}
	if a.Receipt != "" && s.Done+s.Failed > 0 {
		t.linef("Undo with: %s", printable(t.Undo+" "+escape.Shell(a.Receipt)))
	}
}
