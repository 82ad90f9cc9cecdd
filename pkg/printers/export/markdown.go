// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// WriteMarkdown writes the report: the result first, then the problems with a line each, what was not read, tables, and
// the details of the problems. What does not fit into a ticket is counted.
func WriteMarkdown(w io.Writer, a *report.Audit) error {
	d := &document{}
	problems := digest.AllProblems(a)
	d.head(a)
	d.problems(a, problems)
	d.gaps(a)
	d.deployments(a)
	d.aggregates(a)
	d.details(a, problems)
	_, err := io.WriteString(w, d.b.String())
	return err
}

func (d *document) head(a *report.Audit) {
	level, verdict := digest.Verdict(a)
	sign := map[digest.Level]string{digest.Good: "✅", digest.Bad: "❌", digest.Unknown: "❔"}[level]
	d.add("## Fleet audit: "+sign+" "+verdict, "", "**"+prose(digest.Totals(a))+"**", "",
		prose(digest.Title(&a.Source)+", "+strings.Join(digest.Facts(a), ", ")), "")
}

func (d *document) gaps(a *report.Audit) {
	if len(a.Gaps) > 0 {
		d.add("### Not read", "",
			"The result does not cover these items. What could not be read is unknown, not ready.", "")
		var rows [][]string
		for i := range a.Gaps {
			g := &a.Gaps[i]
			rows = append(rows, []string{prose(digest.What(g)), prose(g.Why()), prose(g.Effect)})
		}
		d.table([]string{"What", "Why", "Effect"}, rows, "that were not read")
	}
	if len(a.Notes) > 0 {
		d.add("### Notes", "")
		d.list(report.Texts(a.Notes, func(n string) string { return "- " + prose(n) }), share, "more note")
	}
}

func (d *document) deployments(a *report.Audit) {
	if len(a.BundleDeployments) > digest.MaxDetailed {
		d.bundles(a)
		return
	}
	var rows [][]string
	for _, bd := range digest.Deployments(a) {
		if digest.LevelOf(bd) == digest.Good {
			continue
		}
		state := string(bd.State)
		if bd.Reason != "" {
			state += " " + bd.Reason
		}
		rows = append(rows, []string{code(bd.Name), code(bd.Cluster), prose(state),
			actualBar(bd.Counts, bd.WithoutResult()).Text, reported(bd.Reported), digest.NotReady(bd.Counts)})
	}
	if len(rows) > 0 {
		d.add("### Bundle deployments", "")
		d.table([]string{"Bundle deployment", "Cluster", "State", "Ready", "Fleet reports", "Not ready"}, rows,
			"bundle deployments that are not ready or have no result")
	}
	if well := len(a.BundleDeployments) - len(rows); well > 0 {
		d.add(fmt.Sprintf("Every object is ready in %s.", report.Plural(well, "bundle deployment")), "")
	}
}

// bundles adds the bundles with bundle deployments that are not ready.
func (d *document) bundles(a *report.Audit) {
	var rows [][]string
	ready := 0
	for _, s := range digest.Spreads(a, digest.BundleOf) {
		if s.Ready() == s.All {
			ready++
			continue
		}
		rows = append(rows, []string{code(s.Name), digest.Fraction(s.Ready(), s.All),
			prose(strings.Join(s.Tallies(), ", "))})
	}
	d.add("### Bundle deployments", "")
	if unread := digest.Elsewhere(a); unread != "" {
		d.add(prose(unread), "")
	}
	if len(rows) > 0 {
		d.table([]string{"Bundle", "Ready", "Not ready"}, rows, "bundles with deployments that are not ready")
	}
	if ready > 0 {
		d.add(fmt.Sprintf("Every deployment is ready in %s.", report.Plural(ready, "bundle")), "")
	}
}

// reported is the fraction that Fleet reports, and its state.
func reported(r *report.Reported) string {
	if r == nil {
		return "–"
	}
	out := cmp.Or(digest.ReportedFraction(r), "–")
	if r.State != "" {
		out += " " + prose(r.State)
	}
	if r.Stale {
		out += " (old)"
	}
	return out
}

// aggregates adds the aggregates whose reported numbers differ from the actual ones.
func (d *document) aggregates(a *report.Audit) {
	var rows [][]string
	for _, x := range digest.Aggregates(a) {
		if x.Differs {
			ready := x.Ready
			if x.Statuses != "" {
				ready += " (statuses: " + x.Statuses + ")"
			}
			rows = append(rows, []string{x.Kind + " " + code(x.Name), ready, reported(x.Numbers.Reported)})
		}
	}
	if len(rows) > 0 {
		d.add("### Totals that differ from what Fleet reports", "")
		d.table([]string{"Object", "Ready", "Fleet reports"}, rows, "objects of Fleet with other totals")
	}
}
