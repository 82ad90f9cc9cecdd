// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewImpact returns the verb.
func NewImpact(env cli.Environment) *cobra.Command {
	o := &impactVerb{Options: New(env)}
	o.Clusters = input.NewClusters(o.Flags)
	o.Required = "an object is required: gitrepo/NAME, helmop/NAME, bundle/NAME, bundledeployment/NAME or cluster/NAME"
	c := &cobra.Command{Use: "impact gitrepo/NAME | helmop/NAME | bundle/NAME | bundledeployment/NAME | " +
		"cluster/NAME ...", Short: "Show what a deletion removes on each cluster",
		ValidArgsFunction: input.CompleteTargets}
	o.Setup(c, o, input.NamespaceUsage)
	return c
}

// impactVerb are what the verb runs with.
type impactVerb struct {
	*Options
	objects []input.Object
}

// Complete implements cli.Options.
func (o *impactVerb) Complete(args []string) (err error) {
	if o.objects, err = input.ParseObjects(args, *o.Config.Namespace); err != nil {
		return err
	}
	for _, x := range o.objects {
		if !input.IsTargetKind(x.Kind) {
			return &cli.Error{Status: cli.ExitUsage, Hint: input.NearKind(x.String()),
				Err: fmt.Errorf("parsing argument %q: it must be gitrepo/NAME, helmop/NAME, bundle/NAME, "+
					"bundledeployment/NAME or cluster/NAME", x.Kind+"/"+x.Name)}
		}
	}
	return nil
}

// Run implements cli.Options.
func (o *impactVerb) Run(ctx context.Context) error {
	o.Document.ReadClusters = o.Clusters.Suggest(o.repeated() + o.Clusters.Args())
	result, err := Show(ctx, o.Options, func(in *input.Reading) (*report.Impact, error) {
		how := o.Audit(in)
		how.Scope.Namespace = o.objects[0].Namespace
		return query.Impact(ctx, in.Source, how, o.objects)
	}, printers.Impact)
	if err != nil {
		return err
	}
	for _, d := range result.Deletions {
		if d.Summary.Unknown > 0 || d.Unread != "" {
			return &cli.Error{Status: cli.ExitFailed, Err: errors.New("it is not known what is removed"), Shown: true}
		}
	}
	return nil
}

// repeated is the command that was called, without the flags for other clusters.
func (o *impactVerb) repeated() string {
	out := o.Command("impact")
	for _, x := range o.objects {
		out += " " + x.String()
	}
	return out
}
