// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Agents is the document of a report of agents. -o name lists the Clusters with findings.
func Agents(a *report.Agents, o Options) Document {
	return Document{o, a, a.Agents, func(l *layout) { agents(l, a) }, arguments(a.Agents,
		func(x report.Agent) bool { return len(x.Findings) > 0 },
		func(x report.Agent) string { return argument(x.Namespace, "cluster.fleet.cattle.io", x.Name) })}
}

// agents shows a line for each Cluster. The wide output also shows what a restart of the controller does to each agent,
// with the reasons.
func agents(l *layout, a *report.Agents) {
	head(l, "Agents of ", a.Source, a.TakenAt)
	notRead(l, a.Gaps, a.Notes)
	shown := []column{
		{header: "CLUSTER"},
		{header: "SEEN / EVERY", short: "SEEN", right: true},
		{header: "AGENT NAMESPACE", short: "NAMESPACE"},
		{header: "VERSION"},
	}
	if l.wide {
		shown = append(shown, column{header: "RESTART", whole: true},
			column{header: "AFTER 0.13", short: "0.13", whole: true})
	}
	t := newTable(l, shown)
	for _, x := range problemsFirst(l, a.Agents, func(x report.Agent) int { return min(1, len(x.Findings)) }) {
		h := x.Heartbeat
		shown := h.State
		if h.State == "alive" || h.State == "stale" {
			shown = cmp.Or(interval(h.AgeSeconds), "now")
		}
		seen := join(styled(styles[h.State], shown), " / ", cmp.Or(interval(h.IntervalSeconds), "?"))
		row := []phrase{join(x.Namespace + "/" + x.Name), seen, place(l, x.AgentNamespace), place(l, x.Version)}
		if l.wide {
			row = append(row, word(x.Now.Result), word(x.AfterUpgrade.Result))
		}
		t.add(row...)
	}
	t.fit()
	l.add(t)
	l.end()
	for _, x := range a.Agents {
		if x.Heartbeat.State == "ahead" {
			l.say("", fmt.Sprintf("The last heartbeat of %s/%s, %s, is later than the data: a clock is wrong.",
				x.Namespace, x.Name, x.Heartbeat.LastSeen))
		}
	}
	l.end()
	for _, x := range a.Agents {
		if x.Idle != "" {
			l.say("", fmt.Sprintf("%s/%s: %s.", x.Namespace, x.Name, strings.TrimSuffix(x.Idle, ".")))
			l.end()
		}
	}
	if l.wide { // clusters with the same prediction are shown together
		groups := grouped(a.Agents, func(x report.Agent) string { return alike(x.Now, x.AfterUpgrade) })
		listed(l, "", groups, " groups of clusters", func(g []report.Agent) { predicted(l, g) })
		l.end()
	}
	agentsSummary(l, a)
}

// place shortens a name so that the table keeps its width.
func place(l *layout, name string) phrase {
	return join(cmp.Or(l.atMost(name, len("cattle-fleet-local-system")), none))
}

// interval writes a duration in its largest unit of which there are at least two; "" for 0.
func interval(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= 2*unit.length {
			return strconv.FormatInt(int64(d/unit.length), 10) + unit.name
		}
	}
	if d == 0 {
		return ""
	}
	return strconv.FormatInt(seconds, 10) + "s"
}

// predicted shows the prediction of agents that have the same one, with its reasons.
func predicted(l *layout, group []report.Agent) {
	names := report.Texts(limited(l, group), func(x report.Agent) string { return x.Namespace + "/" + x.Name })
	x := group[0]
	l.line(word(x.Now.Result))
	l.say("  ", strings.Join(names, ", "))
	l.more("  ", len(group)-len(names), " clusters")
	l.sentences("    ", x.Now.Why)
	for _, r := range x.Now.Reasons {
		reason(l, r)
	}
	if u := x.AfterUpgrade; u.Result != x.Now.Result {
		l.say("    ", afterUpgrade(u))
	}
}

// afterUpgrade describes a prediction that differs from the present one.
func afterUpgrade(p report.Prediction) string {
	fields := report.Texts(p.Reasons, func(r report.ImportReason) string { return r.Field })
	out := "after an upgrade: " + p.Result
	if len(fields) > 0 {
		out += " (" + strings.Join(fields, ", ") + ")"
	}
	if p.Why != "" {
		out += ": " + p.Why
	}
	return out
}

