// SPDX-License-Identifier: Apache-2.0

// Package verb is what every verb is built from: the environment that the root passes on, the three steps of its options, and how it behaves
// after an interruption.
package verb

import (
	"context"
	"errors"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
)

// Environment is what the root passes to every verb.
type Environment struct {
	Streams genericiooptions.IOStreams
	Now     func() time.Time
	Name    string // how the program was called: "kubectl fleetdoctor"
	Version string
	// Interruption lets a verb finish its work after an interruption; nil where the process never ends the verb.
	Interruption *Interruption
	// Renderer renders bundles; nil renders them in this process, without limits on templates.
	Renderer collect.Renderer
}

// Options are what a verb runs with.
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
			return usage(err)
		}
		return o.Run(c.Context())
	}
}

func usage(err error) error {
	var explained *exit.Error
	if errors.As(err, &explained) {
		return err
	}
	return exit.UsageError(err)
}
