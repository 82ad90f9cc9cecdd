// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// Evaluated is the status of a component.
type Evaluated struct {
	// Common is the part that every chart has, and Document all of it.
	Common   *install.Status
	Document any
	// Lines are what -o name prints.
	Lines []string
}

// Evaluator reads an installation and evaluates it.
type Evaluator func(ctx context.Context, c *install.Cluster, f install.Facts) (Evaluated, error)

type statusOptions struct {
	Connection
	warnings rest.WarningHandlerWithContext
	evaluate Evaluator
}

// NewStatus returns the subcommand status. The evaluator gets the facts with the namespace and the manifest. Warnings
// of the API server go to the handler; without one they are dropped.
func NewStatus(env verb.Environment, of Component, short, rights string, warnings rest.WarningHandlerWithContext,
	e Evaluator,
) *cobra.Command {
	o := &statusOptions{NewConnection(env, of, rights), warnings, e}
	c := NewCommand(o, &cobra.Command{Use: "status", Short: short})
	o.AddFlags(c, namespaceUsage)
	o.AddPrintFlags(c)
	return c
}

// Run implements verb.Options.
func (o *statusOptions) Run(ctx context.Context) error {
	cluster, err := o.Connect(o.warnings)
	if err != nil {
		return err
	}
	in, err := cluster.Find(ctx, o.of.Chart, *o.Config.Namespace)
	facts := install.Facts{TakenAt: o.Now()}
	switch {
	case Unreachable(err), isAmbiguous(err): // once, not for each object that could not be read
		return err
	case err != nil: // the status shows which objects could not be read
		in = &install.Installation{Namespace: cmp.Or(*o.Config.Namespace, install.Namespace)}
	}
	if err != nil && *o.Config.Namespace == "" {
		facts.NamespaceReason = install.ReasonOf(err)
	}
	facts.Namespace = in.Namespace
	facts.Manifest = cluster.Manifest(o.of.Chart, in.Namespace, in.Release)
	s, err := o.evaluate(ctx, cluster, facts)
	if err != nil {
		return err
	}
	d := Document{Value: s.Document, List: []any{s.Document}, Lines: s.Lines,
		Text: func(w io.Writer) { o.printTable(o.Paragraphs(w), s.Common) }}
	switch s.Common.State {
	case install.Wrong:
		return o.PrintResult(ctx, d, exit.Found)
	case install.Unknown:
		return o.PrintResult(ctx, d, exit.Failed)
	}
	return o.PrintResult(ctx, d, exit.OK)
}

func (o *statusOptions) printTable(w Paragraphs, s *install.Status) {
	fmt.Fprintf(w, "Namespace:  %s\n", escape.Line(s.Namespace))
	if s.Image != "" {
		fmt.Fprintf(w, "Image:      %s\n", escape.Line(s.Image))
	}
	switch {
	case s.Release != "":
		fmt.Fprintf(w, "Release:    %s, by Fleet\n", escape.Line(s.Release))
	case s.HelmRelease != "":
		fmt.Fprintf(w, "Release:    %s, by Helm\n", escape.Line(s.HelmRelease))
	}
	fmt.Fprintf(w, "State:      %s\n\n", s.State)
	for _, c := range s.Checks {
		head := fmt.Sprintf("%-8s %-12s ", c.State, c.Name)
		w.Wrap(head, c.Message)
		for _, text := range c.Details {
			w.Wrap(strings.Repeat(" ", len(head))+"- ", text)
		}
	}
	if s.IsAbsent() {
		fmt.Fprintf(w, "\nTo install it: %s\n", o.subcommand("install"))
	}
}
