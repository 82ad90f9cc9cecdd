// SPDX-License-Identifier: Apache-2.0

// Package impact is the verb impact.
package impact

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

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
	o.Clusters = clusters.New(o.Flags)
	o.Required = "an object is required: gitrepo/NAME, helmop/NAME, bundle/NAME, bundledeployment/NAME or cluster/NAME"
	c := &cobra.Command{Use: "impact gitrepo/NAME | helmop/NAME | bundle/NAME | bundledeployment/NAME | " +
		"cluster/NAME ...", Short: "Show what a deletion removes on each cluster",
		ValidArgsFunction: scope.CompleteTargets}
	o.Setup(c, o, scope.NamespaceUsage)
	return c
}

// options are what the verb runs with.
type options struct {
	*query.Options
	objects []scope.Object
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) (err error) {
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
	return nil
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	o.Document.ReadClusters = o.Clusters.Suggest(o.repeated() + o.Clusters.Args())
	result, err := query.Show(ctx, o.Options, func(in *input.Reading) (*report.Impact, error) {
		how := o.Audit(in)
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
