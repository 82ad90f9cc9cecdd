// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const uninstallLong = `Remove the admission webhook from the cluster: first both webhook configurations, so that the API server no
longer calls it, then all other objects with the label ` + installation.Selector + `,
and the Secrets that cert-manager made for it.

The Namespace is kept, because others may have objects in it. The command prints how to delete it.

Ownership metadata that the webhook has written is kept. On a terminal the command asks for confirmation;
otherwise --yes is required.

Exit status: 0 removed, or nothing to remove, 1 not confirmed, 2 wrong usage, 3 not finished.`

const uninstallExamples = `  # print what would be deleted
  %[1]s webhook uninstall --dry-run=client

  # in a script
  %[1]s webhook uninstall --yes`

type uninstallOptions struct {
	change
	yes bool
}

func newUninstall(env verb.Environment) *cobra.Command {
	o := &uninstallOptions{change: newChange(env, uninstallRights)}
	c := newCommand(o, &cobra.Command{Use: "uninstall", Short: "Remove the admission webhook from the cluster", Long: uninstallLong, Example: fmt.Sprintf(uninstallExamples, env.Name)})
	o.addFlags(c, namespaceUsage)
	o.dryRun.AddTo(c, "dry-run", dryRunDeleteUsage)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "Delete without asking")
	return c
}

// Run implements verb.Options.
func (o *uninstallOptions) Run(ctx context.Context) error {
	cluster, namespace, err := o.open(ctx)
	if err != nil {
		return err
	}
	removal, err := cluster.Removal(ctx, namespace)
	if err != nil {
		return err
	}
	if len(removal.Targets) == 0 {
		fmt.Fprintf(o.Streams.ErrOut, "Nothing to remove: there is no installation in namespace %s.\n", namespace)
	} else {
		o.printFleetNote(removal.Targets)
		if err := o.confirm(ctx, removal.Targets); err != nil {
			return err
		}
		if err := cluster.Delete(ctx, removal.Targets, o.mode(), o.report); err != nil {
			return err
		}
	}
	for _, k := range removal.Kept {
		fmt.Fprintf(o.Streams.ErrOut, "%s is kept: %s\n", nameOf(k.Ref), k.Reason)
	}
	return nil
}

// confirm prints what will be deleted, and asks. It returns nil if the user agrees.
func (o *uninstallOptions) confirm(ctx context.Context, targets []*unstructured.Unstructured) error {
	if o.yes || o.mode() != installation.DryRunNone {
		return nil
	}
	fmt.Fprintln(o.Streams.ErrOut, "To be deleted:")
	for _, t := range targets {
		fmt.Fprintf(o.Streams.ErrOut, "  %s\n", nameOf(installation.RefOf(t)))
	}
	if !output.IsTerminal(o.Streams.In) {
		return &exit.Error{Status: exit.Found, Err: errors.New("nothing was deleted: standard input is not a terminal"), Hint: "--yes deletes without asking."}
	}
	yes, err := output.Ask(ctx, o.Streams, fmt.Sprintf("Delete these objects (%d)?", len(targets)))
	switch {
	case err != nil:
		fmt.Fprintln(o.Streams.ErrOut, "interrupted: nothing was deleted")
		return &exit.Error{Status: exit.Failed, Err: err, Shown: true}
	case !yes:
		return &exit.Error{Status: exit.Found, Err: errors.New("nothing was deleted")}
	}
	return nil
}
