// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const enableLong = `Enable a disabled webhook again: apply both webhook configurations, and nothing else. All options of the
installation except --exact are read from the Deployment.

Exit status: 0 enabled, 2 wrong usage, 3 not finished.`

type enableOptions struct {
	change
	exact bool
}

func newEnable(env verb.Environment) *cobra.Command {
	o := &enableOptions{change: newChange(env, enableRights)}
	c := newCommand(o, &cobra.Command{Use: "enable", Short: "Enable the admission webhook again after disable", Long: enableLong, Example: fmt.Sprintf("  %[1]s webhook enable", env.Name)})
	o.addFlags(c, "Namespace of the installation (default the one where it is found)")
	o.dryRun.AddTo(c, "dry-run", dryRunApplyUsage)
	c.Flags().BoolVar(&o.exact, "exact", false, exactUsage)
	return c
}

// Run implements verb.Options.
func (o *enableOptions) Run(ctx context.Context) error {
	cluster, namespace, err := o.open(ctx)
	if err != nil {
		return err
	}
	deployment, err := cluster.Deployment(ctx, namespace)
	if err != nil {
		return err
	}
	if deployment == nil {
		return &exit.Error{Status: exit.Failed, Err: errors.New("the webhook is not installed in namespace " + namespace), Hint: "To install it: " + o.Command("webhook install")}
	}
	options := installation.OptionsOf(namespace, deployment)
	options.Exact = o.exact
	all, err := installation.Render(options)
	if err != nil {
		return err
	}
	steps, err := cluster.Plan(ctx, slices.DeleteFunc(all, func(d *unstructured.Unstructured) bool { return !installation.IsConfiguration(d) }))
	if err != nil {
		return err
	}
	o.printFleetNote(installation.Deployed(steps))
	return cluster.Apply(ctx, steps, o.mode(), o.report)
}
