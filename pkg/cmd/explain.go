// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewExplain returns the verb.
func NewExplain(env cli.Environment) *cobra.Command {
	o := &explainOptions{env: env, print: output.NewPrintFlags()}
	c := &cobra.Command{
		Use:   "explain [CODE | STATE | REASON | CAUSE ...]",
		Short: "Explain the codes, states, reasons and causes of the reports",
		Args:  cobra.ArbitraryArgs,
		RunE:  cli.RunE(o),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var words []string
			for _, t := range Topics() {
				words = append(words, cobra.CompletionWithDesc(t.Name, t.What))
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
	o.print.AddFlags(c)
	o.print.AddColorFlag(c)
	return c
}

// explainOptions are the flags, and what the verb runs with.
type explainOptions struct {
	env    cli.Environment
	print  *output.PrintFlags
	show   output.Printer
	topics []report.Topic
	listed bool // no word was named
}

// Complete implements cli.Options.
func (o *explainOptions) Complete(words []string) error {
	all := Topics()
	if o.listed = len(words) == 0; o.listed {
		o.topics = all
	}
	for _, word := range words {
		found := FindTopics(all, word)
		if len(found) == 0 {
			hint := cli.Hint(word, TopicNames(all))
			if hint == "" {
				hint = o.env.Name + " explain lists all words."
			}
			return &cli.Error{Status: cli.ExitUsage,
				Err: fmt.Errorf("%q is not a code, state, reason, cause, step, rule or "+
					"situation of a report", word), Hint: hint}
		}
		o.topics = append(o.topics, found...)
	}
	var err error
	o.show, err = o.print.ToPrinter()
	return err
}

// Validate implements cli.Options.
func (o *explainOptions) Validate() error { return nil }

// Run implements cli.Options.
func (o *explainOptions) Run(ctx context.Context) error {
	out := o.env.Streams.Out
	document := printers.Explanation(report.NewExplanation(o.topics, o.env.Version), o.listed,
		printers.Options{Colour: o.print.Coloured(out), Width: output.Width(out)})
	return o.show.Print(ctx, out, document)
}
