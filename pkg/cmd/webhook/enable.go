// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

type enableOptions struct{ change }

func newEnable(env verb.Environment) *cobra.Command {
	o := &enableOptions{newChange(env, enableRights)}
	c := newCommand(o, &cobra.Command{Use: "enable", Short: "Enable the admission webhook again after disable"})
	o.addFlags(c, "Namespace of the installation (default the one where it is found)")
	o.dryRun.AddTo(c, "dry-run", dryRunApplyUsage)
	return c
}

// Run implements verb.Options.
func (o *enableOptions) Run(ctx context.Context) error {
	in, err := o.open(ctx)
	if err != nil {
		return err
	}
	if in.helm.Last == nil {
		return exit.Failure(fmt.Errorf("there is no Helm release of the webhook in namespace %s", in.Namespace),
			"To install it: "+o.Command("webhook install"))
	}
	objects, err := in.helm.Manifest()
	if err != nil {
		return err
	}
	if o.dryRun.String() != dryRunClient {
		if err := in.helm.Restore(o.isDryRun()); err != nil {
			return err
		}
	}
	for _, d := range objects {
		if installation.IsConfiguration(d) {
			o.report(installation.RefOf(d), "applied")
		}
	}
	return nil
}
