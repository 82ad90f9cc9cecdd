// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

const (
	// most is the number of suggestions.
	most = 3
	// lettersPerEdit is the number of letters of a word, rounded up, for each edit that is allowed.
	lettersPerEdit = 3
	mostEdits      = 3
)

// Nearest returns the known words that are most similar to a word, the most similar first: those that differ from it in
// a few letters and, if there are none, those that begin with it. It ignores case. It is empty if the word itself is
// known.
func Nearest(word string, known []string) []string {
	type near struct {
		word  string
		edits int
	}
	folded := strings.ToLower(word)
	limit := min((len([]rune(folded))+lettersPerEdit-1)/lettersPerEdit, mostEdits)
	var found, longer []near
	for _, k := range known {
		other := strings.ToLower(k)
		switch {
		case k == word:
			return nil
		// the distance of long words is costly; a rune has at most four bytes
		case folded == "" || abs(len(other)-len(folded)) > 4*mostEdits:
		default:
			if n := distance(folded, other); n <= limit && n < len([]rune(folded)) {
				found = append(found, near{k, n})
			}
		}
		if folded != "" && strings.HasPrefix(other, folded) {
			longer = append(longer, near{word: k})
		}
	}
	if len(found) == 0 {
		found = longer
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.word, b.word))
	})
	found = slices.Compact(found)
	var out []string
	for _, n := range found[:min(len(found), most)] {
		out = append(out, n.word)
	}
	return out
}

// Hint returns the question whether the user meant one of the known words, "" if none is similar.
func Hint(word string, known []string) string { return HintIn("", word, "", known) }

// HintIn is a Hint for a word that is a part of an argument: before and after are the parts around it.
func HintIn(before, word, after string, known []string) string {
	near := Nearest(word, known)
	for i, n := range near {
		near[i] = before + n + after
	}
	return Suggestion(near)
}

// Suggestion returns the question whether the user meant one of some words, "" without any.
func Suggestion(words []string) string {
	if len(words) == 0 {
		return ""
	}
	quoted := make([]string, 0, most)
	for _, w := range words[:min(len(words), most)] {
		quoted = append(quoted, strconv.Quote(w))
	}
	return "Did you mean " + strings.Join(quoted, " or ") + "?"
}

// distance is the number of letters by which two words differ: 1 if the letters are the same in another order.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	if a != b && slices.Equal(x, y) {
		return 1
	}
	return levenshtein.ComputeDistance(a, b)
}

func abs(n int) int { return max(n, -n) }

// Enum is a flag with a fixed list of values. It implements pflag.Value.
type Enum struct {
	value   string
	allowed []string
}

var _ pflag.Value = (*Enum)(nil)

// NewEnum returns an Enum with its default.
func NewEnum(def string, allowed ...string) *Enum { return &Enum{value: def, allowed: allowed} }

// String returns the value.
func (e *Enum) String() string { return e.value }

// Type is the placeholder of the value in help: all values.
func (e *Enum) Type() string { return strings.Join(e.allowed, "|") }

// Values are the values that are accepted.
func (e *Enum) Values() []string { return e.allowed }

// Set parses a value.
func (e *Enum) Set(s string) error {
	if !slices.Contains(e.allowed, s) {
		return fmt.Errorf("must be one of %s", strings.Join(e.allowed, ", "))
	}
	e.value = s
	return nil
}

// AddTo adds the flag to a command, with its completion.
func (e *Enum) AddTo(c *cobra.Command, name, usage string) {
	c.Flags().Var(e, name, usage)
	_ = c.RegisterFlagCompletionFunc(name, e.Complete) // the flag exists
}

// AddDryRun adds it as the flag --dry-run, which means client without a value, as in kubectl.
func (e *Enum) AddDryRun(c *cobra.Command, usage string) {
	e.AddTo(c, "dry-run", usage)
	c.Flags().Lookup("dry-run").NoOptDefVal = "client"
}

// Complete completes the values in a shell.
func (e *Enum) Complete(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return e.allowed, cobra.ShellCompDirectiveNoFileComp
}

// FleetVersion is a flag with a version of Fleet. It implements pflag.Value.
type FleetVersion struct{ value string }

var _ pflag.Value = (*FleetVersion)(nil)

// String returns the version as the tag of an image; empty if the flag is not given.
func (v *FleetVersion) String() string { return v.value }

// Type is the placeholder of the value in help.
func (v *FleetVersion) Type() string { return "version" }

var fleetVersion = regexp.MustCompile(`^v?(0\.\d{1,4})(\.\d{1,4}(?:-[0-9A-Za-z.]+)?)?$`)

// Set parses a version. 0.13 is 0.13.0.
func (v *FleetVersion) Set(s string) error {
	m := fleetVersion.FindStringSubmatch(s)
	if m == nil {
		return errors.New("must be a version of Fleet, such as 0.13 or 0.13.2")
	}
	if m[2] == "" {
		m[2] = ".0"
	}
	tag := "v" + strings.Join(m[1:], "")
	if known, _ := fleet.ParseVersion(tag); known.Minor < fleet.OldestKnown || known.Minor > fleet.NewestKnown {
		return fmt.Errorf("the rules of Fleet %s are not known: must be 0.%d to 0.%d", m[1], fleet.OldestKnown,
			fleet.NewestKnown)
	}
	v.value = tag
	return nil
}

// AsVersionFlag is the name of the flag that evaluates for another version of Fleet.
const AsVersionFlag = "as-version"
