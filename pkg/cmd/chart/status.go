// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// Evaluator reads the rest of an installation and evaluates it. It returns the part that every chart has, the whole
// document, and what -o name prints.
type Evaluator func(ctx context.Context, c *install.Cluster, f install.Facts) (common *install.Status, whole any,
	names []string)

type statusOptions struct {
	options
	warnings rest.WarningHandlerWithContext
	evaluate Evaluator
}

// NewStatus returns the subcommand status. Warnings of the API server go to the handler; without one they are dropped.
func NewStatus(env cli.Environment, component Component, short, rights string,
	warnings rest.WarningHandlerWithContext, e Evaluator,
) *cobra.Command {
	o := &statusOptions{newOptions(env, component, rights), warnings, e}
	c := NewCommand(o, &cobra.Command{Use: "status", Short: short})
	o.addFlags(c, namespaceUsage)
	o.print.AddFlags(c)
	return c
}

// Run implements cli.Options.
func (o *statusOptions) Run(ctx context.Context) error {
	c, err := o.connect(o.warnings)
	if err != nil {
		return err
	}
	in, err := c.Find(ctx, o.component.Chart, *o.Config.Namespace)
	if err != nil {
		return err
	}
	facts := c.ReadFacts(o.component.Chart, in)
	facts.TakenAt = o.Now()
	s, whole, names := o.evaluate(ctx, c, facts)
	if err := ctx.Err(); err != nil {
		return err
	}
	d := document{whole, []any{whole}, names, func(w io.Writer) { o.printTable(w, s) }}
	if err := o.show.Print(ctx, o.Streams.Out, d); err != nil {
		return err
	}
	switch s.State {
	case install.Wrong:
		return &cli.Error{Status: cli.ExitFound, Shown: true}
	case install.Unknown:
		return &cli.Error{Status: cli.ExitFailed, Shown: true}
	}
	return nil
}

func (o *statusOptions) printTable(w io.Writer, s *install.Status) {
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
		o.wrap(w, head, c.Message)
		for _, text := range c.Details {
			o.wrap(w, strings.Repeat(" ", len(head))+"- ", text)
		}
	}
	if !s.Installed {
		fmt.Fprintf(w, "\nTo install it: %s\n", o.subcommand("install"))
	}
}
