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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
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

func newDisable(env verb.Environment) *cobra.Command {
	o := &disableOptions{connection: newConnection(env, disableRights), dryRun: newDryRun()}
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
		o.again(ctx, cluster.Cluster)
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
	if o.dryRun.String() != dryRunNone {
		return nil
	}
	fmt.Fprintln(o.Streams.ErrOut, "The API server does not call the webhook any more.")
	if release := releaseOf(targets); release != "" {
		fmt.Fprint(o.Streams.ErrOut, fleetBack(release))
	} else {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		fmt.Fprintf(o.Streams.ErrOut, "To bring it back as it was:\n  %s%s\n",
			o.Command("webhook install"), installFlags(cluster.Options(limited, targets)))
	}
	return nil
}

// again says how an installation comes back whose configurations are gone. They told some of its options.
func (o *disableOptions) again(ctx context.Context, cluster *install.Cluster) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	home, err := cluster.Home(ctx, nil)
	if err != nil || home == "" { // it is a hint, and nothing that was asked for
		return
	}
	deployment, err := cluster.Get(ctx, object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: home, Name: install.Name})
	if err == nil && deployment != nil && install.ReleaseOf(deployment) != "" {
		fmt.Fprint(o.Streams.ErrOut, fleetBack(install.ReleaseOf(deployment)))
		return
	}
	unknown := "Whether it was installed with --exact is not known: its configurations told that."
	if err != nil || deployment == nil {
		unknown = "What options it was installed with is not known: give them again."
	}
	fmt.Fprintf(o.Streams.ErrOut, "The rest of it is in namespace %s. To bring it back:\n  %s%s\n%s\n",
		home, o.Command("webhook install"), installFlags(install.OptionsOf(home, deployment)), unknown)
}

// releaseOf is the release of Fleet's that deployed any of the objects, "" where none did.
func releaseOf(targets []install.Target) string {
	for _, t := range targets {
		if t.Release != "" {
			return t.Release
		}
	}
	return ""
}

// fleetBack says how what Fleet deployed comes back: not by an installation, over which Fleet would write.
func fleetBack(release string) string {
	_, name, _ := strings.Cut(release, "/")
	return fmt.Sprintf("To bring it back, let the bundle be paused no more; Fleet deploys it with its next deploy, or at once where correctDrift is on:\n"+
		"  kubectl patch bundles.fleet.cattle.io %s -n WORKSPACE --type=merge -p '{\"spec\":{\"paused\":false}}'\n", name)
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
	add(made.GuardDefault != "" && made.GuardDefault != admission.GuardWarn, "guard-default", string(made.GuardDefault))
	add(made.Image != "" && made.Image != install.Image, "image", made.Image)
	add(made.Replicas != 0 && made.Replicas != install.Replicas, "replicas", strconv.Itoa(made.Replicas))
	return text
}
