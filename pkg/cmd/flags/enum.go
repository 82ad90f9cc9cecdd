// SPDX-License-Identifier: Apache-2.0

// Package flags holds the kinds of flags that more than one verb has.
package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Enum is a flag that takes one of a few words. It implements pflag.Value.
type Enum struct {
	value   string
	allowed []string
}

var _ pflag.Value = (*Enum)(nil)

// NewEnum makes an Enum; the first word is the default unless another is given.
func NewEnum(def string, allowed ...string) *Enum { return &Enum{value: def, allowed: allowed} }

// String returns the chosen word.
func (e *Enum) String() string { return e.value }

// Type is what help shows in place of a value.
func (e *Enum) Type() string { return strings.Join(e.allowed, "|") }

// Set chooses a word.
func (e *Enum) Set(s string) error {
	if !slices.Contains(e.allowed, s) {
		return fmt.Errorf("must be one of %s", strings.Join(e.allowed, ", "))
	}
	e.value = s
	return nil
}

// Complete offers the words to a shell.
func (e *Enum) Complete(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return e.allowed, cobra.ShellCompDirectiveNoFileComp
}
