// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// NoCommand refuses arguments, and suggests similar subcommands.
func NoCommand(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	if gone := Removed(c.CommandPath(), words[0]); gone != "" {
		return UsageError(errors.New(gone))
	}
	err := &Error{Status: ExitUsage, Err: fmt.Errorf("unknown command %q", words[0])}
	similar := c.SuggestionsFor(words[0])
	for i, name := range similar {
		similar[i] = strconv.Quote(name)
	}
	if len(similar) > 0 {
		err.Hint = "Did you mean " + strings.Join(similar, " or ") + "?"
	}
	return err
}
