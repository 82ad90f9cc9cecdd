// SPDX-License-Identifier: Apache-2.0

// Package diff has the flags with which verbs show the fields of objects that differ, and passes the fields to the
// program of the user.
package diff

import (
	"errors"
	"os"

	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
)

// Flags mirror the flags.
type Flags struct {
	diff, full bool
	external   external
}

// AddFlags adds the flags. usage is the usage of --diff.
func (f *Flags) AddFlags(fs *pflag.FlagSet, usage string) {
	fs.BoolVar(&f.diff, "diff", false, usage+". "+variable+" names another program for it, as for kubectl diff")
	fs.BoolVar(&f.full, "full", false, "Show long lines and long values of --diff in full")
}

// Validate refuses a combination of flags without an effect.
func (f *Flags) Validate() error {
	if f.full && !f.diff {
		return errors.New("--full requires --diff: it shows its values in full")
	}
	return nil
}

// Set sets the options of a printed document. If it is for people, and the user has a program for differences, the
// document leaves the values to it; Run then starts it.
func (f *Flags) Set(o *printers.Options, forPeople bool) {
	o.Diff, o.Full = f.diff, f.full
	if command := os.Getenv(variable); f.diff && forPeople && command != "" {
		f.external = external{command: command}
		o.ExternalDiff = f.external.add
	}
}
