// SPDX-License-Identifier: Apache-2.0

// Package explain is the verb explain.
package explain

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/suggest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/explain"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	o := &options{env: env, print: output.NewPrintFlags()}
	c := &cobra.Command{
		Use:   "explain [CODE | STATE | REASON | CAUSE ...]",
		Short: "Explain the codes, states, reasons and causes of the reports",
		Args:  cobra.ArbitraryArgs,
		RunE:  verb.RunE(o),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var words []string
			for _, t := range explain.Topics() {
				words = append(words, cobra.CompletionWithDesc(t.Name, t.What))
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
	o.print.AddFlags(c)
	o.print.AddColorFlag(c)
	return c
}

// options are the flags, and what the verb runs with.
type options struct {
	env    verb.Environment
	print  *output.PrintFlags
	show   output.Printer
	topics []report.Topic
	listed bool // no word was named
}

// Complete implements verb.Options.
func (o *options) Complete(words []string) error {
	all := explain.Topics()
	if o.listed = len(words) == 0; o.listed {
		o.topics = all
	}
	for _, word := range words {
		found := explain.Find(all, word)
		if len(found) == 0 {
			hint := suggest.Hint(word, explain.Names(all))
			if hint == "" {
				hint = o.env.Name + " explain lists all words."
			}
			return &exit.Error{Status: exit.Usage,
				Err: fmt.Errorf("%q is not a code, state, reason, cause, step, rule or "+
					"situation of a report", word), Hint: hint}
		}
		o.topics = append(o.topics, found...)
	}
	var err error
	o.show, err = o.print.ToPrinter()
	return err
}

// Validate implements verb.Options.
func (o *options) Validate() error { return nil }

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	out := o.env.Streams.Out
	document := printers.Explanation(report.NewExplanation(o.topics, o.env.Version), o.listed,
		printers.Options{Colour: o.print.Coloured(out), Width: output.Width(out)})
	return o.show.Print(ctx, out, document)
}
