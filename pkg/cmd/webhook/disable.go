// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

type disableOptions struct{ change }

func newDisable(env verb.Environment) *cobra.Command {
	o := &disableOptions{newChange(env, disableRights)}
	c := newCommand(o, &cobra.Command{Use: "disable", Short: "Stop all calls of the admission webhook at once"})
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
	if err := o.remove(ctx, cluster, configurations); err != nil {
		return err
	}
	o.printFleetNote(configurations)
	switch {
	case len(configurations) == 0:
		fmt.Fprintln(o.Streams.ErrOut, "No webhook configuration has the label "+installation.Selector+
			": the API server does not call the webhook.")
	case o.isDryRun():
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
func (o *disableOptions) printEnable(ctx context.Context, cluster *installation.Cluster,
	configurations []*unstructured.Unstructured,
) {
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	in, err := cluster.FindBy(ctx, configurations)
	switch {
	case err != nil || in.Namespace == "":
	case in.Fleet != "": // it would overwrite what enable writes
		_, name, _ := strings.Cut(in.Fleet, "/")
		fmt.Fprintf(o.Streams.ErrOut, "To enable it again, resume the bundle. Fleet deploys it with its next deploy, "+
			"or at once if correctDrift is on:\n  kubectl patch bundles.fleet.cattle.io %s -n WORKSPACE --type=merge "+
			"-p '{\"spec\":{\"paused\":false}}'\n", name)
	default:
		fmt.Fprintf(o.Streams.ErrOut, "To enable it again:\n  %s\n", o.Command("webhook enable"))
	}
}
