// SPDX-License-Identifier: Apache-2.0

// Package preflight is the verb preflight.
package preflight

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/diff"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// preflightFlags mirror the command line.
type preflightFlags struct {
	*input.Flags
	scope *scope.Flags
	print *output.PrintFlags
	diff  diff.Flags
}

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	in := input.New(env)
	f := &preflightFlags{Flags: in, scope: scope.New(in, engine.DesiredBundle), print: output.NewPrintFlags()}
	c := &cobra.Command{
		Use:               "preflight " + scope.TargetArgs,
		Short:             "Predict problems before a rollout",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: scope.CompleteTargets,
		RunE:              verb.RunE(&options{preflightFlags: f}),
	}
	f.AddFlags(c.Flags(), scope.NamespaceUsage)
	f.scope.AddFlags(c)
	f.print.AddFlags(c)
	f.print.AddColorFlag(c)
	f.print.AddViewFlags(c)
	f.print.AddSortFlag(c, "bundle deployments", "name or counts.takeOver")
	f.diff.AddFlags(c.Flags(), "Show the fields that would be overwritten as a unified diff, with who wrote them and "+
		"when")
	return c
}

// options are what the verb runs with.
type options struct {
	*preflightFlags
	auditOptions engine.Options
	show         output.Printer
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) error {
	var err error
	if o.auditOptions, err = o.scope.ToOptions(args); err != nil {
		return err
	}
	o.auditOptions.ServerCheck, o.auditOptions.Predict = collect.CheckNever, true
	o.NoProgress = o.print.Quiet()
	o.show, err = o.print.ToPrinter()
	return err
}

// Validate implements verb.Options.
func (o *options) Validate() error { return o.diff.Validate() }

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	if err := o.scope.LoadDirectory(&o.auditOptions); err != nil {
		return err
	}
	var found *engine.Audit
	if err := o.Read(ctx, func(in *input.Reading) (err error) {
		o.auditOptions.Progress = in.Report
		found, err = engine.Run(ctx, in.Source, o.auditOptions)
		return err
	}); err != nil {
		return err
	}
	result := o.predict(found)
	if err := output.Sort(o.print, result.BundleDeployments); err != nil {
		return err
	}
	shown := printers.Options{Colour: o.print.Coloured(o.Streams.Out), Width: o.print.Width(o.Streams.Out),
		NoHeaders: !o.print.Headers(), Sorted: o.print.Sorted(),
		PrintRole: o.auditOptions.Commands.PrintRole}
	o.diff.Set(&shown, o.print.ForPeople())
	if err := o.show.Print(ctx, o.Streams.Out, printers.Preflight(result, shown)); err != nil {
		return err
	}
	if err := o.diff.Run(ctx, o.Environment); err != nil {
		return err
	}
	return status(result, found.HiddenDeployments())
}

func (o *options) predict(found *engine.Audit) *report.Preflight {
	rollouts, elsewhere := preflight.Check(found.Input())
	p := &report.Preflight{TakenAt: report.Time(found.Now()), Tool: report.Tool{Version: o.Version},
		Source: report.NewSource(found.Source, found.Desired.Directory),
		Scope:  report.NewScope(found.Scope), BundleDeployments: rollouts, Gaps: report.Gaps(found.Gaps),
		Notes: found.Notes}
	if p.Summary.Elsewhere = elsewhere; elsewhere > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("bundle deployments on other clusters, which are not evaluated: %d",
			elsewhere))
	}
	return p.Redacted(found.Secrets)
}

// status returns the error with the exit status of a report. hidden says which bundle deployments could not be read.
func status(p *report.Preflight, hidden string) error {
	s := p.Summary
	switch {
	case s.Refused+s.Contested > 0:
		return &exit.Error{Status: exit.Found, Shown: true}
	case hidden != "":
		return &exit.Error{Status: exit.Failed, Err: errors.New("there may be other bundle deployments: " + hidden)}
	case s.BundleDeployments == 0 && s.Elsewhere == 0:
		return nil // everything was read, and nothing is deployed
	case s.BundleDeployments == 0:
		return &exit.Error{Status: exit.Failed, Err: errors.New("nothing in scope is deployed to this cluster"),
			Hint: "preflight evaluates a bundle on the cluster that it is deployed to. -f names the directory of a " +
				"bundle that is not deployed yet."}
	case s.Unknown > 0:
		return &exit.Error{Status: exit.Failed, Shown: true}
	}
	return nil
}
