// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const disableLong = `Stop all calls of the webhook in an emergency: delete both webhook configurations, and nothing else. The
command does not ask, does not depend on anything that runs in the cluster, and works while the webhook
hangs: no webhook is called for requests about webhook configurations.

Deployment, certificate and roles stay. webhook enable creates the configurations again.

Exit status: 0 the API server does not call the webhook, 2 wrong usage, 3 not finished.`

type disableOptions struct {
	connection
	dryRun dryRun
}

func newDisable(env verb.Environment) *cobra.Command {
	o := &disableOptions{newConnection(env, disableRights), newDryRun()}
	c := newCommand(o, 0, &cobra.Command{Use: "disable", Short: "Stop all calls of the admission webhook at once", Long: disableLong, Example: fmt.Sprintf("  %[1]s webhook disable", env.Name)})
	o.addFlags(c, "Ignored: webhook configurations are cluster-scoped")
	addEnum(c, o.dryRun.Enum, "dry-run", dryRunDeleteUsage)
	return c
}

// Run implements options.
func (o *disableOptions) Run(ctx context.Context) error {
	cluster, err := o.connect(nil)
	if err != nil {
		return err
	}
	targets, err := cluster.Configurations(ctx)
	if err != nil {
		return o.explain(err)
	}
	report := func(r object.Ref) { fmt.Fprintf(o.Streams.Out, "%s deleted%s\n", nameOf(r), o.dryRun.suffix()) }
	if o.dryRun.String() == dryRunClient {
		for _, t := range targets {
			report(t.Ref)
		}
	} else if err := cluster.Disable(ctx, targets, o.dryRun.String() == dryRunServer, report); err != nil {
		return o.explain(err)
	}
	if len(targets) == 0 {
		fmt.Fprintf(o.Streams.ErrOut, "No webhook configuration has the label %s: the API server does not call the webhook.\n", installation.Selector)
	} else {
		fmt.Fprint(o.Streams.ErrOut, fleetNote(targets))
		if o.dryRun.String() != dryRunNone {
			return nil
		}
		fmt.Fprintln(o.Streams.ErrOut, "The API server no longer calls the webhook.")
	}
	o.printEnable(ctx, cluster.Cluster, targets)
	return nil
}

// hintTimeout is the time limit of the reads for a hint.
const hintTimeout = 3 * time.Second

// printEnable prints how to enable an installation again, if there is one.
func (o *disableOptions) printEnable(ctx context.Context, cluster *installation.Cluster, configurations []installation.Target) {
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	namespace, err := cluster.FindNamespace(ctx, configurations)
	if (err != nil || namespace == "") && len(configurations) == 0 {
		return
	}
	deployment, err := cluster.Get(ctx, object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: installation.Name})
	release := ""
	if err == nil && deployment != nil {
		release = installation.ReleaseOf(deployment)
	}
	for _, t := range configurations {
		release = cmp.Or(t.Release, release)
	}
	switch {
	case release != "": // Fleet would overwrite what enable writes
		_, name, _ := strings.Cut(release, "/")
		fmt.Fprintf(o.Streams.ErrOut, "To enable it again, resume the bundle. Fleet deploys it with its next deployment, or at once if correctDrift is on:\n"+
			"  kubectl patch bundles.fleet.cattle.io %s -n WORKSPACE --type=merge -p '{\"spec\":{\"paused\":false}}'\n", name)
	case installation.OptionsOf(namespace, nil, installation.Live(configurations)...).Exact:
		fmt.Fprintf(o.Streams.ErrOut, "To enable it again:\n  %s --exact\n", o.Command("webhook enable"))
	case len(configurations) == 0:
		fmt.Fprintf(o.Streams.ErrOut, "To enable it again, with --exact if it was installed with it:\n  %s\n", o.Command("webhook enable"))
	default:
		fmt.Fprintf(o.Streams.ErrOut, "To enable it again:\n  %s\n", o.Command("webhook enable"))
	}
}