func reason(l *layout, r report.ImportReason) {
	values := fmt.Sprintf("recorded %q, now %q", r.Recorded, r.Present)
	if r.Recorded == r.Present { // the controller has marked the Cluster already
		values = r.Present
	}
	l.say("    ", r.Field+": "+values)
	switch ca := r.CA; {
	case ca == nil:
	case ca.Subject != "":
		l.say("      ", fmt.Sprintf("the present CA is %q, valid until %s", ca.Subject, ca.NotAfter))
	case ca.Certificates == 0:
		l.say("      ", "the configuration has no CA")
	}
}

func agentsSummary(l *layout, a *report.Agents) {
	s := a.Summary
	after := s.ReImportedAfterUpgrade
	if after == s.ReImported {
		after = 0 // the same agents, unless an upgrade adds as many as it spares: -o wide shows it
	}
	parts := nonEmpty(tally(s.Stale, "stopped reporting"), tally(s.NeverSeen, "never reported"),
		tally(s.ReImported, "imported again by a restart of the controller"),
		tally(after, "imported again by a controller of Fleet 0.13 or later"), tally(s.Unknown, "not predicted"))
	out := strings.Join(append([]string{plural(s.Clusters, "cluster")}, parts...), ", ") + "."
	predicted := slices.ContainsFunc(a.Agents, func(x report.Agent) bool {
		return x.Now.Result != "none" || x.AfterUpgrade.Result != "none"
	})
	if predicted && !l.wide {
		out += " -o wide shows what a restart does to each agent, and why."
	}
	l.say("", out)
}

// Targets lays out a targets report. Its names are the bundles with a cluster whose deployment is not as expected.
func Targets(d *report.Targets, o Options) Document {
	unmet := func(x report.TargetedBundle) bool { return slices.ContainsFunc(x.Clusters, unexpected) }
	return Document{o, d, d.Bundles, func(l *layout) { targets(l, d) }, arguments(d.Bundles, unmet,
		func(x report.TargetedBundle) string { return argument(x.Namespace, "bundle.fleet.cattle.io", x.Name) })}
}

func targets(l *layout, d *report.Targets) {
	head(l, "Targets in ", d.Source, d.TakenAt)
	notRead(l, d.Gaps, d.Notes)
	for _, x := range d.Bundles {
		targetedBundle(l, x)
		l.end()
	}
}

func targetedBundle(l *layout, x report.TargetedBundle) {
	l.line(bold("bundle "+x.Namespace+"/"+x.Name), " ", faint(x.Mode))
	l.sentences("  ", x.Error)
	for i, target := range x.Targets {
		title := "target " + target.Name
		switch {
		case strings.HasPrefix(target.Name, "targets["): // it has no name: this is its place in the list
			title = target.Name
		case target.Customization:
			title = "customization " + target.Name
		}
		does := ""
		if target.DoNotDeploy {
			does = "doNotDeploy for "
		}
		l.say("  ", fmt.Sprintf("%d. %s: %s%s", i+1, title, does, target.Selects))
	}
	for _, r := range x.Restrictions {
		l.say("  ", "restricted to "+r)
	}
	s := x.Summary
	l.line(fmt.Sprintf("  %s: %d expected, %d excluded, %d blocked, %d unknown", plural(len(x.Clusters), "cluster"),
		s.Expected, s.Excluded, s.Blocked, s.Unknown))
	l.end()
	if len(x.Clusters) > 0 {
		targetedClusters(l, x)
	}
}

// targetedClusters shows a table of the clusters, and those about which it does not say everything.
func targetedClusters(l *layout, x report.TargetedBundle) {
	t := newTable(l, []column{{header: "CLUSTER"}, {header: "RESULT", whole: true}, {header: "TARGET"},
		{header: "CUSTOMIZATIONS", short: "CUSTOM"}, {header: "DEPLOYMENT", whole: true}})
	clusters := slices.SortedStableFunc(slices.Values(x.Clusters), func(a, b report.TargetedCluster) int {
		return urgency(a) - urgency(b)
	})
	shown := limited(l, clusters)
	for _, c := range shown {
		t.add(join(c.Cluster), join(c.Result), join(cmp.Or(c.DecidedBy, c.Target, none)),
			join(cmp.Or(strings.Join(c.Customizations, ","), none)), join(c.Deployment))
	}
	t.fit()
	l.add(t)
	l.more("", len(x.Clusters)-len(shown), "")
	l.end()
	for _, c := range shown {
		asExpected := c.Result == report.TargetExpected && c.Deployment == report.DeploymentExists
		if asExpected && len(c.Changes) == 0 && l.limits() {
			continue // the table says everything
		}
		l.title(c.Cluster)
		l.sentences("  ", c.Message)
		l.sentences("  ", limited(l, c.Changes)...)
	}
}

