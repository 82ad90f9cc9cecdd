// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

func newHistory(env cli.Environment) *cobra.Command {
	o := &historyOptions{Flags: input.New(env), print: output.NewPrintFlags()}
	c := &cobra.Command{Use: "history [BUNDLE]", Short: "Show what vanished: deleted objects and uninstalled releases",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions, RunE: cli.RunE(o)}
	o.AddFlags(c.Flags(), "Namespace of the auditor (default the one of its ClusterRoleBinding)")
	o.print.AddFlags(c)
	c.Flags().Var(&o.since, "since", "Show what vanished in the last duration, such as 2h or 3d, or since a time, "+
		"such as 2026-01-02T15:04:05Z")
	return c
}

// historyOptions are the flags, and what the subcommand runs with.
type historyOptions struct {
	*input.Flags
	print  *output.PrintFlags
	show   output.Printer
	since  output.Since
	bundle string
}

// Complete implements cli.Options.
func (o *historyOptions) Complete(args []string) (err error) {
	if len(args) > 0 {
		o.bundle = args[0]
	}
	o.show, err = o.print.ToPrinter()
	return err
}

// Validate implements cli.Options.
func (o *historyOptions) Validate() error {
	kind, name, found := strings.Cut(o.bundle, "/")
	if found && kind == "bundle" {
		o.bundle = name
	}
	if o.bundle == "" && found {
		return errors.New("the name of the bundle is empty")
	}
	return nil
}

// Run implements cli.Options.
func (o *historyOptions) Run(ctx context.Context) error {
	var h *journal.History
	err := o.Read(ctx, func(in *input.Reading) error {
		namespace, installed := *o.Config.Namespace, true
		if namespace == "" {
			var err error
			if namespace, installed, err = journal.Namespace(ctx, in.Source); err != nil {
				return err
			}
		}
		book, err := journal.Read(ctx, in.Source, namespace)
		if err != nil {
			return err
		}
		seen, err := journal.ReadSeen(ctx, in.Source)
		if err != nil {
			return err
		}
		book.Attribute(seen)
		_, read := book.Coverage.Of(namespace)
		if empty := len(book.Entries)+book.Damaged == 0; read && empty && !installed {
			return cli.Failure(errors.New("no auditor is installed, and namespace "+namespace+" has no journal"),
				o.Command("auditor install")+" installs one. It records what is deleted from then on.")
		}
		now := o.Now()
		begin, err := o.since.Begin(report.Time(now))
		if err != nil {
			return err
		}
		since, err := time.Parse(time.RFC3339, begin)
		if begin != "" && err != nil {
			return err
		}
		h = book.History(now, since, o.selects)
		h.APIVersion = report.APIVersion
		return nil
	})
	if err != nil {
		return err
	}
	if err := o.show.Print(ctx, o.Streams.Out, history{h}); err != nil {
		return err
	}
	if len(h.Gaps) > 0 {
		return &cli.Error{Status: cli.ExitFailed, Err: errors.New("not everything was read: " + h.Gaps[0].What + ": " +
			h.Gaps[0].Why())}
	}
	return nil
}

// selects reports whether an entry is about the bundle: it is named with or without its namespace.
func (o *historyOptions) selects(e *journal.Entry) bool {
	for _, key := range []string{e.Bundle, e.BundleDeployment} {
		if key == o.bundle || strings.HasSuffix(key, "/"+o.bundle) {
			return true
		}
	}
	return o.bundle == ""
}

// history is the printed document. It implements output.Document.
type history struct{ *journal.History }

// Content implements output.Document.
func (h history) Content() any { return h.History }

// Rows implements output.Document.
func (h history) Rows() any { return h.Entries }

// Names implements output.Document.
func (h history) Names(w io.Writer) error {
	for i := range h.Entries {
		for _, o := range h.Entries[i].Objects {
			fmt.Fprintln(w, escape.Line(strings.Replace(o.Key().String(), " ", "/", 1)))
		}
	}
	return nil
}

// shownObjects is the number of objects of an entry that the table shows, unless it is wide.
const shownObjects = 10

// Table implements output.Document.
func (h history) Table(w io.Writer, wide bool) error {
	w = escape.TextWriter(w)
	for i := range h.Entries {
		printEntry(w, &h.Entries[i], wide)
	}
	if len(h.Entries) == 0 {
		fmt.Fprintf(w, "The auditor in namespace %s wrote down nothing that vanished since %s.\n",
			escape.Line(h.Namespace), h.Since)
	}
	for _, g := range h.Gaps {
		fmt.Fprintf(w, "NOT READ: %s: %s: %s\n", g.What, g.Why(), g.Effect)
	}
	return nil
}

func printEntry(w io.Writer, e *journal.Entry, wide bool) {
	when, to := e.From.UTC().Format(time.DateTime), e.To.UTC().Format(time.DateTime)
	if to != when {
		when += " to " + e.To.UTC().Format(time.TimeOnly)
	}
	fmt.Fprintf(w, "%s UTC  %s  %s, release %s:%d", when, escape.Line(string(e.Event)),
		escape.Line(e.BundleDeployment), escape.Line(e.Release), e.Revision)
	if e.Cluster != "" {
		fmt.Fprintf(w, ", cluster %s", escape.Line(e.Cluster))
	}
	by := e.By
	if by == "" {
		by = "not known"
	}
	fmt.Fprintf(w, "\n  by: %s\n", escape.Line(by))
	shown := e.Objects
	if !wide {
		shown = shown[:min(len(shown), shownObjects)]
	}
	for _, o := range shown {
		fmt.Fprintf(w, "  %s", escape.Line(o.Key().String()))
		if o.LastWriter != "" {
			fmt.Fprintf(w, "  (a field was last written by %s)", escape.Line(o.LastWriter))
		}
		fmt.Fprintln(w)
	}
	switch {
	case e.Total > len(shown):
		fmt.Fprintf(w, "  %d more\n", e.Total-len(shown))
	case e.KeepResources:
		fmt.Fprintln(w, "  its objects stay if its agent uninstalled the release (keepResources)")
	case e.Total == 0:
		fmt.Fprintln(w, "  its objects are not known")
	}
}
