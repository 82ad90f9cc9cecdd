// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewOwner returns the verb.
func NewOwner(env cli.Environment) *cobra.Command {
	o := &ownerVerb{Options: New(env)}
	o.Required = "an object is required: KIND/NAME"
	c := &cobra.Command{Use: "owner KIND/NAME ...", Short: "Show which bundle owns an object, and why",
		ValidArgsFunction: input.CompleteObjects}
	o.Setup(c, o, "Namespace of the objects; without it, all namespaces")
	return c
}

// ownerVerb are what the verb runs with.
type ownerVerb struct {
	*Options
	objects []input.Object
}

// Complete implements cli.Options.
func (o *ownerVerb) Complete(args []string) (err error) {
	o.objects, err = input.ParseObjects(args, *o.Config.Namespace)
	return err
}

// Run implements cli.Options.
func (o *ownerVerb) Run(ctx context.Context) error {
	result, err := Show(ctx, o.Options, func(in *input.Reading) (*report.Ownership, error) {
		return query.Owners(ctx, in.Source, o.Audit(in), o.objects)
	}, printers.Ownership)
	if err != nil {
		return err
	}
	for _, x := range result.Objects {
		if x.Unknown != "" {
			return cli.Failure(fmt.Errorf("it is not known which bundle desires %s: %s", x.Key(), x.Unknown),
				o.Command("audit")+" lists what could not be read.")
		}
	}
	return nil
}
