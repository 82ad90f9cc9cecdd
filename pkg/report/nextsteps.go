// SPDX-License-Identifier: Apache-2.0

package report

import (
	"path"
	"slices"
	"strings"
)

// programs are the programs of commands. A remediation that begins with another word is a sentence.
var programs = []string{"kubectl", "kubectl-fleetdoctor", "helm"}

// NextSteps returns the ways to proceed after a finding, the safest one first: its remedies, or the remediation of a report that has no remedies.
func (f *Finding) NextSteps() []Remedy {
	if len(f.Remedies) > 0 || f.Remediation == "" {
		return f.Remedies
	}
	if program, _, _ := strings.Cut(f.Remediation, " "); slices.Contains(programs, path.Base(program)) {
		return []Remedy{{Command: f.Remediation}}
	}
	return []Remedy{{Text: f.Remediation}}
}

// Lines returns the lines that show a remedy: its command and the effect of it, or one sentence. The command is first, because it is the subject of the
// effect.
func (r Remedy) Lines() []string {
	return slices.DeleteFunc([]string{r.Command, r.Text}, func(line string) bool { return line == "" })
}
