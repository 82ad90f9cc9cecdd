// SPDX-License-Identifier: Apache-2.0

// Package owner is the verb owner.
package owner

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const long = `Show which bundle owns an object, and why: the bundle with its release, GitRepo and commit, the
bundles that desire the object, and what each label and annotation of its ownership metadata
means. Fleet uses only the label objectset.rio.cattle.io/hash; the other ones show where an
object comes from.

Exit status: 0 the owner is known, or there is none, 2 wrong usage, 3 the object was not found or
could not be read, or it is unknown which bundle desires it, because a release record could not
be read.`

const examples = `  # an object of the current cluster
  %[1]s owner deployment/frontend -n guestbook

  # an object of a captured cluster
  %[1]s owner clusterrole/reader --snapshot dump.tgz`

// ownerFlags mirror the command line.
type ownerFlags struct {
	*input.Flags
	print *output.PrintFlags
}

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	f := &ownerFlags{Flags: input.New(env), print: output.NewPrintFlags()}
	c := &cobra.Command{
		Use:     "owner KIND/NAME ...",
		Short:   "Show which bundle owns an object, and why",
		Long:    long,
		Example: fmt.Sprintf(examples, env.Name),
		Args:    cobra.ArbitraryArgs,
		RunE:    verb.RunE(&options{ownerFlags: f}),
	}
	f.AddFlags(c.Flags(), "Namespace of the objects; without it, all namespaces")
	f.print.AddFlags(c)
	f.print.AddColorFlag(c)
	return c
}

// options are what the verb runs with.
type options struct {
	*ownerFlags
	objects []scope.Object
	show    output.Printer
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) error {
	for _, arg := range scope.KindNames(args) {
		named, err := scope.ParseObject(arg)
		if err != nil {
			return err
		}
		named.Namespace = cmp.Or(named.Namespace, *o.Config.Namespace)
		o.objects = append(o.objects, named)
	}
	var err error
	o.show, err = o.print.ToPrinter()
	return err
}

// Validate implements verb.Options.
func (o *options) Validate() error {
	if len(o.objects) == 0 {
		return errors.New("an object is required: KIND/NAME")
	}
	return nil
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	var result *report.Ownership
	if err := o.Read(ctx, func(in *input.Reading) (err error) {
		evaluate := engine.Options{Version: o.Version, Renderer: o.Renderer, Commands: o.Commands(), Progress: in.Report}
		result, err = engine.Owner(ctx, in.Source, evaluate, o.objects)
		return err
	}); err != nil {
		return err
	}
	document := printers.Ownership(result, printers.Options{Colour: o.print.Coloured(o.Streams.Out), PrintRole: o.Commands().PrintRole})
	if err := o.show.Print(ctx, o.Streams.Out, document); err != nil {
		return err
	}
	for _, x := range result.Objects {
		if x.Unknown != "" {
			return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("finding the bundle that desires %s: unknown: %s", x.Key(), x.Unknown),
				Hint: o.Command("audit") + " lists what could not be read."}
		}
	}
	return nil
}
