// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const enableLong = `Enable a disabled webhook again: apply both webhook configurations, and nothing else. The Deployment shows the
other options of the installation, but not --exact.

Exit status: 0 enabled, 2 wrong usage, 3 not finished.`

type enableOptions struct {
	connection
	dryRun dryRun
	exact  bool
}

func newEnable(env verb.Environment) *cobra.Command {
	o := &enableOptions{connection: newConnection(env, enableRights), dryRun: newDryRun()}
	c := newCommand(o, 0, &cobra.Command{Use: "enable", Short: "Enable the admission webhook again after disable", Long: enableLong, Example: fmt.Sprintf("  %[1]s webhook enable", env.Name)})
	o.addFlags(c, "Namespace of the installation (default where it is found)")
	addEnum(c, o.dryRun.Enum, "dry-run", "Only print what would be applied (client), or let the server check it and store nothing (server)")
	c.Flags().BoolVar(&o.exact, "exact", false, "Also stamp objects without ownership metadata, in namespaces labelled fleetdoctor.io/adopt=exact")
	return c
}

// Run implements options.
func (o *enableOptions) Run(ctx context.Context) error {
	cluster, err := o.connect(nil)
	if err != nil {
		return err
	}
	namespace, err := o.findNamespace(ctx, cluster.Cluster)
	if err != nil {
		return err
	}
	desired, err := o.render(ctx, cluster.Cluster, namespace)
	if err != nil {
		return o.explain(err)
	}
	steps, err := cluster.Plan(ctx, desired)
	if err != nil {
		return o.explain(err)
	}
	fmt.Fprint(o.Streams.ErrOut, fleetNote(installation.Deployed(steps)))
	report := func(r object.Ref, outcome installation.Outcome) { printOutcome(o.Streams.Out, r, outcome, o.dryRun) }
	if o.dryRun.String() == dryRunClient {
		for _, d := range desired {
			report(installation.RefOf(d), "")
		}
		return nil
	}
	return o.explain(cluster.Apply(ctx, steps, o.dryRun.String() == dryRunServer, report))
}

// render returns the webhook configurations of the installation in a namespace.
func (o *enableOptions) render(ctx context.Context, cluster *installation.Cluster, namespace string) ([]*unstructured.Unstructured, error) {
	deployment, err := cluster.Get(ctx, object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: installation.Name})
	if err != nil {
		return nil, err
	}
	if deployment == nil {
		return nil, &exit.Error{Status: exit.Failed, Err: errors.New("the webhook is not installed in namespace " + namespace), Hint: "To install it: " + o.Command("webhook install")}
	}
	options := installation.OptionsOf(namespace, deployment)
	options.Exact = o.exact
	all, err := installation.Render(manifests.Files, options)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(d *unstructured.Unstructured) bool { return len(installation.WebhooksOf(d)) == 0 }), nil
}
