// SPDX-License-Identifier: Apache-2.0

// Package tree is the verb tree.
package tree

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/clusters"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	o := &options{Options: query.New(env)}
	o.Clusters, o.Repeats, o.scope = clusters.New(o.Flags), true, scope.New(o.Flags, engine.DesiredRelease)
	c := &cobra.Command{Use: "tree " + scope.TargetArgs, Short: "Show what Fleet deploys as a tree with states",
		ValidArgsFunction: scope.CompleteTargets}
	o.Setup(c, o, scope.NamespaceUsage)
	o.AddRowsFlag(c, report.Audit{}, "bundleDeployments")
	o.scope.AddSelectorFlag(c.Flags())
	c.Flags().BoolVar(&o.compact, "compact", false, "Show no objects")
	return c
}

// options are what the verb runs with.
type options struct {
	*query.Options
	compact  bool
	scope    *scope.Flags
	targets  []evaluate.Target
	selector labels.Selector
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) (err error) {
	if o.targets, err = scope.ParseTargets(args, *o.Config.Namespace); err != nil {
		return err
	}
	o.selector, err = o.scope.Selector()
	return err
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	o.Document.PrintRole = input.InWorkspace(o.Commands(), *o.Config.Namespace).PrintRole
	o.Document.ReadClusters = o.Clusters.Suggest(o.Command("tree") + o.Clusters.Args())
	return o.ShowAudit(ctx, o.read, func(a *report.Audit, p printers.Options) printers.Document {
		return printers.Tree(a, printers.TreeOptions{Options: p, All: p.All, Compact: o.compact})
	})
}

// read audits the objects of the tree.
func (o *options) read(ctx context.Context, in *input.Reading) (*query.Audited, error) {
	how := o.Audit(in)
	how.Commands.PrintRole = o.Document.PrintRole
	how.Scope = evaluate.Scope{Namespace: *o.Config.Namespace, Targets: o.targets, Selector: o.selector}
	if o.ForPeople() && !o.Watching() {
		how.Pause = func(context.Context) error { return nil } // no finding is shown
	}
	found, err := engine.Run(ctx, in.Source, how)
	if err != nil {
		return nil, err
	}
	out := found.Report()
	return &query.Audited{Report: out, Status: o.status(out)}, nil
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
	return exit.Failure(errors.New("it is not known whether everything is ready: "+why),
		o.Command("audit")+" shows what could not be read.")
}
