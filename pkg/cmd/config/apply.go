// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
)

// maxFile is the greatest size of a file in bytes.
const maxFile = 1 << 20

// Apply sets the flags of a command that are not on its command line to the defaults in a file. Defaults of flags that
// the command does not have are ignored. Without a path, it does nothing. Its errors are usage errors.
func Apply(path string, flags *pflag.FlagSet) error {
	if path == "" {
		return nil
	}
	settings, err := read(path)
	if err != nil {
		return &exit.Error{Status: exit.Usage, Err: fmt.Errorf("reading the configuration file: %w", err),
			Hint: check.Pages + "config.md describes the file. " + variable + "='' reads none."}
	}
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	for _, s := range settings {
		if !s.applies(flags, given) {
			continue
		}
		for _, value := range s.values {
			if err := flags.Set(s.flag, value); err != nil {
				return exit.UsageError(fmt.Errorf("%s: %s: %w", path, s.name, err))
			}
		}
	}
	return nil
}

func read(path string) ([]setting, error) {
	content, err := input.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	return parse(path, bytes.NewReader(content))
}

// applies reports whether a command has the flag, and nothing on its command line replaces the default.
func (s *setting) applies(flags *pflag.FlagSet, given map[string]bool) bool {
	flag := flags.Lookup(s.flag)
	if flag == nil || flag.DefValue != s.builtIn {
		return false
	}
	isGiven := func(name string) bool { return given[name] }
	if isGiven(s.flag) || slices.ContainsFunc(s.unless, isGiven) {
		return false
	}
	if slices.ContainsFunc(s.ofTables, isGiven) {
		return slices.Contains(tables, s.values[0])
	}
	return true
}
