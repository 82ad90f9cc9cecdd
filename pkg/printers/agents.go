// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Agents is the document of a report of agents. -o name lists the Clusters with findings.
func Agents(a *report.Agents, o Options) Document {
	return Document{o, a, a.Agents, func(t text, b *bytes.Buffer) error {
		return t.agents(b, a)
	}, func(b *bytes.Buffer) {
		for _, x := range a.Agents {
			if len(x.Findings) > 0 {
				printName(b, x.Namespace, "cluster.fleet.cattle.io", x.Name)
			}
		}
	}}
}

// The states of heartbeats and the results that are coloured.
var (
	heartbeatColours = map[string]string{"alive": green, "stale": red, "never": yellow, "ahead": yellow,
		"unknown": yellow}
	predictionColours = map[string]string{"re-import": red, "blocked": yellow, "unknown": yellow, "none": green}
)

// agents shows a line for each Cluster, and the reasons of each prediction.
func (t text) agents(b *bytes.Buffer, a *report.Agents) error {
	t.head(b, "Agents of ", a.Source, a.TakenAt)
	t.notRead(b, a.Gaps, a.Notes)
	g := t.grid([]column{{header: "CLUSTER"}, {header: "SEEN / EVERY", short: "SEEN", right: true},
		{header: "AGENT NAMESPACE", short: "NAMESPACE"},
		{header: "VERSION"}, {header: "RESTART", whole: true}, {header: "AFTER 0.13", short: "0.13", whole: true}})
	for _, x := range problemsFirst(t, a.Agents, func(x report.Agent) int { return min(1, len(x.Findings)) }) {
		g.rows = append(g.rows, []string{printable(x.Namespace + "/" + x.Name), t.lastSeen(x.Heartbeat) + " / " +
			cmp.Or(interval(x.Heartbeat.IntervalSeconds), "?"),
			cmp.Or(t.place(x.AgentNamespace), "-"), cmp.Or(t.place(x.Version),
				"-"), t.prediction(x.Now), t.prediction(x.AfterUpgrade)})
	}
	g.fit()
	if err := g.write(b); err != nil {
		return err
	}
	t.predictions(b, a.Agents)
	t.agentsSummary(b, a.Summary)
	return nil
}

// place shortens a name so that the table keeps its width.
func (t text) place(name string) string {
	if !t.fits() {
		return printable(name)
	}
	return short(name, len("cattle-fleet-local-system"))
}

func (t text) prediction(p report.Prediction) string {
	return t.colour(predictionColours[p.Result], printable(p.Result))
}

// lastSeen writes the age of a heartbeat, or its state if it has none.
func (t text) lastSeen(h report.Heartbeat) string {
	shown := h.State
	switch h.State {
	case "alive", "stale":
		shown = cmp.Or(interval(h.AgeSeconds), "now")
	}
	return t.colour(heartbeatColours[h.State], printable(shown))
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

// predictions shows the reasons of the agents that a restart may import, and of those that it cannot import. Clusters
// with the same reasons are shown together.
func (t text) predictions(b *bytes.Buffer, all []report.Agent) {
	var predicted []report.Agent
	explained := false
	for _, x := range all {
		if x.Heartbeat.State == "ahead" {
			t.wrapped(b, "", fmt.Sprintf("The last heartbeat of %s/%s, %s, is later than the data: a clock is wrong.",
				x.Namespace, x.Name, x.Heartbeat.LastSeen))
			explained = true
		}
		if t.wide || !plain(&x) {
			predicted = append(predicted, x)
		}
	}
	groups := grouped(predicted, func(x report.Agent) string { return because(x.Now) + because(x.AfterUpgrade) })
	listed(t, b, "", groups, " groups of clusters", func(g []report.Agent) { t.predicted(b, g) })
	if explained || len(groups) > 0 {
		b.WriteByte('\n')
	}
}

// plain reports whether the table says everything about the predictions of an agent.
func plain(x *report.Agent) bool {
	switch x.Now.Result {
	case "blocked", "unknown":
		return false
	}
	return len(x.Now.Reasons) == 0 && x.Now.Result == x.AfterUpgrade.Result
}

// because is all of a prediction as text.
func because(p report.Prediction) string {
	out := p.Result + "\x00" + p.Why
	for _, r := range p.Reasons {
		out += "\x00" + r.Field + "\x00" + r.Recorded + "\x00" + r.Present
	}
	return out + "\x01"
}

// predicted shows the prediction of agents that have the same one.
func (t text) predicted(b *bytes.Buffer, group []report.Agent) {
	names := texts(limited(t, group), func(x report.Agent) string { return x.Namespace + "/" + x.Name })
	x := group[0]
	fmt.Fprintf(b, "%s\n", t.prediction(x.Now))
	t.wrapped(b, "  ", strings.Join(names, ", "))
	t.more(b, "  ", len(group)-len(names), " clusters")
	if x.Now.Why != "" {
		t.sentences(b, "    ", x.Now.Why)
	}
	for _, r := range x.Now.Reasons {
		t.reason(b, r)
	}
	if u := x.AfterUpgrade; u.Result != x.Now.Result {
		t.wrapped(b, "    ", afterUpgrade(u))
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

func (t text) reason(b *bytes.Buffer, r report.ImportReason) {
	values := fmt.Sprintf("recorded %q, now %q", r.Recorded, r.Present)
	if r.Recorded == r.Present { // the controller has marked the Cluster already
		values = r.Present
	}
	t.wrapped(b, "    ", r.Field+": "+values)
	switch ca := r.CA; {
	case ca == nil:
	case ca.Subject != "":
		t.wrapped(b, "      ", fmt.Sprintf("the present CA is %q, valid until %s", ca.Subject, ca.NotAfter))
	case ca.Certificates == 0:
		t.wrapped(b, "      ", "the configuration has no CA")
	}
}

func (t text) agentsSummary(b *bytes.Buffer, s report.AgentsSummary) {
	after := s.ReImportedAfterUpgrade
	if after == s.ReImported {
		after = 0 // the same agents, unless an upgrade adds as many as it spares: the table shows it
	}
	parts := tallies(tally{s.Stale, "stopped reporting"}, tally{s.NeverSeen, "never reported"},
		tally{s.ReImported, "imported again by a restart of the controller"},
		tally{after, "imported again by a controller of Fleet 0.13 or later"}, tally{s.Unknown, "not predicted"})
	t.wrapped(b, "", strings.Join(append([]string{plural(s.Clusters, "cluster")}, parts...), ", ")+".")
}
