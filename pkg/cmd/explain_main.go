// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	_ "embed" // of words.yaml
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

//go:embed words.yaml
var wordsFile []byte

// words returns the states, reasons, causes, and steps of why. The tests prove that each word that the code declares
// is among them.
func words() []report.Topic {
	var out []report.Topic
	if err := yaml.UnmarshalStrict(wordsFile, &out); err != nil {
		return nil
	}
	return out
}

// Topics returns all topics: the findings in the order of their codes, then the other words by their kind.
func Topics() []report.Topic {
	var out []report.Topic
	for _, c := range check.Catalogue() {
		out = append(out, finding(c))
	}
	for _, t := range words() {
		t.URL = check.Pages + "findings.md#" + strings.ToLower(string(t.Kind)) + "-" + strings.ToLower(t.Name)
		if t.Kind == report.TopicStep {
			t.URL = check.Pages + "verbs/why.md#kinds-of-steps"
		}
		out = append(out, t)
	}
	for _, r := range preflight.Rules() {
		out = append(out, report.Topic{Kind: report.TopicRule, Name: r.Name, Severity: r.Severity, What: r.Description,
			URL: preflight.URL(r.Name)})
	}
	for _, r := range ownership.TruthTable {
		out = append(out, report.Topic{Kind: report.TopicSituation, Name: string(r.Situation),
			What: "the object has " + r.Description, Remedy: answers(r),
			URL: check.Pages + "verbs/adopt.md#what-is-taken"})
	}
	return out
}

func finding(c check.Check) report.Topic {
	text := c.Text
	t := report.Topic{Kind: report.TopicFinding, Name: c.Code, Title: c.Name, Severity: report.Severity(c.Severity),
		What: c.Title, Why: text.Explanation, Evidence: text.Evidence, Remedy: text.Remedy, Versions: text.Versions,
		Sections: text.Sections, URL: check.URL(c.Code)}
	for _, issue := range text.Issues {
		t.Issues = append(t.Issues, address(issue))
	}
	return t
}

// address is the address of an issue such as "rancher/fleet#5550".
func address(issue string) string {
	repository, number, _ := strings.Cut(issue, "#")
	return "https://github.com/" + repository + "/issues/" + number
}

// answers says what the policies of adopt do in a situation.
func answers(r ownership.Rule) string {
	var out []string
	for _, p := range ownership.Policies {
		out = append(out, "--policy="+string(p)+": "+string(r.Answers[p]))
	}
	return strings.Join(out, "; ")
}

// FindTopics returns the topics with a name, in upper or lower case. A word can have several meanings: NotReady is a state, a
// step of why, and the title of a finding.
func FindTopics(topics []report.Topic, name string) []report.Topic {
	return slices.DeleteFunc(slices.Clone(topics), func(t report.Topic) bool {
		return !strings.EqualFold(t.Name, name) && (t.Title == "" || !strings.EqualFold(t.Title, name))
	})
}

// TopicNames lists the words that FindTopics finds, each once, in the order of the topics.
func TopicNames(topics []report.Topic) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range topics {
		for _, name := range []string{t.Name, t.Title} {
			if name != "" && !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}
