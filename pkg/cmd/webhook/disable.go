// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const disableLong = `Stop all calls of the webhook in an emergency: delete both webhook configurations, and nothing else. The
command does not ask for confirmation. It depends on nothing that runs in the cluster, and works while the
webhook hangs: the API server calls no webhook for requests about webhook configurations.

The Deployment, the certificate and the roles are kept. webhook enable creates the configurations again.

Exit status: 0 the API server does not call the webhook, 2 wrong usage, 3 not finished.`

type disableOptions struct{ change }

func newDisable(env verb.Environment) *cobra.Command {
	o := &disableOptions{newChange(env, disableRights)}
	c := newCommand(o, &cobra.Command{Use: "disable", Short: "Stop all calls of the admission webhook at once", Long: disableLong, Example: fmt.Sprintf("  %[1]s webhook disable", env.Name)})
	o.addFlags(c, "Ignored: webhook configurations are cluster-scoped")
	o.dryRun.AddTo(c, "dry-run", dryRunDeleteUsage)
	return c
}

// Run implements verb.Options.
func (o *disableOptions) Run(ctx context.Context) error {
	cluster, err := o.connect(nil)
	if err != nil {
		return err
	}
	configurations, err := cluster.Configurations(ctx)
	if err != nil {
		return err
	}
	if err := cluster.Disable(ctx, configurations, o.mode(), o.report); err != nil {
		return err
	}
	o.printFleetNote(configurations)
	switch {
	case len(configurations) == 0:
		fmt.Fprintf(o.Streams.ErrOut, "No webhook configuration has the label %s: the API server does not call the webhook.\n", installation.Selector)
	case o.mode() != installation.DryRunNone:
		return nil
	default:
		fmt.Fprintln(o.Streams.ErrOut, "The API server no longer calls the webhook.")
	}
	o.printEnable(ctx, cluster, configurations)
	return nil
}

// hintTimeout is the time limit of the reads for a hint.
const hintTimeout = 3 * time.Second

// printEnable prints how to enable an installation again, if there is one.
func (o *disableOptions) printEnable(ctx context.Context, cluster *installation.Cluster, configurations []*unstructured.Unstructured) {
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	namespace, err := cluster.NamespaceOf(ctx, configurations)
	if (err != nil || namespace == "") && len(configurations) == 0 {
		return
	}
	deployment, _ := cluster.Deployment(ctx, namespace) // nil after an error
	release := ""
	for _, u := range append(configurations, deployment) {
		release = cmp.Or(release, installation.ReleaseOf(u))
	}
	if release != "" { // Fleet would overwrite what enable writes
		_, name, _ := strings.Cut(release, "/")
		fmt.Fprintf(o.Streams.ErrOut, "To enable it again, resume the bundle. Fleet deploys it with its next deploy, or at once if correctDrift is on:\n"+
			"  kubectl patch bundles.fleet.cattle.io %s -n WORKSPACE --type=merge -p '{\"spec\":{\"paused\":false}}'\n", name)
		return
	}
	condition, command := "", o.Command("webhook enable")
	if len(configurations) == 0 {
		condition = ", with --exact if it was installed with it"
	} else if installation.OptionsOf(namespace, nil, configurations...).Exact {
		command += " --exact"
	}
	fmt.Fprintf(o.Streams.ErrOut, "To enable it again%s:\n  %s\n", condition, command)
}
