// SPDX-License-Identifier: Apache-2.0

// Package owner is the verb owner.
package owner

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/complete"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/owner"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	o := &options{Options: query.New(env)}
	o.Required = "an object is required: KIND/NAME"
	c := &cobra.Command{Use: "owner KIND/NAME ...", Short: "Show which bundle owns an object, and why",
		ValidArgsFunction: complete.Objects}
	o.Setup(c, o, "Namespace of the objects; without it, all namespaces")
	return c
}

// options are what the verb runs with.
type options struct {
	*query.Options
	objects []scope.Object
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) (err error) {
	o.objects, err = scope.ParseObjects(args, *o.Config.Namespace)
	return err
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	result, err := query.Show(ctx, o.Options, func(in *input.Reading) (*report.Ownership, error) {
		return owner.Of(ctx, in.Source, o.Audit(in), o.objects)
	}, printers.Ownership)
	if err != nil {
		return err
	}
	for _, x := range result.Objects {
		if x.Unknown != "" {
			return exit.Failure(fmt.Errorf("it is not known which bundle desires %s: %s", x.Key(), x.Unknown),
				o.Command("audit")+" lists what could not be read.")
		}
	}
	return nil
}
