// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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

// Complete completes the values in a shell.
func (e *Enum) Complete(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return e.allowed, cobra.ShellCompDirectiveNoFileComp
}
