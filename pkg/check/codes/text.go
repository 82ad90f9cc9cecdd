// SPDX-License-Identifier: Apache-2.0

package codes

import (
	"embed"

	"sigs.k8s.io/yaml"
)

// Severity of a finding: error, warning or info.
type Severity string

// Urgency is what a finding says about users of the bundle. It orders what people read.
type Urgency string

// The urgencies, the most urgent one first.
const (
	// Now is that something does not run as desired, is not deployed, or is not known.
	Now Urgency = "now"
	// Later is that a later change will have an effect that nobody expects, or that something is left over.
	Later Urgency = "later"
	// Status is that only a number or a word of Fleet is wrong.
	Status Urgency = "status"
)

// Text is what users read about a code. Its facts are those of docs/fleet-behavior.md.
type Text struct {
	// Name is one word, Title is a sentence.
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
	Urgency  Urgency  `json:"urgency"`
	Title    string   `json:"title"`
	// Explanation describes in a few sentences the meaning, the causes and the remedy.
	Explanation string `json:"explanation"`
	// Evidence says which data the finding is based on.
	Evidence string `json:"evidence"`
	// Remedy says how to proceed, with the effect of each step.
	Remedy string `json:"remedy"`
	// Versions says which versions of Fleet behave so.
	Versions string `json:"versions"`
	// Issues are issues of Fleet, such as "rancher/fleet#5550".
	Issues []string `json:"issues,omitempty"`
	// Sections are sections of docs/fleet-behavior.md.
	Sections []string `json:"sections"`
}

//go:embed *.yaml
var files embed.FS

// TextOf returns the text of a code, such as "FD101". It returns an error for a code without a text.
func TextOf(code string) (Text, error) {
	var out Text
	content, err := files.ReadFile(code + ".yaml")
	if err != nil {
		return out, err
	}
	err = yaml.UnmarshalStrict(content, &out)
	return out, err
}
