// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

type statusOptions struct{ connection }

func newStatus(env verb.Environment) *cobra.Command {
	o := &statusOptions{newConnection(env, statusRights)}
	c := newCommand(o, &cobra.Command{Use: "status", Short: "Report the state of the admission webhook"})
	o.addFlags(c, namespaceUsage)
	o.addPrintFlags(c)
	return c
}

// Run implements verb.Options.
func (o *statusOptions) Run(ctx context.Context) error {
	cluster, err := o.connect(nil)
	if err != nil {
		return err
	}
	in, err := cluster.Find(ctx)
	if unreachable(err) {
		return err // once, not for each object that could not be read
	}
	if err != nil {
		in = &installation.Installation{} // the status shows which objects could not be read
	}
	namespace := o.namespaceOr(in.Namespace)
	facts, err := cluster.Read(ctx, namespace, manifestOf(cluster, namespace, in.Release), o.Now())
	if err != nil {
		return err
	}
	s := installation.Evaluate(facts)
	d := document{content: s, rows: []any{s}, table: func(w io.Writer) { o.printTable(o.paragraphs(w), s) }}
	for _, webhook := range s.Webhooks {
		d.names = append(d.names, escape.Line(webhook.Name))
	}
	switch s.State {
	case installation.Wrong:
		return o.printResult(ctx, d, exit.Found)
	case installation.Unknown:
		return o.printResult(ctx, d, exit.Failed)
	}
	return o.printResult(ctx, d, exit.OK)
}

// manifestOf reads the manifest of a Helm release.
func manifestOf(cluster *installation.Cluster, namespace, release string) installation.Manifest {
	helm, err := cluster.Helm(namespace, release)
	if err != nil {
		return installation.Manifest{Reason: installation.ReasonOf(err)}
	}
	objects, err := helm.Manifest()
	return installation.Manifest{Objects: objects, Reason: installation.ReasonOf(err)}
}

func (o *statusOptions) printTable(w paragraphs, s *installation.Status) {
	fmt.Fprintf(w, "Namespace:  %s\n", escape.Line(s.Namespace))
	if s.Image != "" {
		fmt.Fprintf(w, "Image:      %s\n", escape.Line(s.Image))
	}
	if s.Release != "" {
		fmt.Fprintf(w, "Release:    %s, by Fleet\n", escape.Line(s.Release))
	}
	fmt.Fprintf(w, "State:      %s\n\n", s.State)
	for _, c := range s.Checks {
		head := fmt.Sprintf("%-8s %-12s ", c.State, c.Name)
		w.wrap(head, c.Message)
		for _, text := range c.Details {
			w.wrap(strings.Repeat(" ", len(head))+"- ", text)
		}
	}
	if s.Installed != nil && !*s.Installed {
		fmt.Fprintf(w, "\nTo install it: %s\n", o.Command("webhook install"))
	}
}
