// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

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
	}, func() []string { return texts(e.Topics, func(x report.Topic) string { return x.Name }) }}
}

// topics lists the topics, by their kind.
func topics(l *layout, all []report.Topic) {
	for group := range chunks(all, func(x report.Topic) report.TopicKind { return x.Kind }) {
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
