// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

type uninstallOptions struct {
	options
	yes, ofFleet bool
}

// NewUninstall returns the subcommand uninstall.
func NewUninstall(env cli.Environment, component Component, short string) *cobra.Command {
	o := &uninstallOptions{options: newOptions(env, component, "It requires get, list and delete on every kind of an "+
		"installation ("+component.Verb+" install --dry-run=client lists\nthem), and update on secrets. cluster-admin has "+
		"all of them.")}
	c := NewCommand(o, &cobra.Command{Use: "uninstall", Short: short})
	o.addFlags(c, namespaceUsage)
	o.dryRun.AddTo(c, "dry-run",
		"Only print what would be deleted (client), or also let the server check it (server)")
	if component.Outlives {
		c.Flags().BoolVar(&o.ofFleet, DeployedByFleet, false, "Also remove what Fleet deployed: for objects that it "+
			"has kept when their bundle was removed. If the bundle exists, Fleet deploys them again")
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "Delete without asking")
	return c
}

// Run implements cli.Options.
func (o *uninstallOptions) Run(ctx context.Context) error {
	in, err := o.open(ctx, o.ofFleet)
	if err != nil {
		return err
	}
	targets, err := in.cluster.Objects(ctx, o.component.Chart, in.Namespace)
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
	uninstallErr := in.helm.Uninstall()
	rest, err := in.cluster.Objects(ctx, o.component.Chart, in.Namespace)
	if err != nil {
		return errors.Join(uninstallErr, err)
	}
	for _, t := range install.Without(targets, rest) {
		o.reportDeleted(install.RefOf(t))
	}
	if err := errors.Join(uninstallErr, o.remove(ctx, in.cluster, rest)); err != nil {
		return err
	}
	fmt.Fprintf(o.Streams.ErrOut, "Namespace %[1]s is kept: %[2]s. If nobody needs them:\n"+
		"  kubectl delete namespace %[1]s\n", in.Namespace, o.component.Kept)
	return nil
}

// confirm prints what will be deleted, and asks. It returns nil if the user agrees.
func (o *uninstallOptions) confirm(ctx context.Context, targets []*unstructured.Unstructured) error {
	if o.yes || o.isDryRun() {
		return nil
	}
	fmt.Fprintln(o.Streams.ErrOut, "To be deleted:")
	for _, t := range targets {
		fmt.Fprintf(o.Streams.ErrOut, "  %s\n", nameOf(install.RefOf(t)))
	}
	if !output.IsTerminal(o.Streams.In) {
		return &cli.Error{Status: cli.ExitFound, Err: errors.New("nothing was deleted: standard input is not a terminal"),
			Hint: "--yes deletes without asking."}
	}
	yes, err := output.Ask(ctx, o.Streams, fmt.Sprintf("Delete these objects (%d)?", len(targets)))
	switch {
	case err != nil:
		fmt.Fprintln(o.Streams.ErrOut, "interrupted: nothing was deleted")
		return &cli.Error{Status: cli.ExitFailed, Err: err, Shown: true}
	case !yes:
		return &cli.Error{Status: cli.ExitFound, Err: errors.New("nothing was deleted")}
	}
	return nil
}
