// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/guard"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

const disableLong = `The way out when things burn: delete both webhook configurations, so that the API server calls the webhook
no more, and nothing else. It asks nobody, needs nothing that runs, and works while the webhook hangs:
requests about webhook configurations pass through no webhook.

Deployment, certificate and roles stay; webhook install brings it back.

Exit status: 0 the API server does not call it, 2 wrong usage, 3 it could not be finished.`

// disableOptions mirror the command line.
type disableOptions struct {
	connection

	dryRun *flags.Enum
}

func newDisable(env origin.Environment) *cobra.Command {
	o := &disableOptions{connection: newConnection(env), dryRun: newDryRun()}
	c := &cobra.Command{
		Use:               "disable",
		Short:             "Have the API server call the webhook no more, at once",
		Long:              disableLong,
		Example:           fmt.Sprintf("  %[1]s webhook disable", env.Name),
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	o.add(c, "Of no meaning here, and taken all the same: the configurations are in no namespace")
	c.Flags().Var(o.dryRun, "dry-run", "Only say what would be deleted, or have the server check it and delete nothing")
	return complete(c, map[string]*flags.Enum{"dry-run": o.dryRun})
}

func (o *disableOptions) run(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return exit.UsageError(err)
	}
	cluster, err := o.open(nil)
	if err != nil {
		return err
	}
	targets, err := cluster.Configurations(ctx)
	if err != nil {
		return o.explain(err)
	}
	if len(targets) == 0 {
		fmt.Fprintf(o.Streams.ErrOut, "No webhook configuration carries the label %s: the API server calls no webhook of fleetdoctor's.\n", install.Selector)
		return nil
	}
	tell := func(r object.Ref) { fmt.Fprintf(o.Streams.Out, "%s deleted%s\n", nameOf(r), dryRunMark(o.dryRun)) }
	if o.dryRun.String() == dryRunClient {
		for _, t := range targets {
			tell(t.Ref)
		}
	} else if err := cluster.Disable(ctx, targets, o.dryRun.String() == dryRunServer, tell); err != nil {
		return o.explain(err)
	}
	fmt.Fprint(o.Streams.ErrOut, fleetNote(targets))
	if o.dryRun.String() == dryRunNone {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		fmt.Fprintf(o.Streams.ErrOut, "The API server does not call the webhook any more. To bring it back as it was:\n  %s%s\n",
			o.Command("webhook install"), installFlags(cluster.Options(limited, targets)))
	}
	return nil
}

// patience is how long a hint may take.
const patience = 3 * time.Second

// installFlags are the flags of webhook install that lead to an installation, those at their defaults apart.
func installFlags(made install.Options) string {
	text := ""
	add := func(unlike bool, flag, value string) {
		if unlike {
			text += " --" + flag + "=" + shellescape.Quote(value)
		}
	}
	add(made.Namespace != install.Namespace, "namespace", made.Namespace)
	add(made.Certificates == install.CertManager, "certificates", string(made.Certificates))
	add(made.Exact, "exact", "true")
	add(len(made.ReleaseNamespaces) > 0, "release-namespaces", strings.Join(made.ReleaseNamespaces, ","))
	add(made.GuardDefault != "" && made.GuardDefault != guard.Warn, "guard-default", string(made.GuardDefault))
	add(made.Image != "" && made.Image != install.Image, "image", made.Image)
	add(made.Replicas != 0 && made.Replicas != install.Replicas, "replicas", strconv.Itoa(made.Replicas))
	return text
}
