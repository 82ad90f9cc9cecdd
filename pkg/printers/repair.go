// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Repair lays out the plan of an adoption, or its result. Its names are the objects that the plan changes.
func Repair(a *report.Repair, o Options) Document {
	show := plan
	if a.Kind == report.KindAdoptionResult || a.Kind == report.KindRepairResult {
		show = outcome
	}
	return Document{o, a, a.Objects, func(l *layout) { show(l, a) }, arguments(a.Objects,
		func(o report.RepairedObject) bool {
			return o.Action != report.ActionRefuse && o.Action != report.ActionNone
		},
		func(o report.RepairedObject) string { return argumentOf(o.Ref) })}
}

// verbsOf returns the words for a repair, an adoption, or an undo.
func verbsOf(a *report.Repair) (plan, action, past string) {
	switch {
	case a.Undo:
		return "Undo plan for ", "restore", "restored"
	case a.Kind == report.KindRepairPlan, a.Kind == report.KindRepairResult:
		return "Repair plan for ", "repair", "repaired"
	}
	return "Adoption plan for ", "adopt", "adopted"
}

// plan shows the actions, bundle deployment by bundle deployment.
func plan(l *layout, a *report.Repair) {
	title, _, _ := verbsOf(a)
	head(l, title, a.Source, a.TakenAt)
	notRead(l, a.Gaps, a.Notes)
	var written, asked []report.RepairedObject
	for _, o := range a.Objects {
		if o.Step == report.StepDeploy || o.Step == report.StepResume {
			asked = append(asked, o)
		} else {
			written = append(written, o)
		}
	}
	for objects := range digest.Runs(written, func(o report.RepairedObject) bundleKey {
		return bundleKey{o.Cluster, o.BundleDeployment}
	}) {
		l.title(placeOf(objects[0]))
		groupedByAction(l, objects)
		l.end()
	}
	if len(asked) > 0 { // for many clusters, the same
		l.title("objects of Fleet, whose controllers and agents are asked")
		groupedByAction(l, asked)
		l.end()
	}
	planSummary(l, a)
}

// placeOf names the bundle deployment of an object, and its cluster.
func placeOf(o report.RepairedObject) string {
	out := "without a bundle deployment"
	if o.BundleDeployment != "" {
		out = "bundle deployment " + o.BundleDeployment
	}
	if o.Cluster != "" {
		out += " on cluster " + o.Cluster
	}
	return out
}

// groupedByAction shows objects with the same action, reasons and changes together: the changes are the same for all
// objects of a bundle.
func groupedByAction(l *layout, objects []report.RepairedObject) {
	groups := grouped(objects, func(o report.RepairedObject) string {
		return alike(o.Action, o.Step, o.Codes, o.Reason, o.Refusals, o.Changes, o.Effects, o.Restores, o.Overwrites,
			o.Message)
	})
	slices.SortStableFunc(groups, func(x, y []report.RepairedObject) int {
		return cmp.Compare(actionRank[x[0].Action], actionRank[y[0].Action])
	})
	for _, group := range groups {
		actionGroup(l, group)
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

func actionGroup(l *layout, group []report.RepairedObject) {
	first := group[0]
	listed(l, "  ", group, "", func(o report.RepairedObject) {
		line := join("  ", padded(actionWord(o)), " ", o.Key())
		if about := cmp.Or(strings.Join(o.Codes, ", "), o.Reason); about != "" {
			line = join(line, "  ", faint(about))
		}
		l.line(line)
	})
	l.sentences(inset, append(slices.Clone(first.Refusals), first.Message)...)
	if first.Action == report.ActionRefuse && !l.wide {
		return
	}
	for _, c := range first.Changes {
		change(l, c)
	}
	l.sentences(inset, first.Effects...)
	changed(l, first.Ref, first.Restores, true)
	changed(l, first.Ref, first.Overwrites, false)
}

// change shows one label or annotation: in one line if it fits, else the values in the lines below.
func change(l *layout, c report.KeyChange) {
	key := fmt.Sprintf("%s%-10s %s:", inset, c.Field, c.Key)
	old, now := keyValue(c.Old), keyValue(c.New)
	if c.Old == nil {
		l.line(key, " ", styled(green, now))
		return
	}
	if line := join(key, " ", styled(red, old), " → ", styled(green, now)); line.width() <= width {
		l.line(line)
		return
	}
	below := inset + "           "
	l.line(key)
	l.line(below, styled(red, old), " →")
	l.line(below, styled(green, now))
}

// keyValue returns a quoted value, or the word none if the key does not exist.
func keyValue(v *string) string {
	if v == nil {
		return "none"
	}
	return strconv.Quote(*v)
}

// planSummary shows the counts and the digest of a plan.
func planSummary(l *layout, a *report.Repair) {
	s := a.Summary
	_, action, _ := verbsOf(a)
	if s.Change == 0 {
		l.line("Nothing to ", action, otherCounts(s), ".")
		return
	}
	l.line(plural(s.Change, "object"), " to ", action, otherCounts(s), ".")
	l.line("The digest of this plan is ", a.Digest)
}

// otherCounts counts the objects that are not changed.
func otherCounts(s report.RepairSummary) phrase {
	var out phrase
	if s.Refused > 0 {
		out = join(", ", styled(red, tally(s.Refused, "refused")))
	}
	if s.Unchanged > 0 {
		out = join(out, ", ", tally(s.Unchanged, "unchanged"))
	}
	return out
}

// outcome shows the result of a plan: the failures object by object, and the counts.
func outcome(l *layout, a *report.Repair) {
	failed := slices.DeleteFunc(slices.Clone(a.Objects), func(o report.RepairedObject) bool {
		return o.Outcome != report.OutcomeFailed && o.Outcome != report.OutcomeChanged
	})
	listed(l, "  ", failed, "", func(o report.RepairedObject) {
		l.line("  ", padded(strings.ToLower(string(o.Outcome))), " ", o.Key())
		l.say(inset, o.Message) // the message of the server
	})
	s := a.Summary
	_, _, past := verbsOf(a)
	left := slices.DeleteFunc(slices.Clone(a.Objects), func(o report.RepairedObject) bool {
		return !a.Undo || o.Action != report.ActionNone
	})
	listed(l, "  ", left, "", func(o report.RepairedObject) {
		l.line("  ", padded(actionWord(o)), " ", o.Key())
		l.sentences(inset, o.Message)
	})
	line := fmt.Sprintf("%s %d of %s", past, s.Done, plural(s.Change, "object"))
	if a.DryRun != "" {
		line = "(" + a.DryRun + " dry run) " + line
	}
	if rest := s.Change - s.Done - s.Failed; rest > 0 {
		line += fmt.Sprintf(", %d not tried", rest)
	}
	l.line(sentence(line), otherCounts(report.RepairSummary{Refused: s.Refused}), ".")
	l.sentences("", a.Notes...)
	for _, d := range a.Deployments {
		name := strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
		if d.Failed != "" {
			l.line("  ", name, "  is not deployed yet:")
			l.say(inset, d.Failed)
			remedies(l, inset, d.Remedies)
			continue
		}
		later := ""
		if n := d.After.NotReady - d.Before.NotReady; n > 0 {
			later = fmt.Sprintf(", %d not ready yet", n)
		}
		l.line("  ", name, "  ", fraction(d.Before.Ready, d.Before.Desired), " → ",
			styled(green, fraction(d.After.Ready, d.After.Desired)), " ready", later)
	}
	if a.Receipt != "" && s.Done+s.Failed > 0 {
		l.line("Undo with: ", l.Undo, " ", escape.Shell(a.Receipt))
	}
}
