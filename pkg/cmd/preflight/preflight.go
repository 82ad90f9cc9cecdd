// SPDX-License-Identifier: Apache-2.0

// Package preflight is the verb preflight.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// NewCommand returns the verb.
func NewCommand(env cli.Environment) *cobra.Command {
	o := &options{Options: query.New(env)}
	o.scope, o.Diff = input.NewScope(o.Flags, engine.DesiredBundle), &output.DiffFlags{}
	c := &cobra.Command{Use: "preflight " + input.TargetArgs, Short: "Predict problems before a rollout",
		ValidArgsFunction: input.CompleteTargets}
	o.Setup(c, o, input.NamespaceUsage)
	o.scope.AddFlags(c)
	o.serverCheck = cli.NewEnum(string(collect.CheckAuto), string(collect.CheckNever))
	o.serverCheck.AddTo(c, "server-check", "Ask the API server with dry runs whether it accepts what changes")
	o.AddSortFlag(c, "bundle deployments", "name or counts.takeOver")
	o.Diff.AddFlags(c.Flags(), "Show the fields that would be overwritten as a unified diff, with who wrote them and "+
		"when")
	return c
}

// options are what the verb runs with.
type options struct {
	*query.Options
	scope        *input.ScopeFlags
	auditOptions engine.Options
	serverCheck  *cli.Enum
}

// Complete implements cli.Options.
func (o *options) Complete(args []string) (err error) {
	o.auditOptions, err = o.scope.ToOptions(args)
	o.auditOptions.Parents, o.auditOptions.Staged = true, true
	o.auditOptions.ServerCheck, o.auditOptions.Predict = collect.ServerCheck(o.serverCheck.String()), true
	return err
}

// Run implements cli.Options.
func (o *options) Run(ctx context.Context) error {
	if err := o.scope.LoadDirectory(&o.auditOptions); err != nil {
		return err
	}
	o.Document.PrintRole = o.auditOptions.Commands.PrintRole
	var hidden string
	result, err := query.Show(ctx, o.Options, func(in *input.Reading) (*report.Preflight, error) {
		o.auditOptions.Progress = in.Report
		if in.Cluster != nil {
			o.auditOptions.Server = in.Cluster
		}
		found, err := engine.Run(ctx, in.Source, o.auditOptions)
		if err != nil {
			return nil, err
		}
		if len(found.Deployments) == 0 {
			if why := deploysNothing(found.Report()); why != "" {
				return nil, &cli.Error{Status: cli.ExitFound, Err: errors.New("Fleet deploys nothing: " + why)}
			}
		}
		hidden = found.HiddenDeployments()
		result := o.predict(found)
		if err := output.Sort(o.PrintFlags, result.BundleDeployments); err != nil {
			return nil, err
		}
		return result, nil
	}, printers.Preflight)
	if err != nil {
		return err
	}
	return status(result, hidden)
}

// deploysNothing returns why Fleet deploys none of the objects in scope; empty if no finding says that.
func deploysNothing(a *report.Audit) string {
	for _, f := range a.Findings {
		if f.Severity == report.Error || codes.Is(f.Code, codes.SaysNotReady) {
			return f.Message
		}
	}
	return ""
}

func (o *options) predict(found *engine.Audit) *report.Preflight {
	in := found.Input()
	rollouts, elsewhere := preflight.Check(in)
	p := &report.Preflight{
		Head:  report.NewHead(report.KindPreflight, o.Version, found.Source, found.Desired.Directory),
		Scope: report.NewScope(found.Scope), BundleDeployments: rollouts, Gaps: preflight.Gaps(in),
		Notes: slices.Clip(found.Notes)}
	if found.Source.Origin == source.OriginSnapshot {
		p.Notes = append(p.Notes, "no API server was asked, which decides whether it accepts the objects: preflight "+
			"on the live cluster asks it with dry runs")
	}
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
		return &cli.Error{Status: cli.ExitFound, Shown: true}
	case hidden != "":
		return &cli.Error{Status: cli.ExitFailed, Err: errors.New("there may be other bundle deployments: " + hidden)}
	case s.BundleDeployments == 0 && s.Elsewhere == 0:
		return nil // everything was read, and nothing is deployed
	case s.BundleDeployments == 0:
		return cli.Failure(errors.New("nothing in scope is deployed to this cluster"),
			"preflight evaluates a bundle on the cluster that it is deployed to. -f names the directory of a bundle "+
				"that is not deployed yet.")
	case s.Unknown > 0:
		return &cli.Error{Status: cli.ExitFailed, Shown: true}
	}
	return nil
}
