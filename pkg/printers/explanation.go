// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Explanation lays out an explanation: a line for each topic if they are listed, otherwise each one in full. Its names
// are those of the topics.
func Explanation(e *report.Explanation, listed bool, o Options) Document {
	return Document{o, e, e.Topics, func(t text, b *bytes.Buffer) error {
		if listed {
			t.topics(b, e.Topics)
			return nil
		}
		for i := range e.Topics {
			if i > 0 {
				b.WriteByte('\n')
			}
			t.topic(b, &e.Topics[i])
		}
		return nil
	}, func(b *bytes.Buffer) {
		for _, x := range e.Topics {
			fmt.Fprintln(b, x.Name)
		}
	}}
}

// topics lists the topics, by their kind.
func (t text) topics(b *bytes.Buffer, all []report.Topic) {
	for group := range chunks(all, func(x, y report.Topic) bool { return x.Kind == y.Kind }) {
		if group[0].Name != all[0].Name {
			b.WriteByte('\n')
		}
		fmt.Fprintln(b, t.bold(heading(group[0].Kind)))
		widest := 0
		for _, x := range group {
			widest = max(widest, span(label(&x)))
		}
		for _, x := range group {
			name := label(&x)
			at := len("  ") + widest + len(gap)
			shown := strings.Replace(name, string(x.Severity), t.colour(severityColours[x.Severity],
				string(x.Severity)), 1)
			for i, line := range t.lines(x.What, at, at) {
				if i == 0 {
					fmt.Fprintf(b, "  %s%s%s\n", shown, strings.Repeat(" ", widest-span(name)+len(gap)), line)
				} else {
					fmt.Fprintf(b, "%s%s\n", strings.Repeat(" ", at), line)
				}
			}
		}
	}
}

// heading names a kind of topics.
func heading(k report.TopicKind) string {
	of := map[report.TopicKind]string{report.TopicFinding: "", report.TopicState: " of objects and bundle deployments",
		report.TopicReason: " of the states Unowned and Unknown",
		report.TopicCause:  " of wrong numbers", report.TopicStep: " of why", report.TopicRule: " of preflight",
		report.TopicSituation: " of adopt"}
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
func (t text) topic(b *bytes.Buffer, x *report.Topic) {
	title := x.Name
	if x.Title != "" {
		title += " " + x.Title
	}
	about := strings.ToLower(string(x.Kind))
	if x.Severity != "" {
		about += ", " + string(x.Severity)
	}
	fmt.Fprintf(b, "%s %s\n", t.bold(printable(title)), t.faint("("+about+")"))
	t.wrapped(b, "  ", sentence(x.What)+".")
	part := func(name, body string) {
		if body != "" {
			fmt.Fprintf(b, "\n%s\n", t.bold(name))
			t.wrapped(b, "  ", body)
		}
	}
	part("WHY", x.Why)
	part("EVIDENCE", x.Evidence)
	part("REMEDY", x.Remedy)
	if x.Versions != "" {
		part("FLEET VERSIONS", sentence(x.Versions)+".")
	}
	if len(x.Issues) > 0 {
		fmt.Fprintf(b, "\n%s\n", t.bold("ISSUES"))
		for _, issue := range x.Issues {
			fmt.Fprintf(b, "  %s\n", printable(issue))
		}
	}
	fmt.Fprintf(b, "\n%s\n  %s\n", t.bold("READ MORE"), printable(x.URL))
	if len(x.Sections) > 0 {
		directory := x.URL[:strings.LastIndex(x.URL, "/")+1] // both pages are in it
		t.wrapped(b, "  ", directory+"fleet-behavior.md, "+strings.Join(x.Sections, ", "))
	}
}
