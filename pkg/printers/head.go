// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"maps"
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
			g.What = first(report.Texts(all, func(g report.Gap) string { return g.What }), maxJoined)
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
	return slices.EqualFunc(x, y, sameRemedy)
}

func sameRemedy(x, y report.Remedy) bool { return x.Command == y.Command && x.Text == y.Text }

// Version lays out versions, as kubectl version does. It has neither rows nor names of objects.
func Version(v *report.Version, o Options) Document {
	return Document{o, v, []report.ClientVersion{v.Client}, func(l *layout) { version(l, v) }, noNames}
}

func noNames() []string { return nil }

func version(l *layout, v *report.Version) {
	line := func(name, value string) { l.line(name, ": ", cmp.Or(value, "unknown")) }
	line("Client Version", v.Client.Version)
	line("Git Commit", v.Client.GitCommit)
	line("Go Version", v.Client.GoVersion)
	line("Platform", v.Client.Platform)
	if v.Source == nil {
		return
	}
	line("Kubernetes Version", v.Source.KubernetesVersion)
	versions := cmp.Or(v.Source.FleetVersions, &report.FleetVersions{})
	line("Fleet Controller Version", versions.Controller)
	if len(versions.Agents) == 0 {
		line("Fleet Agent Version", "")
	}
	for _, cluster := range slices.Sorted(maps.Keys(versions.Agents)) {
		about := versions.Agents[cluster]
		if cluster != "" {
			about += " (cluster " + cluster + ")"
		}
		line("Fleet Agent Version", about)
	}
	l.end()
	notRead(l, v.Gaps, nil)
}

// Preflight lays out a preflight report. Its names are the bundle deployments with a verdict other than OK.
func Preflight(p *report.Preflight, o Options) Document {
	return Document{o, p, p.BundleDeployments, func(l *layout) { preflight(l, p) }, arguments(p.BundleDeployments,
		func(r report.Rollout) bool { return r.Verdict != report.VerdictOK },
		func(r report.Rollout) string { return argument(r.Namespace, bundleDeployment, r.Name) })}
}

func preflight(l *layout, p *report.Preflight) {
	head(l, "Preflight of ", p.Source, p.TakenAt)
	notRead(l, unsaid(p), p.Notes)
	for _, r := range problemsFirst(l, p.BundleDeployments, func(r report.Rollout) int {
		return slices.Index(verdicts, r.Verdict)
	}) {
		rollout(l, r)
	}
	s := p.Summary
	var counts []phrase
	for _, v := range []struct {
		n    int
		word string
	}{{s.Refused, "refused"}, {s.Contested, "contested"}, {s.Unknown, "unknown"}, {s.OK, "ok"}} {
		if v.n > 0 {
			counts = append(counts, styled(styles[v.word], tally(v.n, v.word)))
		}
	}
	if len(counts) == 0 {
		counts = []phrase{join("nothing to deploy to this cluster")}
	}
	l.line(plural(s.BundleDeployments, "bundle deployment"), ": ", joinWith(", ", counts), ".")
}

// unsaid returns the gaps whose details are not in the message of a problem, which is shown anyway.
func unsaid(p *report.Preflight) []report.Gap {
	return slices.DeleteFunc(slices.Clone(p.Gaps), func(g report.Gap) bool {
		says := func(i report.PreflightItem) bool { return g.Detail != "" && strings.Contains(i.Message, g.Detail) }
		return slices.ContainsFunc(p.BundleDeployments, func(r report.Rollout) bool {
			return slices.ContainsFunc(r.Items, says)
		})
	})
}

// verdicts are the verdicts, the worst one last.
var verdicts = []report.Verdict{report.VerdictOK, report.VerdictUnknown, report.VerdictContested, report.VerdictRefused}

// actionTitles describe what a rollout does with a release.
var actionTitles = map[string]string{report.RolloutInstall: "installs release ",
	report.RolloutUpgrade: "upgrades release "}

// rollout adds one bundle: its verdict, the counts of its objects, and each problem.
func rollout(l *layout, r report.Rollout) {
	name := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	l.line(bold("bundle deployment "+name), "  ", word(strings.ToLower(string(r.Verdict))))
	l.say("  ", rolloutLine(r))
	type rule struct {
		name     string
		severity report.Severity
	}
	for items := range digest.Runs(r.Items, func(i report.PreflightItem) rule { return rule{i.Rule, i.Severity} }) {
		ruleGroup(l, items)
	}
	l.end()
}

// rolloutLine describes what the rollout does, with the counts of objects.
func rolloutLine(r report.Rollout) string {
	c := r.Counts
	parts := nonEmpty(tally(c.Create, "to create"), tally(c.TakeOver, "to take over"), tally(c.Change, "to change"),
		tally(c.Keep, "unchanged"), tally(c.Delete, "to delete"), tally(c.Unknown, "unknown"))
	objects := "objects: " + strings.Join(parts, ", ")
	title := actionTitles[r.Action]
	if r.Paused && title != "" {
		title = "is paused, and deploys nothing; once it is resumed, it " + title
	}
	switch {
	case title == "" && len(parts) == 0:
		return ""
	case title == "":
		return sentence(objects)
	case len(parts) == 0:
		return sentence(title + r.Release + ", without objects")
	}
	return sentence(title + r.Release + "; " + objects)
}

// ruleGroup adds the items of one rule, at most maxShown, and each remediation once.
func ruleGroup(l *layout, items []report.PreflightItem) {
	shown := limited(l, items)
	for i, item := range shown {
		problem(l, item.Severity, item.Rule, item.Message)
		if item.Object != nil {
			changed(l, *item.Object, item.Overwrites, false)
		}
		again := func(later report.PreflightItem) bool { return sameRemedies(later.Remedies, item.Remedies) }
		if !slices.ContainsFunc(shown[i+1:], again) {
			remedies(l, inset, item.Remedies)
		}
	}
	l.more("  ", len(items)-len(shown), "")
}