// unexpected reports whether the deployment to a cluster is not as expected.
func unexpected(c report.TargetedCluster) bool {
	return c.Deployment == report.DeploymentAbsent || c.Deployment == report.DeploymentLeftover
}

// urgency orders the clusters: those whose deployment is not as expected come first, then those without a certain
// result.
func urgency(c report.TargetedCluster) int {
	switch {
	case unexpected(c):
		return 0
	case c.Result == report.TargetUnknown, c.Result == report.TargetBlocked, c.Deployment == report.DeploymentPending:
		return 1
	}
	return 2
}

// Explanation lays out an explanation: a line for each topic if they are listed, otherwise each one in full. Its names
// are those of the topics.
func Explanation(e *report.Explanation, listed bool, o Options) Document {
	return Document{o, e, e.Topics, func(l *layout) {
		if listed {
			topics(l, e.Topics)
			return
		}
		for i := range e.Topics {
			topic(l, &e.Topics[i])
		}
	}, func() []string { return report.Texts(e.Topics, func(x report.Topic) string { return x.Name }) }}
}

// topics lists the topics, by their kind.
func topics(l *layout, all []report.Topic) {
	for group := range digest.Runs(all, func(x report.Topic) report.TopicKind { return x.Kind }) {
		l.title(heading(group[0].Kind))
		widest := 0
		for _, x := range group {
			widest = max(widest, label(&x).width())
		}
		for _, x := range group {
			name := label(&x)
			blanks := strings.Repeat(" ", widest-name.width())
			l.hang(len("  ")+widest+len(gap), x.What, "  ", name, blanks, gap)
		}
		l.end()
	}
}

// heading names a kind of topics.
func heading(k report.TopicKind) string {
	headings := map[report.TopicKind]string{
		report.TopicState:     " of objects and bundle deployments",
		report.TopicReason:    " of the states Unowned and Unknown",
		report.TopicCause:     " of wrong numbers",
		report.TopicStep:      " of why",
		report.TopicRule:      " of preflight",
		report.TopicSituation: " of adopt",
	}
	return strings.ToUpper(string(k)) + "S" + headings[k]
}

// label is the name of a topic in a list; for a finding with its severity and its title.
func label(x *report.Topic) phrase {
	if x.Title == "" {
		return join(x.Name)
	}
	blanks := strings.Repeat(" ", len("warning")-len(x.Severity))
	return join(x.Name, "  ", word(string(x.Severity)), blanks, "  ", x.Title)
}

// topic shows everything about one topic.
func topic(l *layout, x *report.Topic) {
	title := x.Name
	if x.Title != "" {
		title += " " + x.Title
	}
	about := strings.ToLower(string(x.Kind))
	if x.Severity != "" {
		about += ", " + string(x.Severity)
	}
	l.line(bold(title), " ", faint("("+about+")"))
	l.say("  ", sentence(x.What)+".")
	part := func(name, body string) {
		if body != "" {
			l.end()
			l.title(name)
			l.say("  ", body)
		}
	}
	part("WHY", x.Why)
	part("EVIDENCE", x.Evidence)
	part("REMEDY", x.Remedy)
	if x.Versions != "" {
		part("FLEET VERSIONS", sentence(x.Versions)+".")
	}
	l.end()
	for i, issue := range x.Issues {
		if i == 0 {
			l.title("ISSUES")
		}
		l.line("  ", issue)
	}
	l.end()
	l.title("READ MORE")
	l.line("  ", x.URL)
	if len(x.Sections) > 0 {
		directory := x.URL[:strings.LastIndex(x.URL, "/")+1] // both pages are in it
		l.say("  ", directory+"fleet-behavior.md, "+strings.Join(x.Sections, ", "))
	}
	l.end()
}
