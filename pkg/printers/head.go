// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// head adds the source of a document as a section.
func head(l *layout, title string, s report.Source, takenAt string) {
	readFrom(l, title, s, takenAt)
	l.end()
}

// readFrom adds the source, its time and its versions.
func readFrom(l *layout, title string, s report.Source, takenAt string) {
	if l.NoHeaders {
		return
	}
	what := bold(title + digest.Title(&s))
	facts := nonEmpty(digest.Worded("taken at", takenAt), digest.Worded("Kubernetes", s.KubernetesVersion),
		digest.FleetVersion(s.FleetVersions))
	if takenAt == "" && len(facts) > 0 {
		facts[0] = "with " + facts[0]
	}
	about := faint(strings.Join(facts, ", "))
	switch oneLine := join(what, " ", about); {
	case len(about) == 0:
		l.line(what)
	case l.Width <= 0 || oneLine.width() <= l.columns():
		l.line(oneLine)
	default:
		l.line(what)
		l.paint("", dim, about.text())
	}
}

// clustersRead lists the clusters that were read in addition to the source.
func clustersRead(l *layout, clusters []report.ClusterSource) {
	if len(clusters) == 0 {
		return
	}
	l.title("CLUSTERS READ")
	listed(l, "  ", clusters, "", func(c report.ClusterSource) {
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
		l.line("  ", c.Name, " ", faint(strings.Join(nonEmpty(facts...), ", ")))
	})
	l.end()
}

// notRead adds what could not be read, before the results that depend on it, and notes.
func notRead(l *layout, gaps []report.Gap, notes []string) {
	if len(gaps) > 0 {
		l.title("NOT READ")
		all := gaps
		if !l.wide {
			all = joined(gaps)
		}
		listed(l, "  ", all, "", func(g report.Gap) {
			why := strings.TrimSuffix(g.Why(), ".")
			l.say("  ", fmt.Sprintf("%s: %s. %s.", digest.What(&g), why, sentence(g.Effect)))
		})
		if l.PrintRole != "" && slices.ContainsFunc(gaps, forbidden) {
			l.line("  ", arrow, l.PrintRole, " prints a role that permits reading it")
		}
		l.end()
	}
	if len(notes) > 0 {
		l.title("NOTES")
		l.sentences("  ", notes...)
		l.end()
	}
}

func forbidden(g report.Gap) bool { return g.Reason == "Forbidden" }

// joined joins the gaps with the same reason and effect. The message of a server names the kind, so gaps that are
// forbidden have the same reason without it.
func joined(gaps []report.Gap) []report.Gap {
	same := func(g report.Gap) report.Gap {
		g.What = ""
		if forbidden(g) {
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

// problem adds the severity, the code and the message of a finding or of an item of a preflight.
func problem(l *layout, s report.Severity, code, message string) {
	l.hang(len(inset), message, "  ", padded(string(s)), " ", code, "  ")
}

// remedies adds ways to proceed: each command with its effect below it, or a sentence. A command is not wrapped, so
// that it can be copied. An effect that was shown is not repeated.
func remedies(l *layout, indent string, remedies []report.Remedy) {
	rest := indent + "  "
	for _, r := range remedies {
		effect := r.Text
		if len(remedies) > 1 || r.Command != "" {
			if l.said[r.Text] {
				effect = ""
			}
			l.said[r.Text] = true
		}
		if r.Command != "" {
			l.line(indent, faint("→ "), r.Command)
			l.paint(rest, dim, effect)
		} else if effect != "" {
			l.hang(len(rest), effect, indent, faint("→ "))
		}
	}
}

// sameRemedies reports whether remedies are shown alike: findings with different codes have different addresses.
func sameRemedies(x, y []report.Remedy) bool {
	return slices.EqualFunc(x, y, func(a, b report.Remedy) bool { return a.Command == b.Command && a.Text == b.Text })
}
