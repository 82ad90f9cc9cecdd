// SPDX-License-Identifier: Apache-2.0

// Package targets is the verb targets.
package targets

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const long = `Show which clusters a bundle is deployed to, and why: for each cluster in the namespaces that the
bundle reaches, the target that selects it, the customizations whose options apply, what excludes
it, and what would change that. It compares the result with the BundleDeployments that exist.

The rules are those of the version of Fleet's controller. If the result depends on something that
is not known, such as that version, it is Unknown.

Exit status: 0 the targets were evaluated, 2 wrong usage, 3 the bundle was not found or could not
be read.`

const examples = `  # the clusters of a bundle, on the current management cluster
  %[1]s targets bundle/guestbook -n fleet-default

  # the clusters that a bundle of a captured cluster excludes
  %[1]s targets bundle/guestbook --snapshot dump.tgz -o json`

// targetsFlags mirror the command line.
type targetsFlags struct {
	*input.Flags
	print *output.PrintFlags
}

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	f := &targetsFlags{Flags: input.New(env), print: output.NewPrintFlags()}
	c := &cobra.Command{
		Use:     "targets bundle/NAME ...",
		Short:   "Show which clusters a bundle targets, and why",
		Long:    long,
		Example: fmt.Sprintf(examples, env.Name),
		Args:    cobra.ArbitraryArgs,
		RunE:    verb.RunE(&options{targetsFlags: f}),
	}
	f.AddFlags(c.Flags(), "Namespace of the bundles; without it, all namespaces")
	f.print.AddFlags(c)
	f.print.AddColorFlag(c)
	return c
}

// options are what the verb runs with.
type options struct {
	*targetsFlags
	bundles []scope.Object
	show    output.Printer
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) error {
	for _, arg := range scope.KindNames(args) {
		named, err := scope.ParseObject(arg)
		if err != nil {
			return err
		}
		if !scope.IsBundle(named.Kind) {
			return fmt.Errorf("parsing argument %q: it must be bundle/NAME", arg)
		}
		named.Namespace = cmp.Or(named.Namespace, *o.Config.Namespace)
		o.bundles = append(o.bundles, named)
	}
	var err error
	o.show, err = o.print.ToPrinter()
	return err
}

// Validate implements verb.Options.
func (o *options) Validate() error {
	if len(o.bundles) == 0 {
		return errors.New("a bundle is required: bundle/NAME")
	}
	return nil
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	var result *report.Targets
	if err := o.Read(ctx, func(in *input.Reading) (err error) {
		read := engine.Options{Version: o.Version, Progress: in.Report}
		read.Scope.Namespace = o.bundles[0].Namespace
		result, err = engine.Targets(ctx, in.Source, read, o.bundles)
		return err
	}); err != nil {
		return err
	}
	document := printers.Targets(result, printers.Options{Colour: o.print.Coloured(o.Streams.Out), PrintRole: o.Commands().PrintRole})
	return o.show.Print(ctx, o.Streams.Out, document)
}
