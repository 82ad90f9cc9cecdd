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

type uninstallOptions struct {
	change
	yes bool
}

func newUninstall(env verb.Environment) *cobra.Command {
	o := &uninstallOptions{change: newChange(env, uninstallRights)}
	c := newCommand(o, &cobra.Command{Use: "uninstall", Short: "Remove the admission webhook from the cluster"})
	o.addFlags(c, namespaceUsage)
	o.dryRun.AddTo(c, "dry-run", dryRunDeleteUsage)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "Delete without asking")
	return c
}

// Run implements verb.Options.
func (o *uninstallOptions) Run(ctx context.Context) error {
	in, err := o.open(ctx)
	if err != nil {
		return err
	}
	targets, err := in.cluster.Objects(ctx)
	if err != nil {
		return err
	}
	if len(targets) == 0 && in.helm.Last == nil {
		fmt.Fprintf(o.Streams.ErrOut, "Nothing to remove: there is no installation in namespace %s.\n", in.Namespace)
		return nil
	}
	if err := o.confirm(ctx, targets); err != nil {
		return err
	}
	if in.helm.Last == nil || o.isDryRun() {
		return o.remove(ctx, in.cluster, targets)
	}
	if err := in.helm.Uninstall(); err != nil {
		return err
	}
	rest, err := in.cluster.Objects(ctx)
	if err != nil {
		return err
	}
	for _, t := range installation.Without(targets, rest) {
		o.reportDeleted(installation.RefOf(t))
	}
	if err := o.remove(ctx, in.cluster, rest); err != nil {
		return err
	}
	fmt.Fprintf(o.Streams.ErrOut, "Namespace %[1]s is kept: others may have objects in it. If nobody needs them:\n"+
		"  kubectl delete namespace %[1]s\n", in.Namespace)
	return nil
}

// confirm prints what will be deleted, and asks. It returns nil if the user agrees.
func (o *uninstallOptions) confirm(ctx context.Context, targets []*unstructured.Unstructured) error {
	if o.yes || o.isDryRun() {
		return nil
	}
	fmt.Fprintln(o.Streams.ErrOut, "To be deleted:")
	for _, t := range targets {
		fmt.Fprintf(o.Streams.ErrOut, "  %s\n", nameOf(installation.RefOf(t)))
	}
	if !output.IsTerminal(o.Streams.In) {
		return &exit.Error{Status: exit.Found, Err: errors.New("nothing was deleted: standard input is not a terminal"),
			Hint: "--yes deletes without asking."}
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
