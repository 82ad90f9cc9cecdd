// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Explanation lays out an explanation: a line for each topic if they are listed, otherwise each one in full. Its names
// are those of the topics.
func Explanation(e *report.Explanation, listed bool, o Options) Document {
	return Document{o, e, e.Topics, func(t text) {
		if listed {
			t.topics(e.Topics)
			return
		}
		for i := range e.Topics {
			if i > 0 {
				t.line("")
			}
			t.topic(&e.Topics[i])
		}
	}, func(t text) {
		for _, x := range e.Topics {
			t.line(x.Name)
		}
	}}
}

// topics lists the topics, by their kind.
func (t text) topics(all []report.Topic) {
	for group := range chunks(all, func(x, y report.Topic) bool { return x.Kind == y.Kind }) {
		if group[0].Name != all[0].Name {
			t.line("")
		}
		t.line(t.bold(heading(group[0].Kind)))
		widest := 0
		for _, x := range group {
			widest = max(widest, span(label(&x)))
		}
		for _, x := range group {
			name := label(&x)
			at := len("  ") + widest + len(gap)
			shown := strings.Replace(name, string(x.Severity), t.word(string(x.Severity)), 1)
			t.linef("  %s%s%s", shown, strings.Repeat(" ", widest-span(name)+len(gap)), t.block(x.What, at, at))
		}
	}
}

// heading names a kind of topics.
func heading(k report.TopicKind) string {
	of := map[report.TopicKind]string{
		report.TopicState:     " of objects and bundle deployments",
		report.TopicReason:    " of the states Unowned and Unknown",
		report.TopicCause:     " of wrong numbers",
		report.TopicStep:      " of why",
		report.TopicRule:      " of preflight",
		report.TopicSituation: " of adopt",
	}
	return strings.ToUpper(string(k)) + "S" + of[k]
}

// label is the name of a topic in a list; for a finding with its severity and its title.
func label(x *report.Topic) string {
	if x.Title == "" {
		return x.Name
	}
	return fmt.Sprintf("%s  %-7s  %s", x.Name, x.Severity, x.Title)
}

// topic shows everything about one topic.
func (t text) topic(x *report.Topic) {
	title := x.Name
	if x.Title != "" {
		title += " " + x.Title
	}
	about := strings.ToLower(string(x.Kind))
	if x.Severity != "" {
		about += ", " + string(x.Severity)
	}
	t.linef("%s %s", t.bold(printable(title)), t.faint("("+about+")"))
	t.wrapped("  ", sentence(x.What)+".")
	part := func(name, body string) {
		if body != "" {
			t.linef("\n%s", t.bold(name))
			t.wrapped("  ", body)
		}
	}
	part("WHY", x.Why)
	part("EVIDENCE", x.Evidence)
	part("REMEDY", x.Remedy)
	if x.Versions != "" {
		part("FLEET VERSIONS", sentence(x.Versions)+".")
	}
	for i, issue := range x.Issues {
		if i == 0 {
			t.line("\n" + t.bold("ISSUES"))
		}
		t.line("  " + printable(issue))
	}
	t.linef("\n%s\n  %s", t.bold("READ MORE"), printable(x.URL))
	if len(x.Sections) > 0 {
		directory := x.URL[:strings.LastIndex(x.URL, "/")+1] // both pages are in it
		t.wrapped("  ", directory+"fleet-behavior.md, "+strings.Join(x.Sections, ", "))
	}
}
