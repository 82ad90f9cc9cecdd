// SPDX-License-Identifier: Apache-2.0

// Package impact is the verb impact.
package impact

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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/impact/read"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	o := &options{Options: query.New(env)}
	o.clusters = clusters.New(o.Flags)
	c := &cobra.Command{Use: "impact gitrepo/NAME | helmop/NAME | bundle/NAME | bundledeployment/NAME | " +
		"cluster/NAME ...", Short: "Show what a deletion removes on each cluster",
		ValidArgsFunction: scope.CompleteTargets}
	o.Setup(c, o, scope.NamespaceUsage)
	o.clusters.AddFlags(c.Flags())
	return c
}

// options are what the verb runs with.
type options struct {
	*query.Options
	clusters *clusters.Flags
	objects  []scope.Object
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) (err error) {
	if err := o.clusters.Complete(); err != nil {
		return err
	}
	if o.objects, err = scope.ParseObjects(args, *o.Config.Namespace); err != nil {
		return err
	}
	for _, x := range o.objects {
		if !scope.IsTargetKind(x.Kind) {
			return &exit.Error{Status: exit.Usage, Hint: scope.NearKind(x.String()),
				Err: fmt.Errorf("parsing argument %q: it must be gitrepo/NAME, helmop/NAME, bundle/NAME, "+
					"bundledeployment/NAME or cluster/NAME", x.Kind+"/"+x.Name)}
		}
	}
	return o.Options.Complete()
}

// Validate implements verb.Options.
func (o *options) Validate() error {
	if len(o.objects) == 0 {
		return errors.New("an object is required: gitrepo/NAME, helmop/NAME, bundle/NAME, bundledeployment/NAME or " +
			"cluster/NAME")
	}
	return nil
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	if err := o.clusters.Check(); err != nil {
		return err
	}
	o.Document.ReadClusters = o.clusters.Suggest(o.repeated() + o.clusters.Args())
	result, err := query.Show(ctx, o.Options, func(in *input.Reading) (*report.Impact, error) {
		how := engine.Options{Version: o.Version, Progress: in.Report, Commands: o.Commands(),
			Clusters: o.clusters.Clusters(in.Source)}
		how.Scope.Namespace = o.objects[0].Namespace
		return read.Impact(ctx, in.Source, how, o.objects)
	}, printers.Impact)
	if err != nil {
		return err
	}
	for _, d := range result.Deletions {
		if d.Summary.Unknown > 0 || d.Unread != "" {
			return &exit.Error{Status: exit.Failed, Err: errors.New("it is not known what is removed"), Shown: true}
		}
	}
	return nil
}

// repeated is the command that was called, without the flags for other clusters.
func (o *options) repeated() string {
	out := o.Command("impact")
	for _, x := range o.objects {
		out += " " + x.String()
	}
	return out
}
