// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewTargets returns the verb.
func NewTargets(env cli.Environment) *cobra.Command {
	o := &targetsVerb{Options: New(env)}
	o.Required = "a bundle is required: bundle/NAME"
	c := &cobra.Command{Use: "targets bundle/NAME ...", Short: "Show which clusters a bundle targets, and why",
		ValidArgsFunction: input.CompleteBundles}
	o.Setup(c, o, "Namespace of the bundles; without it, all namespaces")
	return c
}

// targetsVerb are what the verb runs with.
type targetsVerb struct {
	*Options
	bundles []input.Object
}

// Complete implements cli.Options.
func (o *targetsVerb) Complete(args []string) (err error) {
	for _, arg := range input.KindNames(args) {
		if kind, _, _ := strings.Cut(arg, "/"); !input.IsBundle(kind) || kind == arg {
			return &cli.Error{Status: cli.ExitUsage, Hint: input.NearKind(arg),
				Err: fmt.Errorf("parsing argument %q: it must be bundle/NAME", arg)}
		}
	}
	o.bundles, err = input.ParseObjects(args, *o.Config.Namespace)
	return err
}

// Run implements cli.Options.
func (o *targetsVerb) Run(ctx context.Context) error {
	result, err := Show(ctx, o.Options, func(in *input.Reading) (*report.Targets, error) {
		read := query.TargetsOptions{Namespace: o.bundles[0].Namespace, Version: o.Version, Progress: in.Report}
		return query.Targets(ctx, in.Source, read, o.bundles)
	}, printers.Targets)
	if err != nil {
		return err
	}
	if unread := report.Undecided(result.Gaps); unread != "" {
		return &cli.Error{Status: cli.ExitFailed, Err: errors.New("not everything was read: " + unread)}
	}
	for _, b := range result.Bundles {
		if b.Summary.Unknown > 0 {
			return &cli.Error{Status: cli.ExitFailed,
				Err: fmt.Errorf("it is not known whether bundle %s/%s targets %d of "+
					"its clusters", b.Namespace, b.Name, b.Summary.Unknown)}
		}
	}
	return nil
}
