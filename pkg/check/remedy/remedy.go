// SPDX-License-Identifier: Apache-2.0

package remedy

import (
	"fmt"
	"slices"
)

// Remedy is one way to proceed after a finding, or an item of a preflight. It has a text, a command, or both.
type Remedy struct {
	// Text is a sentence: what to do if there is no command, otherwise the effect of the command.
	Text string `json:"text,omitempty" text:"redact"`
	// Command is a command line for a shell. It does not depend on how the program was called. A command of kubectl or
	// Helm for a snapshot has a placeholder for the context of the captured cluster, which a shell refuses, if
	// --context did not name the context.
	Command string `json:"command,omitempty" text:"redact"`
	// URL is the address of a page that explains the finding, or the rule of the item.
	URL string `json:"url,omitempty" text:"keep"`
	// Step is what the verb repair does; none for a remedy that it does not make.
	Step Step `json:"-" text:"keep"`
}

// Lines returns the lines that show a remedy: its command and the effect of it, or one sentence. The command is first,
// because it is the subject of the effect.
func (r Remedy) Lines() []string {
	return slices.DeleteFunc([]string{r.Command, r.Text}, func(line string) bool { return line == "" })
}

// Run is a command with its effect.
func Run(command, effect string, args ...any) Remedy {
	return Remedy{Command: command, Text: fmt.Sprintf(effect, args...)}
}

// Advise is a remedy without a command.
func Advise(format string, args ...any) Remedy { return Remedy{Text: fmt.Sprintf(format, args...)} }

// With returns the remedy as one that the verb repair makes.
func (r Remedy) With(s Step) Remedy {
	r.Step = s
	return r
}

// Make is a remedy that only the verb repair makes; the check of the finding adds its command. effect is what the verb
// does.
func Make(s Step, effect string) Remedy {
	return Remedy{Text: effect, Step: s}
}

// ByHand returns the remedy as one that the verb repair does not make: something else has to be done first.
func (r Remedy) ByHand() Remedy { return r.With(Step{}) }
