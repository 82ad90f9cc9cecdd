// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// findings is the page of the findings, the states, the reasons and the causes: what the verb explain shows.
func findings() ([]byte, error) {
	topics := cmd.Topics()
	anchors, err := behaviour()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("# Findings\n\n" + generated)
	b.WriteString("The meaning of a code never changes. `audit --fail-on` selects findings by severity. `kubectl " +
		"fleetdoctor explain FD101` shows a section of this page.\n\n" +
		"| code | severity | title |\n|---|---|---|\n")
	of := func(kind report.TopicKind, write func(report.Topic)) {
		for _, t := range topics {
			if t.Kind == kind {
				write(t)
			}
		}
	}
	of(report.TopicFinding, func(t report.Topic) {
		fmt.Fprintf(&b, "| [%s](#%s) %s | %s | %s |\n", t.Name, strings.ToLower(t.Name+"-"+t.Title), t.Title,
			t.Severity, t.What)
	})
	of(report.TopicFinding, func(t report.Topic) { finding(&b, t, anchors) })
	for _, list := range []struct {
		kind               report.TopicKind
		heading, about, of string
	}{
		{report.TopicState, "States",
			"An object has the first of the states Unknown, Missing, Unowned, Modified, NotReady and Ready that " +
				"applies.",
			"state"},
		{report.TopicReason, "Reasons", "The state Unowned or Unknown has a reason.", "reason"},
		{report.TopicCause, "Causes", "A finding about a number that Fleet reports (FD201 to FD206) has a cause.",
			"cause"},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| %s | meaning | remedy |\n|---|---|---|\n", list.heading, list.about,
			list.of)
		of(list.kind, func(t report.Topic) {
			_, anchor, _ := strings.Cut(t.URL, "#")
			fmt.Fprintf(&b, "| <a id=%q></a>%s | %s | %s |\n", anchor, t.Name, strings.TrimSuffix(t.What+". "+t.Why,
				" "), linked(t.Remedy))
		})
	}
	return b.Bytes(), nil
}

// finding writes the section of a code. Its anchor does not change with its name.
func finding(b *bytes.Buffer, t report.Topic, sections map[string]string) {
	_, anchor, _ := strings.Cut(t.URL, "#")
	fmt.Fprintf(b, "\n<a id=%q></a>\n\n## %s %s\n\n**%s**: %s.\n\n%s\n\n", anchor, t.Name, t.Title, t.Severity, t.What,
		t.Why)
	fmt.Fprintf(b, "- **Evidence:** %s\n- **Remedy:** %s\n- **Fleet versions:** %s.\n", t.Evidence, t.Remedy,
		t.Versions)
	if len(t.Issues) > 0 {
		var issues []string
		for _, address := range t.Issues {
			parts := strings.Split(strings.TrimPrefix(address, "https://github.com/"), "/issues/")
			issues = append(issues, fmt.Sprintf("[%s](%s)", strings.Join(parts, "#"), address))
		}
		fmt.Fprintf(b, "- **Issues:** %s\n", strings.Join(issues, ", "))
	}
	var facts []string
	for _, s := range t.Sections {
		facts = append(facts, fmt.Sprintf("[%s](fleet-behavior.md#%s)", s, sections[s]))
	}
	fmt.Fprintf(b, "- **Facts:** how Fleet behaves, %s\n", strings.Join(facts, ", "))
}

// heading3 matches a numbered section of docs/fleet-behavior.md, notInAnchor the characters that GitHub leaves out of
// an anchor.
var (
	heading3    = regexp.MustCompile(`(?m)^### ((\d\.\d+) .*)$`)
	notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// behaviour returns the anchors of the sections of docs/fleet-behavior.md, by their numbers.
func behaviour() (map[string]string, error) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "fleet-behavior.md"))
	out := map[string]string{}
	for _, m := range heading3.FindAllStringSubmatch(string(page), -1) {
		out[m[2]] = strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
	}
	return out, err
}

// code matches the code of a finding.
var code = regexp.MustCompile(`\bFD\d{3}\b`)

// linked makes the codes in a text links.
func linked(text string) string {
	return code.ReplaceAllStringFunc(text, func(c string) string { return "[" + c + "](#" + strings.ToLower(c) + ")" })
}
