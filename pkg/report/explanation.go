// SPDX-License-Identifier: Apache-2.0

package report

// KindExplanation is the kind of an Explanation.
const KindExplanation = "Explanation"

// Explanation explains words that the documents use.
type Explanation struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Tool       Tool    `json:"tool"`
	Topics     []Topic `json:"topics"`
}

// TopicKind says what a word is.
type TopicKind string

// The kinds of topics.
const (
	TopicFinding   TopicKind = "Finding"
	TopicState     TopicKind = "State"     // of an object or a bundle deployment
	TopicReason    TopicKind = "Reason"    // of the states Unowned and Unknown
	TopicCause     TopicKind = "Cause"     // of a wrong number in a status
	TopicStep      TopicKind = "Step"      // of the verb why
	TopicRule      TopicKind = "Rule"      // of the verb preflight
	TopicSituation TopicKind = "Situation" // of the verb adopt
)

// Topic is one word with its explanation.
type Topic struct {
	Kind TopicKind `json:"kind" jsonschema:"enum=Finding,enum=State,enum=Reason,enum=Cause,enum=Step,enum=Rule,enum=Situation"`
	// Name is the word, for a finding its code. Title is the name of a finding, such as Missing.
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	// Severity is that of a finding, or of a rule of preflight.
	Severity Severity `json:"severity,omitempty"`
	// What is the meaning, Why the causes and the effects.
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	// Evidence says on which data it is based, Remedy how to proceed.
	Evidence string `json:"evidence,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
	// Versions says which versions of Fleet behave so. Issues are addresses of issues of Fleet.
	Versions string   `json:"versions,omitempty"`
	Issues   []string `json:"issues,omitempty"`
	// Sections are sections of docs/fleet-behavior.md. URL is the address of the documentation of the word.
	Sections []string `json:"sections,omitempty"`
	URL      string   `json:"url"`
}

// NewExplanation returns the document about topics.
func NewExplanation(topics []Topic, version string) *Explanation {
	return &Explanation{APIVersion: APIVersion, Kind: KindExplanation, Tool: Tool{Version: version}, Topics: topics}
}
