// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const uninstallLong = `Remove the admission webhook from the cluster: first both webhook configurations, so that the API server no
longer calls it, then all other objects with the label ` + installation.Selector + `,
and the Secrets that cert-manager made for it.

The Namespace stays, because others may have objects in it. The command prints how to delete it.

Ownership metadata that the webhook has written stays. On a terminal the command asks first; otherwise
--yes is required.

Exit status: 0 removed, or nothing to remove, 1 not confirmed, 2 wrong usage, 3 not finished.`

const uninstallExamples = `  # see what would be deleted
  %[1]s webhook uninstall --dry-run=client

  # in a script
  %[1]s webhook uninstall --yes`

type uninstallOptions struct {
	connection
	dryRun dryRun
	yes    bool
}

func newUninstall(env verb.Environment) *cobra.Command {
	o := &uninstallOptions{connection: newConnection(env, uninstallRights), dryRun: newDryRun()}
	c := newCommand(o, 0, &cobra.Command{Use: "uninstall", Short: "Remove the admission webhook from the cluster", Long: uninstallLong, Example: fmt.Sprintf(uninstallExamples, env.Name)})
	o.addFlags(c, "Namespace of the installation (default where the configurations say, else "+installation.Namespace+")")
	addEnum(c, o.dryRun.Enum, "dry-run", dryRunDeleteUsage)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "Delete without asking")
	return c
}

const dryRunDeleteUsage = "Only print what would be deleted (client), or let the server check it and delete nothing (server)"

// Run implements options.
func (o *uninstallOptions) Run(ctx context.Context) error {
	cluster, err := o.connect(nil)
	if err != nil {
		return err
	}
	namespace, err := o.findNamespace(ctx, cluster.Cluster)
	if err != nil {
		return err
	}
	all, err := installation.RenderAll(manifests.Files, namespace)
	if err != nil {
		return err
	}
	removal, err := cluster.Removal(ctx, all)
	if err != nil {
		return o.explain(err)
	}
	if len(removal.Targets) == 0 {
		fmt.Fprintf(o.Streams.ErrOut, "Nothing to remove: there is no installation in namespace %s.\n", namespace)
		o.reportKept(removal.Kept)
		return nil
	}
	fmt.Fprint(o.Streams.ErrOut, fleetNote(removal.Targets))
	if err := o.confirm(ctx, removal.Targets); err != nil {
		return err
	}
	report := func(r object.Ref) { fmt.Fprintf(o.Streams.Out, "%s deleted%s\n", nameOf(r), o.dryRun.suffix()) }
	if o.dryRun.String() == dryRunClient {
		for _, t := range removal.Targets {
			report(t.Ref)
		}
	} else if err := cluster.Delete(ctx, removal.Targets, o.dryRun.String() == dryRunServer, report); err != nil {
		return o.explain(err)
	}
	o.reportKept(removal.Kept)
	return nil
}

func (o *uninstallOptions) reportKept(kept []installation.Kept) {
	for _, k := range kept {
		reason := map[installation.KeptReason]string{
			installation.KeptUnlabelled: "it does not have the label " + installation.Selector,
			installation.KeptDeleting:   "it is being deleted already",
			installation.KeptNamespace: "others may have objects in it. If nobody needs them:\n" +
				"  kubectl delete namespace " + k.Name,
		}[k.Reason]
		fmt.Fprintf(o.Streams.ErrOut, "%s stays: %s\n", nameOf(k.Ref), reason)
	}
}

// confirm prints what will be deleted, and asks. It returns nil if the user agrees.
func (o *uninstallOptions) confirm(ctx context.Context, targets []installation.Target) error {
	if o.yes || o.dryRun.String() != dryRunNone {
		return nil
	}
	fmt.Fprintln(o.Streams.ErrOut, "To be deleted:")
	for _, t := range targets {
		fmt.Fprintf(o.Streams.ErrOut, "  %s\n", nameOf(t.Ref))
	}
	if !output.IsTerminal(o.Streams.In) {
		return &exit.Error{Status: exit.Found, Err: errors.New("nothing was deleted: standard input is not a terminal"), Hint: "--yes deletes without asking."}
	}
	yes, err := output.Ask(ctx, o.Streams, fmt.Sprintf("Delete these %d objects?", len(targets)))
	switch {
	case err != nil:
		fmt.Fprintln(o.Streams.ErrOut, "interrupted: nothing was deleted")
		return &exit.Error{Status: exit.Failed, Err: err, Shown: true}
	case !yes:
		return &exit.Error{Status: exit.Found, Err: errors.New("nothing was deleted")}
	}
	return nil
}
