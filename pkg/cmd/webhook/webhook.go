// SPDX-License-Identifier: Apache-2.0

// Package webhook has the verb webhook and its subcommands, which install, inspect, remove and run the admission
// webhook.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const groupLong = `When a client writes an object that a Helm release of Fleet desires, the admission webhook adds Fleet's
ownership metadata, as adopt does for existing objects. It warns, or denies the request, if another user
removes this metadata.

No cluster depends on the webhook: while it does not answer, requests continue without it. If it causes
problems, webhook disable stops all calls of it at once.`

// NewCommand returns the verb and its subcommands.
func NewCommand(env verb.Environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "webhook",
		Short: "Install, inspect and remove the webhook that keeps Fleet's ownership metadata",
		Long:  groupLong,
		Args:  verb.NoCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(newInstall(env), newUninstall(env), newStatus(env), newTest(env), newDisable(env), newEnable(env), newServe(env))
	return c
}

// subcommand has the options of a subcommand.
type subcommand interface {
	verb.Options
	// explain adds a hint to an error of Run.
	explain(err error) error
}

// newCommand completes a command that has no arguments unless c.Args is set.
func newCommand(o subcommand, c *cobra.Command) *cobra.Command {
	c.ValidArgsFunction = cobra.NoFileCompletions
	if c.Args == nil {
		c.Args = verb.NoCommand
	}
	run := verb.RunE(o)
	c.RunE = func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if explained := (*exit.Error)(nil); err == nil || errors.As(err, &explained) {
			return err
		}
		return o.explain(err)
	}
	return c
}

// change has the flags of a subcommand that changes an installation. Subcommands embed it.
type change struct {
	connection
	dryRun *flags.Enum
}

// The values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client" // no request that writes
	dryRunServer = "server" // Helm and the server check the change, and nothing is stored
)

func newChange(env verb.Environment, rights string) change {
	return change{newConnection(env, rights), flags.NewEnum(dryRunNone, dryRunNone, dryRunClient, dryRunServer)}
}

const (
	dryRunApplyUsage  = "Only print what would be applied (client), or also let Helm check it with the server (server)"
	dryRunDeleteUsage = "Only print what would be deleted (client), or let the server check it and delete nothing (server)"
)

// isDryRun reports whether nothing may be written.
func (o *change) isDryRun() bool { return o.dryRun.String() != dryRunNone }

// report prints what was done with an object, as kubectl does.
func (o *change) report(r object.Ref, done string) {
	switch o.dryRun.String() {
	case dryRunClient:
		done += " (dry run)"
	case dryRunServer:
		done += " (server dry run)"
	}
	fmt.Fprintf(o.Streams.Out, "%s %s\n", nameOf(r), done)
}

// remove deletes objects and reports them.
func (o *change) remove(ctx context.Context, cluster *installation.Cluster, targets []*unstructured.Unstructured) error {
	if o.dryRun.String() == dryRunClient {
		for _, t := range targets {
			o.reportDeleted(installation.RefOf(t))
		}
		return nil
	}
	return cluster.Delete(ctx, targets, o.isDryRun(), o.reportDeleted)
}

// reportDeleted is report for a deleted object.
func (o *change) reportDeleted(r object.Ref) { o.report(r, "deleted") }

// refuseFleet returns an error for an installation by Fleet.
func (o *change) refuseFleet(in *installation.Installation) error {
	if in.Fleet == "" {
		return nil
	}
	return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("Fleet deploys the webhook (release %s), and would undo the change", in.Fleet),
		Hint: "Change the values in its fleet.yaml, or remove it from the GitRepo. In an emergency: " + o.Command("webhook disable")}
}

func newGuardDefault() *flags.Enum {
	return flags.NewEnum(string(admission.GuardWarn), string(admission.GuardOff), string(admission.GuardWarn), string(admission.GuardDeny))
}

const guardDefaultUsage = "Mode of the validating handler in namespaces without the label " + admission.GuardLabel

// nameOf names an object as kubectl does when it reports a change. A RoleBinding may be in any namespace, and grants
// rights there.
func nameOf(r object.Ref) string {
	kind := strings.ToLower(r.Kind)
	r.Name, r.Namespace = escape.Line(r.Name), escape.Line(r.Namespace)
	if g := object.Group(r.APIVersion); g != "" {
		kind += "." + g
	}
	if r.Kind == "RoleBinding" {
		return kind + "/" + r.Name + " -n " + r.Namespace
	}
	return kind + "/" + r.Name
}

// printFleetNote says that Fleet deployed one of the objects and may create it again, if it did.
func (o *change) printFleetNote(objects []*unstructured.Unstructured) {
	i := slices.IndexFunc(objects, func(u *unstructured.Unstructured) bool { return installation.ReleaseOf(u) != "" })
	if i < 0 {
		return
	}
	release := installation.ReleaseOf(objects[i])
	_, name, _ := strings.Cut(release, "/")
	fmt.Fprintf(o.Streams.ErrOut, "Fleet deployed %s (release %s), and may create it again with its next deploy, or at once if\n"+
		"correctDrift is on. To prevent this, pause the bundle on the management cluster:\n"+
		"  kubectl patch bundles.fleet.cattle.io %s -n WORKSPACE --type=merge -p '{\"spec\":{\"paused\":true}}'\n"+
		"or remove it from the GitRepo.\n", nameOf(installation.RefOf(objects[i])), release, name)
}

// document is a printed document. It implements output.Document.
type document struct {
	content any
	rows    any
	names   []string
	table   func(io.Writer)
}

// Content implements output.Document.
func (d document) Content() any { return d.content }

// Rows implements output.Document.
func (d document) Rows() any { return d.rows }

// Names implements output.Document.
func (d document) Names(w io.Writer) error {
	for _, name := range d.names {
		fmt.Fprintln(w, name)
	}
	return nil
}

// Table implements output.Document.
func (d document) Table(w io.Writer, _ bool) error {
	d.table(w)
	return nil
}
