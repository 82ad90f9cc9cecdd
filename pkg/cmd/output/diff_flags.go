// SPDX-License-Identifier: Apache-2.0

package output

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
)

// DiffFlags mirror the flags.
type DiffFlags struct {
	diff, full bool
	external   external
}

// AddFlags adds the flags. usage is the usage of --diff.
func (f *DiffFlags) AddFlags(fs *pflag.FlagSet, usage string) {
	fs.BoolVar(&f.diff, "diff", false, usage+". "+variable+" names another program for it, as for kubectl diff")
	fs.BoolVar(&f.full, "full", false, "Show long lines and long values of --diff in full")
}

// Validate refuses a combination of flags without an effect.
func (f *DiffFlags) Validate() error {
	if f.full && !f.diff {
		return errors.New("--full requires --diff: it shows its values in full")
	}
	return nil
}

// Set sets the options of a printed document. If it is for people, and the user has a program for differences, the
// document leaves the values to it; Run then starts it.
func (f *DiffFlags) Set(o *printers.Options, forPeople bool) {
	o.Diff, o.Full = f.diff, f.full
	if command := os.Getenv(variable); f.diff && forPeople && command != "" {
		f.external = external{command: command}
		o.ExternalDiff = f.external.add
	}
}

// Run starts the program of the user, if Set selected it and the document has differences. As for kubectl diff, the
// program gets two directories with one file for each object, and its exit status is 0 or 1. The directories are
// removed before Run returns, also after an interruption.
func (f *DiffFlags) Run(ctx context.Context, env cli.Environment) error {
	program := f.external
	f.external.objects = nil // another document may follow
	if len(program.objects) == 0 {
		return nil
	}
	_, release := env.Interruption.Hold(ctx) // the process must not end before the files are removed
	defer release()
	if err := program.run(ctx, env); err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(env.Streams.ErrOut, "interrupted: the output may be incomplete")
			return &cli.Error{Status: cli.ExitFailed, Err: ctx.Err(), Shown: true}
		}
		return cli.Failure(err,
			variable+" must name a program that compares two directories, and exits with 0 or 1. Without it, "+
				"--diff prints a unified diff.")
	}
	return nil
}
