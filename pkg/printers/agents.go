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
	return Document{o, a, a.Agents, func(t text) { t.agents(a) }, func(t text) {
		for _, x := range a.Agents {
			if len(x.Findings) > 0 {
				t.name(x.Namespace, "cluster.fleet.cattle.io", x.Name)
			}
		}
	}}
}

// agents shows a line for each Cluster. The wide output also shows what a restart of the controller does to each agent,
// with the reasons.
func (t text) agents(a *report.Agents) {
	t.head("Agents of ", a.Source, a.TakenAt)
	t.notRead(a.Gaps, a.Notes)
	shown := []column{
		{header: "CLUSTER"},
		{header: "SEEN / EVERY", short: "SEEN", right: true},
		{header: "AGENT NAMESPACE", short: "NAMESPACE"},
		{header: "VERSION"},
	}
	if t.wide {
		shown = append(shown, column{header: "RESTART", whole: true},
			column{header: "AFTER 0.13", short: "0.13", whole: true})
	}
	g := t.grid(shown)
	for _, x := range problemsFirst(t, a.Agents, func(x report.Agent) int { return min(1, len(x.Findings)) }) {
		seen := t.lastSeen(x.Heartbeat) + " / " + cmp.Or(interval(x.Heartbeat.IntervalSeconds), "?")
		row := []string{printable(x.Namespace + "/" + x.Name), seen, t.place(x.AgentNamespace), t.place(x.Version)}
		if t.wide {
			row = append(row, t.word(x.Now.Result), t.word(x.AfterUpgrade.Result))
		}
		g.rows = append(g.rows, row)
	}
	g.fit()
	t.table(g)
	t.clocks(a.Agents)
	t.idle(a.Agents)
	if t.wide {
		t.predictions(a.Agents)
	}
	t.agentsSummary(a)
}

// clocks reports the heartbeats that are later than the data.
func (t text) clocks(all []report.Agent) {
	wrong := 0
	for _, x := range all {
		if x.Heartbeat.State == "ahead" {
			t.wrapped("", fmt.Sprintf("The last heartbeat of %s/%s, %s, is later than the data: a clock is wrong.",
				x.Namespace, x.Name, x.Heartbeat.LastSeen))
			wrong++
		}
	}
	if wrong > 0 {
		t.line("")
	}
}

// idle reports why agents do not run.
func (t text) idle(all []report.Agent) {
	for _, x := range all {
		if x.Idle != "" {
			t.wrapped("", fmt.Sprintf("%s/%s: %s.", x.Namespace, x.Name, strings.TrimSuffix(x.Idle, ".")))
			t.line("")
		}
	}
}

// place shortens a name so that the table keeps its width.
func (t text) place(name string) string {
	return cmp.Or(t.atMost(name, len("cattle-fleet-local-system")), none)
}

// lastSeen writes the age of a heartbeat, or its state if it has none.
func (t text) lastSeen(h report.Heartbeat) string {
	shown := h.State
	switch h.State {
	case "alive", "stale":
		shown = cmp.Or(interval(h.AgeSeconds), "now")
	}
	return t.colour(colours[h.State], printable(shown))
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
func (t text) predictions(all []report.Agent) {
	groups := grouped(all, func(x report.Agent) string { return because(x.Now) + because(x.AfterUpgrade) })
	listed(t, "", groups, " groups of clusters", func(g []report.Agent) { t.predicted(g) })
	if len(groups) > 0 {
		t.line("")
	}
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
func (t text) predicted(group []report.Agent) {
	names := texts(limited(t, group), func(x report.Agent) string { return x.Namespace + "/" + x.Name })
	x := group[0]
	t.line(t.word(x.Now.Result))
	t.wrapped("  ", strings.Join(names, ", "))
	t.more("  ", len(group)-len(names), " clusters")
	t.sentences("    ", x.Now.Why)
	for _, r := range x.Now.Reasons {
		t.reason(r)
	}
	if u := x.AfterUpgrade; u.Result != x.Now.Result {
		t.wrapped("    ", afterUpgrade(u))
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

func (t text) reason(r report.ImportReason) {
	values := fmt.Sprintf("recorded %q, now %q", r.Recorded, r.Present)
	if r.Recorded == r.Present { // the controller has marked the Cluster already
		values = r.Present
	}
	t.wrapped("    ", r.Field+": "+values)
	switch ca := r.CA; {
	case ca == nil:
	case ca.Subject != "":
		t.wrapped("      ", fmt.Sprintf("the present CA is %q, valid until %s", ca.Subject, ca.NotAfter))
	case ca.Certificates == 0:
		t.wrapped("      ", "the configuration has no CA")
	}
}

func (t text) agentsSummary(a *report.Agents) {
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
	if predicted && !t.wide {
		out += " -o wide shows what a restart does to each agent, and why."
	}
	t.wrapped("", out)
}
