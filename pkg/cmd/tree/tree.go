// SPDX-License-Identifier: Apache-2.0

// Package tree is the verb tree.
package tree

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/clusters"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/watch"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	o := &options{Options: query.New(env)}
	o.clusters = clusters.New(o.Flags)
	c := &cobra.Command{Use: "tree " + scope.TargetArgs, Short: "Show what Fleet deploys as a tree with states",
		ValidArgsFunction: scope.CompleteTargets}
	o.Setup(c, o, scope.NamespaceUsage)
	o.clusters.AddFlags(c.Flags())
	o.AddWatchFlags(c)
	o.AddRowsFlag(c, report.Audit{}, "bundleDeployments")
	c.Flags().BoolVar(&o.all, "all", false, "Show objects and clusters that are ready too")
	c.Flags().BoolVar(&o.compact, "compact", false, "Show no objects")
	return c
}

// options are what the verb runs with.
type options struct {
	*query.Options
	clusters     *clusters.Flags
	all, compact bool
	targets      []evaluate.Target
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) (err error) {
	if err := o.clusters.Complete(); err != nil {
		return err
	}
	if o.targets, err = scope.ParseTargets(args, *o.Config.Namespace); err != nil {
		return err
	}
	return o.Options.Complete()
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	if err := o.clusters.Check(); err != nil {
		return err
	}
	commands := input.InWorkspace(o.Commands(), *o.Config.Namespace)
	o.Document.PrintRole = commands.PrintRole
	commands.Audit += o.clusters.Args()
	pause := o.Pause
	if o.ForPeople() && !o.Watching() {
		pause = func(context.Context) error { return nil } // no finding is shown
	}
	o.Document.ReadClusters = o.clusters.Suggest(o.Command("tree") + o.clusters.Args())
	read := func(in *input.Reading) (*report.Audit, error) {
		found, err := engine.Run(ctx, in.Source, engine.Options{Version: o.Version, Renderer: o.Renderer, Pause: pause,
			Commands: commands, Progress: in.Report,
			Clusters: o.clusters.Clusters(in.Source), Scope: evaluate.Scope{Namespace: *o.Config.Namespace,
				Targets: o.targets}})
		if err != nil {
			return nil, err
		}
		return found.Report(), nil
	}
	document := func(a *report.Audit, p printers.Options) printers.Document {
		return printers.Tree(a, printers.TreeOptions{Options: p, All: o.all, Compact: o.compact})
	}
	if o.Watching() {
		return query.Watch(ctx, o.Options, read, document, o.status, changes)
	}
	result, err := query.Show(ctx, o.Options, read, document)
	if err != nil {
		return err
	}
	return o.status(result)
}

// changes describes the changes between two rounds of a watch.
func changes(before **report.Audit, after *report.Audit) []string {
	if before == nil {
		return watch.Changes(nil, after)
	}
	return watch.Changes(*before, after)
}

// status returns the error with the exit status of a tree.
func (o *options) status(a *report.Audit) error {
	unknown := 0
	for _, bd := range a.BundleDeployments {
		switch {
		case bd.State == report.Ready && bd.Reason == "":
		case bd.State == report.Ready, bd.State == report.Unknown:
			unknown++
		default:
			return &exit.Error{Status: exit.Found, Shown: true}
		}
	}
	why := report.Undecided(a.Gaps) // bundle deployments that were not read are not in the tree
	if unknown > 0 {
		why = fmt.Sprintf("bundle deployments without a result: %d of %d", unknown, len(a.BundleDeployments))
	}
	if why == "" {
		return nil
	}
	return &exit.Error{Status: exit.Failed, Err: errors.New("it is not known whether everything is ready: " + why),
		Hint: o.Command("audit") + " shows what could not be read."}
}
