// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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
		seen := join(lastSeen(x.Heartbeat), " / ", cmp.Or(interval(x.Heartbeat.IntervalSeconds), "?"))
		row := []phrase{join(x.Namespace + "/" + x.Name), seen, place(l, x.AgentNamespace), place(l, x.Version)}
		if l.wide {
			row = append(row, word(x.Now.Result), word(x.AfterUpgrade.Result))
		}
		t.add(row...)
	}
	t.fit()
	l.add(t)
	l.end()
	clocks(l, a.Agents)
	idle(l, a.Agents)
	if l.wide {
		predictions(l, a.Agents)
	}
	agentsSummary(l, a)
}

// clocks reports the heartbeats that are later than the data.
func clocks(l *layout, all []report.Agent) {
	for _, x := range all {
		if x.Heartbeat.State == "ahead" {
			l.say("", fmt.Sprintf("The last heartbeat of %s/%s, %s, is later than the data: a clock is wrong.",
				x.Namespace, x.Name, x.Heartbeat.LastSeen))
		}
	}
	l.end()
}

// idle reports why agents do not run.
func idle(l *layout, all []report.Agent) {
	for _, x := range all {
		if x.Idle != "" {
			l.say("", fmt.Sprintf("%s/%s: %s.", x.Namespace, x.Name, strings.TrimSuffix(x.Idle, ".")))
			l.end()
		}
	}
}

// place shortens a name so that the table keeps its width.
func place(l *layout, name string) phrase {
	return join(cmp.Or(l.atMost(name, len("cattle-fleet-local-system")), none))
}

// lastSeen writes the age of a heartbeat, or its state if it has none.
func lastSeen(h report.Heartbeat) phrase {
	shown := h.State
	switch h.State {
	case "alive", "stale":
		shown = cmp.Or(interval(h.AgeSeconds), "now")
	}
	return styled(styles[h.State], shown)
}

// interval writes a duration in its largest unit of which there are at least two; "" for 0.
func interval(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= 2*unit.of {
			return strconv.FormatInt(int64(d/unit.of), 10) + unit.name
		}
	}
	if d == 0 {
		return ""
	}
	return strconv.FormatInt(seconds, 10) + "s"
}

// predictions shows the prediction of each agent, with its reasons. Clusters with the same ones are shown together.
func predictions(l *layout, all []report.Agent) {
	groups := grouped(all, func(x report.Agent) string { return because(x.Now) + because(x.AfterUpgrade) })
	listed(l, "", groups, " groups of clusters", func(g []report.Agent) { predicted(l, g) })
	l.end()
}

// stays reports whether the controller does nothing to an agent.
func stays(x report.Agent) bool { return x.Now.Result == "none" && x.AfterUpgrade.Result == "none" }

// because is all of a prediction as text.
func because(p report.Prediction) string {
	out := p.Result + "\x00" + p.Why
	for _, r := range p.Reasons {
		out += "\x00" + r.Field + "\x00" + r.Recorded + "\x00" + r.Present
	}
	return out + "\x01"
}

// predicted shows the prediction of agents that have the same one.
func predicted(l *layout, group []report.Agent) {
	names := texts(limited(l, group), func(x report.Agent) string { return x.Namespace + "/" + x.Name })
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
	fields := texts(p.Reasons, func(r report.ImportReason) string { return r.Field })
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
	predicted := slices.ContainsFunc(a.Agents, func(x report.Agent) bool { return !stays(x) })
	if predicted && !l.wide {
		out += " -o wide shows what a restart does to each agent, and why."
	}
	l.say("", out)
}
