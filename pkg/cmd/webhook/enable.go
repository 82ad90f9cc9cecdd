// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

type enableOptions struct{ chart.Change }

func newEnable(env verb.Environment) *cobra.Command {
	o := &enableOptions{chart.NewChange(env, component, chart.InstallRights)}
	c := chart.NewCommand(o, &cobra.Command{Use: "enable", Short: "Enable the admission webhook again after disable"})
	o.AddFlags(c, "Namespace of the installation (default the one where it is found)")
	o.AddDryRunApply(c)
	return c
}

// Run implements verb.Options.
func (o *enableOptions) Run(ctx context.Context) error {
	in, err := o.Open(ctx)
	if err != nil {
		return err
	}
	if in.Helm.Last == nil {
		return exit.Failure(fmt.Errorf("there is no Helm release of the webhook in namespace %s", in.Namespace),
			"To install it: "+o.Command("webhook install"))
	}
	objects, err := in.Helm.Manifest()
	if err != nil {
		return err
	}
	if !o.IsClientDryRun() {
		if err := in.Helm.Restore(o.IsDryRun()); err != nil {
			return err
		}
	}
	for _, d := range objects {
		if installation.IsConfiguration(d) {
			o.Report(install.RefOf(d), "applied")
		}
	}
	return nil
}
