// SPDX-License-Identifier: Apache-2.0

// Package webhook has the verb webhook and its subcommands, which install, inspect, remove and run the admission webhook.
package webhook

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const groupLong = `The admission webhook does at the time of adoption what adopt does afterwards: it writes Fleet's ownership
metadata on objects that a Helm release of Fleet desires, and warns or denies when another user removes it.

No cluster depends on it: while it does not answer, requests go on without it. If it causes problems all
the same, disable stops all calls of it at once.`

// NewCommand returns the verb and its subcommands.
func NewCommand(env verb.Environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "webhook",
		Short: "Install, inspect and remove the webhook that keeps Fleet's ownership metadata",
		Long:  groupLong,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			err := &exit.Error{Status: exit.Usage, Err: fmt.Errorf("unknown command %q", args[0])}
			if meant := c.SuggestionsFor(args[0]); len(meant) > 0 {
				err.Hint = "Did you mean " + strings.Join(meant, " or ") + "?"
			}
			return err
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(newInstall(env), newUninstall(env), newStatus(env), newTest(env), newDisable(env), newEnable(env), newServe(env))
	return c
}

// options are the options of a subcommand. Complete fills in what the flags do not say, Validate returns usage errors, Run does the work.
type options interface {
	Complete(c *cobra.Command, args []string) error
	Validate() error
	Run(ctx context.Context) error
}

// newCommand returns a subcommand that takes up to a number of arguments.
func newCommand(o options, arguments int, c *cobra.Command) *cobra.Command {
	c.ValidArgsFunction = cobra.NoFileCompletions
	c.Args = func(c *cobra.Command, args []string) error {
		check := cobra.NoArgs
		if arguments > 0 {
			check = cobra.MaximumNArgs(arguments)
		}
		if err := check(c, args); err != nil {
			return exit.UsageError(err)
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := o.Complete(c, args); err != nil {
			return err
		}
		if err := o.Validate(); err != nil {
			return exit.UsageError(err)
		}
		return o.Run(c.Context())
	}
	return c
}

// addEnum adds a flag with a few values, and its completion.
func addEnum(c *cobra.Command, e *flags.Enum, name, usage string) {
	c.Flags().Var(e, name, usage)
	_ = c.RegisterFlagCompletionFunc(name, e.Complete) // the flag exists
}

// The values of --dry-run, as in kubectl.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// dryRun is the flag --dry-run.
type dryRun struct{ *flags.Enum }

func newDryRun() dryRun {
	return dryRun{flags.NewEnum(dryRunNone, dryRunNone, dryRunClient, dryRunServer)}
}

// suffix is what kubectl prints after what it only would have done.
func (d dryRun) suffix() string {
	switch d.String() {
	case dryRunClient:
		return " (dry run)"
	case dryRunServer:
		return " (server dry run)"
	}
	return ""
}

func newGuardDefault() *flags.Enum {
	var modes []string
	for _, m := range admission.GuardModes() {
		modes = append(modes, string(m))
	}
	return flags.NewEnum(string(admission.GuardWarn), modes...)
}

const guardDefaultUsage = "What the validating handler does without a label " + admission.GuardLabel

// nameOf names an object as kubectl does when it reports a change. A RoleBinding may be in any namespace, and grants rights there.
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

// printOutcome prints the outcome of an apply for an object, as kubectl does. A dry run on the client has none.
func printOutcome(w io.Writer, r object.Ref, outcome installation.Outcome, d dryRun) {
	text := "serverside-applied"
	switch outcome {
	case "":
	case installation.Pruned:
		text = "pruned"
	case installation.Unchecked:
		text = "not checked: its namespace does not exist yet"
	default:
		text += " (" + string(outcome) + ")"
	}
	fmt.Fprintf(w, "%s %s%s\n", nameOf(r), text, d.suffix())
}

// fleetNote says that Fleet deployed objects and may create them again, "" if it did not deploy any.
func fleetNote(targets []installation.Target) string {
	for _, t := range targets {
		if t.Release == "" {
			continue
		}
		_, name, _ := strings.Cut(t.Release, "/")
		return fmt.Sprintf("Fleet deployed %s (release %s), and may create it again with its next deployment, or at once if\n"+
			"correctDrift is on. To prevent that, pause the bundle on the management cluster:\n"+
			"  kubectl patch bundles.fleet.cattle.io %s -n WORKSPACE --type=merge -p '{\"spec\":{\"paused\":true}}'\n"+
			"or remove it from the GitRepo.\n", nameOf(t.Ref), t.Release, name)
	}
	return ""
}
