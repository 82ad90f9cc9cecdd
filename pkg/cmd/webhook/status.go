// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

const statusLong = `Report the state of the installed webhook: its certificate, the webhook configurations, replicas and
addresses, drift from the manifests of this program, the labels of namespaces that configure it, and the
calls that one API server has counted since its start.

What could not be read is Unknown, never OK. A Note is for your information.

Exit status: 0 nothing is wrong, 1 something is wrong, 2 wrong usage, 3 unknown.`

const statusExamples = `  %[1]s webhook status

  # for a program
  %[1]s webhook status -o json`

type statusOptions struct {
	connection
	print *output.PrintFlags
	show  output.Printer
}

func newStatus(env verb.Environment) *cobra.Command {
	o := &statusOptions{connection: newConnection(env, statusRights), print: output.NewPrintFlags()}
	c := newCommand(o, 0, &cobra.Command{Use: "status", Short: "Report the state of the admission webhook", Long: statusLong,
		Example: fmt.Sprintf(statusExamples, env.Name)})
	o.addFlags(c, "Namespace of the installation (default where the configurations say, else "+installation.Namespace+")")
	o.print.AddFlags(c)
	return c
}

// Validate implements options.
func (o *statusOptions) Validate() (err error) {
	if o.show, err = o.print.ToPrinter(); err != nil {
		return err
	}
	return o.connection.Validate()
}

// Run implements options.
func (o *statusOptions) Run(ctx context.Context) error {
	cluster, err := o.connect(nil)
	if err != nil {
		return err
	}
	configurations, err := cluster.Configurations(ctx)
	if unreachable(err) {
		return o.explain(err) // once, not for each object that could not be read
	}
	if err != nil {
		configurations = nil // the status says that they could not be read
	}
	found, err := cluster.FindNamespace(ctx, configurations)
	if err != nil {
		found = "" // likewise
	}
	facts, err := cluster.reader().Read(ctx, o.namespaceOr(found), o.Now())
	if err != nil {
		return o.explain(err)
	}
	s := installation.Evaluate(facts)
	if err := o.show.Print(ctx, o.Streams.Out, statusDocument{s, o.Command("webhook install")}); err != nil {
		return err
	}
	switch s.State {
	case installation.Wrong:
		return &exit.Error{Status: exit.Found, Shown: true}
	case installation.Unknown:
		return &exit.Error{Status: exit.Failed, Shown: true}
	}
	return nil
}

// statusDocument prints a status, with the command that installs the webhook.
type statusDocument struct {
	*installation.Status
	install string
}

// Content implements output.Document.
func (d statusDocument) Content() any { return d.Status }

// Rows implements output.Document.
func (d statusDocument) Rows() any { return []any{d.Status} }

// Names implements output.Document.
func (d statusDocument) Names(w io.Writer) error {
	for _, webhook := range d.Webhooks {
		fmt.Fprintln(w, escape.Line(webhook.Name))
	}
	return nil
}

// Table implements output.Document.
func (d statusDocument) Table(w io.Writer, _ bool) error {
	fmt.Fprintf(w, "Namespace:  %s\n", escape.Line(d.Namespace))
	if d.Image != "" {
		fmt.Fprintf(w, "Image:      %s\n", escape.Line(d.Image))
	}
	if d.Release != "" {
		fmt.Fprintf(w, "Release:    %s, by Fleet\n", escape.Line(d.Release))
	}
	fmt.Fprintf(w, "State:      %s\n\n", d.State)
	for _, c := range d.Checks {
		head := fmt.Sprintf("%-8s %-12s ", c.State, c.Name)
		wrap(w, head, c.Message)
		for _, text := range c.Details {
			wrap(w, strings.Repeat(" ", len(head))+"- ", text)
		}
	}
	if d.Installed != nil && !*d.Installed {
		fmt.Fprintf(w, "\nTo install it: %s\n", d.install)
	}
	return nil
}
