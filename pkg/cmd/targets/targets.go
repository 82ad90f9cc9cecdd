// SPDX-License-Identifier: Apache-2.0

// Package targets is the verb targets.
package targets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/targets"
)

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	o := &options{Options: query.New(env)}
	o.Required = "a bundle is required: bundle/NAME"
	c := &cobra.Command{Use: "targets bundle/NAME ...", Short: "Show which clusters a bundle targets, and why",
		ValidArgsFunction: scope.CompleteBundles}
	o.Setup(c, o, "Namespace of the bundles; without it, all namespaces")
	return c
}

// options are what the verb runs with.
type options struct {
	*query.Options
	bundles []scope.Object
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) (err error) {
	for _, arg := range scope.KindNames(args) {
		if kind, _, _ := strings.Cut(arg, "/"); !scope.IsBundle(kind) || kind == arg {
			return &exit.Error{Status: exit.Usage, Hint: scope.NearKind(arg),
				Err: fmt.Errorf("parsing argument %q: it must be bundle/NAME", arg)}
		}
	}
	o.bundles, err = scope.ParseObjects(args, *o.Config.Namespace)
	return err
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	result, err := query.Show(ctx, o.Options, func(in *input.Reading) (*report.Targets, error) {
		read := engine.Options{Namespace: o.bundles[0].Namespace, Version: o.Version, Progress: in.Report}
		return engine.Of(ctx, in.Source, read, o.bundles)
	}, printers.Targets)
	if err != nil {
		return err
	}
	if unread := report.Undecided(result.Gaps); unread != "" {
		return &exit.Error{Status: exit.Failed, Err: errors.New("not everything was read: " + unread)}
	}
	for _, b := range result.Bundles {
		if b.Summary.Unknown > 0 {
			return &exit.Error{Status: exit.Failed,
				Err: fmt.Errorf("it is not known whether bundle %s/%s targets %d of "+
					"its clusters", b.Namespace, b.Name, b.Summary.Unknown)}
		}
	}
	return nil
}
