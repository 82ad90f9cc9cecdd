// SPDX-License-Identifier: Apache-2.0

// Package query is the part that the verbs share that read a source and print one document about named objects.
package query

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/watch"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
)

// Options are the flags of such a verb, and what Complete makes of them. Make them with New.
type Options struct {
	*input.Flags
	// Document are the options of the printed document. A verb may set more of them before it prints.
	Document printers.Options

	print         *output.PrintFlags
	printer       output.Printer
	allNamespaces bool
	watch         *watch.Flags // nil for a verb without --watch
}

// New returns the options of a verb.
func New(env verb.Environment) *Options {
	return &Options{Flags: input.New(env), print: output.NewPrintFlags()}
}

// Setup completes a command that has Use and Short: its arguments, its flags, and the steps of v.
func (o *Options) Setup(c *cobra.Command, v verb.Options, namespaceUsage string) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.RunE = verb.RunE(v)
	o.AddFlags(c.Flags(), namespaceUsage)
	o.print.AddFlags(c)
	o.print.AddColorFlag(c)
	o.print.AddViewFlags(c)
	c.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "All namespaces; the default")
	return c
}

// AddSortFlag adds the flag --sort-by. rows are the elements of the document, example is one of their fields.
func (o *Options) AddSortFlag(c *cobra.Command, rows, example string) {
	o.print.AddSortFlag(c, rows, example)
}

// AddRowsFlag adds the flag --rows, for a document with several lists. first is the default.
func (o *Options) AddRowsFlag(c *cobra.Command, document any, first string) {
	o.print.AddRowsFlag(c, document, first)
}

// AddWatchFlags adds the flags of a watch, for a verb that calls Watch.
func (o *Options) AddWatchFlags(c *cobra.Command) {
	o.watch = &watch.Flags{}
	o.watch.AddFlags(c)
}

// Sort sorts the rows of a document by --sort-by.
func Sort[T any](o *Options, rows []T) error { return output.Sort(o.print, rows) }

// Complete parses the flags of the output.
func (o *Options) Complete() error {
	err := scope.CheckNamespace(*o.Config.Namespace, o.allNamespaces)
	if err != nil {
		return err
	}
	o.printer, err = o.print.ToPrinter()
	o.NoProgress, o.Document.NoHeaders, o.Document.Sorted = o.print.Quiet(), !o.print.Headers(), o.print.Sorted()
	o.Document.Colour, o.Document.Width = o.print.Coloured(o.Streams.Out), o.print.Width(o.Streams.Out)
	o.Document.PrintRole = o.Commands().PrintRole
	return err
}

// Validate implements verb.Options.
func (o *Options) Validate() error {
	if o.watch == nil {
		return nil
	}
	return o.watch.Validate(o.Captured(), o.print)
}

// ForPeople reports whether the document is printed for people, after Complete.
func (o *Options) ForPeople() bool { return o.print.ForPeople() }

// Watching reports whether --watch repeats the verb.
func (o *Options) Watching() bool { return o.watch != nil && o.watch.Enabled }

// Show reads the source with read, and prints the document of the result. If read returns both a result and an error,
// such as for one of several names, Show prints the result and returns the error.
func Show[T any](ctx context.Context, o *Options, read func(*input.Reading) (T, error),
	document func(T, printers.Options) printers.Document) (T, error) {
	var none T
	result, failed := once(ctx, o, read)
	if any(result) == any(none) {
		return result, failed
	}
	if err := o.Print(ctx, document(result, o.Document)); err != nil {
		return result, err
	}
	return result, failed
}

// Watch does what Show does until ctx ends. lines describe the changes from the result before; it is nil in the first
// round. The error is that of the status of the last result.
func Watch[T any](ctx context.Context, o *Options, read func(*input.Reading) (T, error),
	document func(T, printers.Options) printers.Document, status func(T) error,
	lines func(before *T, after T) []string) error {
	return watch.Run(ctx, o.watch, o.Environment, watch.Rounds[T]{
		Read:   func(ctx context.Context) (T, error) { return once(ctx, o, read) },
		Status: status,
		Print: func(w io.Writer, result T, width, rows int) error {
			shown := o.Document
			shown.Width, shown.Rows = width, rows
			return o.printer(w, document(result, shown))
		},
		Lines: lines,
	})
}

// once reads the source with read.
func once[T any](ctx context.Context, o *Options, read func(*input.Reading) (T, error)) (result T, err error) {
	err = o.Read(ctx, func(in *input.Reading) (err error) {
		result, err = read(in)
		return err
	})
	return result, err
}

// Print prints a document to standard output, in the format of the flags.
func (o *Options) Print(ctx context.Context, d printers.Document) error {
	return o.printer.Print(ctx, o.Streams.Out, d)
}
