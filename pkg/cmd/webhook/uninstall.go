// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

const uninstallLong = `Take the admission webhook off the cluster: first both configurations, so that the API server calls it no
more, then the rest, the namespace last. Only what carries the label ` + install.Selector + `
is deleted, and a namespace only if nobody else lives in it: every kind of object that can be in one is
looked for there, and where one may not be listed, the namespace is left.

What the webhook has stamped stays stamped. On a terminal it asks; elsewhere it takes --yes.

Exit status: 0 all gone, or nothing was there, 1 not done, 2 wrong usage, 3 it could not be finished.`

const uninstallExamples = `  # what would go
  %[1]s webhook uninstall --dry-run=client

  # in a script
  %[1]s webhook uninstall --yes`

// uninstallOptions mirror the command line.
type uninstallOptions struct {
	connection

	dryRun *flags.Enum
	yes    bool
}

func newUninstall(env verb.Environment) *cobra.Command {
	o := &uninstallOptions{connection: newConnection(env, uninstallRights), dryRun: newDryRun()}
	c := &cobra.Command{
		Use:               "uninstall",
		Short:             "Take the admission webhook off the cluster",
		Long:              uninstallLong,
		Example:           fmt.Sprintf(uninstallExamples, env.Name),
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	o.add(c, "Namespace that it is installed in (default where the configurations say, else "+install.Namespace+")")
	c.Flags().Var(o.dryRun, "dry-run", "Only say what would be deleted, or have the server check it and delete nothing")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "Delete without asking")
	return complete(c, map[string]*flags.Enum{"dry-run": o.dryRun})
}

func (o *uninstallOptions) run(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return exit.UsageError(err)
	}
	cluster, err := o.open(nil)
	if err != nil {
		return err
	}
	namespace, err := o.place(ctx, cluster.Cluster)
	if err != nil {
		return err
	}
	all, err := install.RenderAll(manifests.Files, namespace)
	if err != nil {
		return err
	}
	removal, err := cluster.Removal(ctx, all)
	if err != nil {
		return o.explain(err)
	}
	for _, l := range removal.Left {
		fmt.Fprintf(o.Streams.ErrOut, "%s is left: %s\n", nameOf(l.Ref), l.Why)
	}
	if len(removal.Targets) == 0 {
		fmt.Fprintf(o.Streams.ErrOut, "Nothing of the webhook is there, in namespace %s or outside of namespaces.\n", namespace)
		return nil
	}
	fmt.Fprint(o.Streams.ErrOut, fleetNote(removal.Targets))
	if agreed, err := o.agreed(ctx, removal.Targets); err != nil || !agreed {
		return err
	}
	return o.explain(o.remove(ctx, cluster.Cluster, removal.Targets))
}

func (o *uninstallOptions) remove(ctx context.Context, cluster *install.Cluster, targets []install.Target) error {
	tell := func(r object.Ref) { fmt.Fprintf(o.Streams.Out, "%s deleted%s\n", nameOf(r), dryRunMark(o.dryRun)) }
	if o.dryRun.String() == dryRunClient {
		for _, t := range targets {
			tell(t.Ref)
		}
		return nil
	}
	return cluster.Delete(ctx, targets, o.dryRun.String() == dryRunServer, tell)
}

// agreed shows what is to go, and asks, where nobody has decided yet.
func (o *uninstallOptions) agreed(ctx context.Context, targets []install.Target) (bool, error) {
	if o.yes || o.dryRun.String() != dryRunNone {
		return true, nil
	}
	fmt.Fprintln(o.Streams.ErrOut, "To be deleted:")
	for _, t := range targets {
		fmt.Fprintf(o.Streams.ErrOut, "  %s\n", nameOf(t.Ref))
	}
	if !output.IsTerminal(o.Streams.In) {
		return false, &exit.Error{Status: exit.Found, Err: errors.New("nothing was deleted: nobody can be asked"), Hint: "--yes deletes without asking."}
	}
	yes, err := output.Ask(ctx, o.Streams, fmt.Sprintf("Delete these %d objects?", len(targets)))
	if err != nil {
		fmt.Fprintln(o.Streams.ErrOut, "interrupted: nothing was deleted")
		return false, &exit.Error{Status: exit.Failed, Err: err, Shown: true}
	}
	if !yes {
		err = &exit.Error{Status: exit.Found, Err: errors.New("nothing was deleted")}
	}
	return yes, err
}
