// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// head begins a document with its source.
func (t text) head(title string, s report.Source, takenAt string) {
	if !t.NoHeaders {
		t.readFrom(title, s, takenAt)
		t.line("")
	}
}

// readFrom shows the source, its time and its versions.
func (t text) readFrom(title string, s report.Source, takenAt string) {
	if t.NoHeaders {
		return
	}
	what := digest.Title(&s)
	facts := nonEmpty(digest.Worded("taken at", takenAt), digest.Worded("Kubernetes", s.KubernetesVersion),
		digest.FleetVersion(s.FleetVersions))
	if takenAt == "" && len(facts) > 0 {
		facts[0] = "with " + facts[0]
	}
	line := t.bold(title + printable(what))
	switch about := printable(strings.Join(facts, ", ")); {
	case about == "":
	case t.Width <= 0 || span(title+printable(what))+1+span(about) <= t.columns():
		line += " " + t.faint(about)
	default:
		for _, l := range t.lines(about, 0, 0) {
			line += "\n" + t.faint(l)
		}
	}
	t.line(line)
}

// clustersRead lists the clusters that were read in addition to the source.
func (t text) clustersRead(clusters []report.ClusterSource) {
	if len(clusters) == 0 {
		return
	}
	t.line(t.bold("CLUSTERS READ"))
	listed(t, "  ", clusters, "", func(c report.ClusterSource) {
		facts := []string{c.Cluster, digest.Worded("Kubernetes", c.KubernetesVersion)}
		if c.Cluster == c.Name {
			facts[0] = ""
		}
		switch c.Kind {
		case "metrics":
			facts = append(facts, digest.Worded("evaluated at", c.TakenAt))
		case "snapshot":
			facts = append(facts, "snapshot "+c.Path, digest.Worded("taken at", c.TakenAt))
		}
		t.linef("  %s %s", printable(c.Name), t.faint(printable(strings.Join(nonEmpty(facts...), ", "))))
	})
	t.line("")
}

// notRead shows what could not be read, before the results that depend on it.
func (t text) notRead(gaps []report.Gap, notes []string) {
	if len(gaps) > 0 {
		t.line(t.bold("NOT READ"))
		all := gaps
		if !t.wide {
			all = joined(gaps)
		}
		listed(t, "  ", all, "", func(g report.Gap) {
			why := strings.TrimSuffix(g.Why(), ".")
			t.wrapped("  ", fmt.Sprintf("%s: %s. %s.", digest.What(&g), why, sentence(g.Effect)))
		})
		forbidden := func(g report.Gap) bool { return g.Reason == "Forbidden" }
		if slices.ContainsFunc(gaps, forbidden) && t.PrintRole != "" {
			t.linef("  %s %s prints a role that permits reading it", t.faint("→"), printable(t.PrintRole))
		}
		t.line("")
	}
	if len(notes) > 0 {
		t.line(t.bold("NOTES"))
		t.sentences("  ", notes...)
		t.line("")
	}
}

// joined joins the gaps with the same reason and effect. The message of a server names the kind, so gaps that are
// forbidden have the same reason without it.
func joined(gaps []report.Gap) []report.Gap {
	same := func(g report.Gap) report.Gap {
		g.What = ""
		if g.Reason == "Forbidden" {
			g.Detail = ""
		}
		return g
	}
	var out []report.Gap
	for _, all := range grouped(gaps, same) {
		g := all[0]
		if len(all) > 1 {
			g = same(g)
			g.What = first(texts(all, func(g report.Gap) string { return g.What }), maxJoined)
		}
		out = append(out, g)
	}
	return out
}

// maxJoined is the number of gaps that a joined gap names.
const maxJoined = 5
