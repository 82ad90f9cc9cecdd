// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
)

// Environment is what the root passes to every verb.
type Environment struct {
	Streams genericiooptions.IOStreams
	Now     func() time.Time
	Name    string // by which the program was called: "kubectl fleetdoctor"
	Version string
	Commit  string // of the source code, "" if the build does not state it
	// Interruption lets a verb finish its work after an interruption; nil if the process never ends the verb.
	Interruption *Interruption
	// ReadOnly refuses every request to a cluster that could write, and starts no program for differences.
	ReadOnly bool
	// Renderer renders bundles; nil renders them in this process, without limits on templates.
	Renderer collect.Renderer
	// Pause waits before values Secrets that seem wrong are read a second time; nil is collect.Pause.
	Pause func(context.Context) error
	// Wait waits between two rounds of a watch; nil waits for that time.
	Wait func(context.Context, time.Duration) error
}

// Sleep waits as Wait does. Its error is that of ctx.
func (e *Environment) Sleep(ctx context.Context, d time.Duration) error {
	if e.Wait != nil {
		return e.Wait(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// OutFile is standard output for a child process, which detects a terminal by the file.
func (e *Environment) OutFile() io.Writer {
	if f, ok := e.Streams.Out.(interface{ File() io.Writer }); ok {
		return f.File()
	}
	return e.Streams.Out
}

// Options are the parsed arguments and flags of a verb.
type Options interface {
	// Complete parses the arguments and the values of flags. It reads neither files nor clusters.
	Complete(args []string) error
	// Validate refuses combinations of flags.
	Validate() error
	// Run reads, evaluates and prints. The exit status is that of its error.
	Run(ctx context.Context) error
}

// RunE runs the three steps. An error of the first two is a usage error.
func RunE(o Options) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := o.Complete(args)
		if err == nil {
			err = o.Validate()
		}
		if err != nil {
			return AsUsageError(err)
		}
		return o.Run(c.Context())
	}
}

// AsUsageError returns an error of the command line: a usage error, unless it has an exit status.
func AsUsageError(err error) error {
	if _, explained := errors.AsType[*Error](err); err == nil || explained {
		return err
	}
	return UsageError(err)
}
