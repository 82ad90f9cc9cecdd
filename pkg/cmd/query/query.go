// SPDX-License-Identifier: Apache-2.0

// Package query has the verbs that read a source and print one document: agents, compare, impact, owner, targets and
// why. Their flags and their output are those of Options, which audit, preflight and repair also use.
package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Options are the flags of such a verb, and what the command line makes of them. Make them with New, and set what the
// verb has before Setup.
type Options struct {
	*input.Flags
	*output.PrintFlags
	// Clusters are nil for a verb that reads only its source.
	Clusters *input.ClusterFlags
	// Diff are nil for a verb without --diff.
	Diff *output.DiffFlags
	// Repeats adds the flags of a watch, for a verb that calls Repeat.
	Repeats bool
	// Writes says that the verb does not only read. It then has no flags --all, --quiet and --no-headers.
	Writes bool
	// Required is the error of a command line without arguments; empty if the verb requires none.
	Required string
	// Document are the options of the printed document. A verb may set more of them before it prints.
	Document printers.Options

	printer       output.Printer
	allNamespaces bool
	watch         output.WatchFlags
}

// New returns the options of a verb. formats are those that only this verb has.
func New(env cli.Environment, formats ...output.Format) *Options {
	return &Options{Flags: input.New(env), PrintFlags: output.NewPrintFlags(formats...)}
}

// Setup completes a command that has Use and Short: its flags, and the steps of v. The shared flags are parsed before
// the first step.
func (o *Options) Setup(c *cobra.Command, v cli.Options, namespaceUsage string) {
	c.Args = cobra.ArbitraryArgs
	c.PreRunE = func(_ *cobra.Command, args []string) error { return cli.AsUsageError(o.parse(args)) }
	c.RunE = cli.RunE(v)
	o.Flags.AddFlags(c.Flags(), namespaceUsage)
	c.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "All namespaces; the default")
	o.PrintFlags.AddFlags(c)
	o.AddColorFlag(c)
	if !o.Writes {
		o.AddViewFlags(c)
	}
	if o.Clusters != nil {
		o.Clusters.AddFlags(c.Flags())
	}
	if o.Repeats {
		o.watch.AddFlags(c)
	}
}

// Complete implements cli.Options, for a verb without arguments of its own.
func (o *Options) Complete([]string) error { return nil }

// Validate implements cli.Options.
func (o *Options) Validate() error { return nil }

// parse parses the shared flags.
func (o *Options) parse(args []string) error {
	if o.Required != "" && len(args) == 0 {
		return errors.New(o.Required)
	}
	if err := input.CheckNamespace(*o.Config.Namespace, o.allNamespaces); err != nil {
		return err
	}
	if o.Clusters != nil {
		if err := o.Clusters.Complete(); err != nil {
			return err
		}
		if err := o.Clusters.Check(); err != nil {
			return err
		}
	}
	if o.Repeats {
		if err := o.watch.Validate(o.Captured(), o.PrintFlags); err != nil {
			return err
		}
	}
	o.NoProgress = o.Quiet()
	o.Document = printers.Options{All: o.All(), NoHeaders: !o.Headers(), Sorted: o.Sorted(),
		Colour: o.Coloured(o.Streams.Out), Width: output.Width(o.Streams.Out), Rows: output.Rows(o.Streams.Out),
		PrintRole: o.Commands().PrintRole}
	if o.Diff != nil {
		if err := o.Diff.Validate(); err != nil {
			return err
		}
		ownProgram := !o.Watching() && !o.ReadOnly
		o.Diff.Set(&o.Document, o.ForPeople() && ownProgram)
	}
	var err error
	o.printer, err = o.ToPrinter()
	return err
}

// Watching reports whether --watch repeats the verb.
func (o *Options) Watching() bool { return o.watch.Enabled }

// Audit returns the options of an audit of everything in a source.
func (o *Options) Audit(in *input.Reading) engine.Options {
	out := engine.Options{Version: o.Version, Renderer: o.Renderer, Pause: o.Pause, Commands: o.Commands(),
		Progress: in.Report}
	if o.Clusters != nil {
		out.Clusters = o.Clusters.Clusters(in.Source)
		out.Commands.Audit += o.Clusters.Args()
		out.Commands.Why += o.Clusters.Args()
		out.Commands.Repair += o.Clusters.Args()
	}
	return out
}

// Show reads the source with read, and prints the document of the result. If read returns both a result and an error,
// such as for one of several names, Show prints the result and returns the error.
func Show[T any](ctx context.Context, o *Options, read func(*input.Reading) (T, error),
	document func(T, printers.Options) printers.Document) (T, error) {
	var none, result T
	failed := o.Read(ctx, func(in *input.Reading) (err error) {
		result, err = read(in)
		return err
	})
	if any(result) == any(none) {
		return result, failed
	}
	if err := o.Print(ctx, document(result, o.Document)); err != nil {
		return result, err
	}
	return result, failed
}

// Audited is the report of an audit, with the error that has its exit status.
type Audited struct {
	Report *report.Audit
	Status error
}

// Repeat reads, and prints the document of the report, until ctx ends.
func (o *Options) Repeat(ctx context.Context, read func(context.Context) (*Audited, error),
	document func(*report.Audit, printers.Options) printers.Document) error {
	return output.Repeat(ctx, &o.watch, o.Environment, output.Rounds[*Audited]{
		Read:   read,
		Status: func(a *Audited) error { return a.Status },
		Print: func(w io.Writer, a *Audited, width, rows int) error {
			shown := o.Document
			shown.Width, shown.Rows, shown.Redrawn = width, rows, true
			return o.printer(w, document(a.Report, shown))
		},
		Lines: func(before **Audited, after *Audited) []string {
			if before == nil {
				return output.ListChanges(nil, after.Report)
			}
			return output.ListChanges((*before).Report, after.Report)
		},
	})
}

// Print prints a document to standard output, in the format of the flags, and then the differences, if the user has a
// program for them.
func (o *Options) Print(ctx context.Context, d printers.Document) error {
	if err := o.printer.Print(ctx, o.Streams.Out, d); err != nil || o.Diff == nil {
		return err
	}
	return o.Diff.Run(ctx, o.Environment)
}

// NewOwner returns the verb.
func NewOwner(env cli.Environment) *cobra.Command {
	o := &ownerVerb{Options: New(env)}
	o.Required = "an object is required: KIND/NAME"
	c := &cobra.Command{Use: "owner KIND/NAME ...", Short: "Show which bundle owns an object, and why",
		ValidArgsFunction: input.CompleteObjects}
	o.Setup(c, o, "Namespace of the objects; without it, all namespaces")
	return c
}

// ownerVerb are what the verb runs with.
type ownerVerb struct {
	*Options
	objects []input.Object
}

// Complete implements cli.Options.
func (o *ownerVerb) Complete(args []string) (err error) {
	o.objects, err = input.ParseObjects(args, *o.Config.Namespace)
	return err
}

// Run implements cli.Options.
func (o *ownerVerb) Run(ctx context.Context) error {
	result, err := Show(ctx, o.Options, func(in *input.Reading) (*report.Ownership, error) {
		return query.Owners(ctx, in.Source, o.Audit(in), o.objects)
	}, printers.Ownership)
	if err != nil {
		return err
	}
	for _, x := range result.Objects {
		if x.Unknown != "" {
			return cli.Failure(fmt.Errorf("it is not known which bundle desires %s: %s", x.Key(), x.Unknown),
				o.Command("audit")+" lists what could not be read.")
		}
	}
	return nil
}

// NewTargets returns the verb.
func NewTargets(env cli.Environment) *cobra.Command {
	o := &targetsVerb{Options: New(env)}
	o.Required = "a bundle is required: bundle/NAME"
	c := &cobra.Command{Use: "targets bundle/NAME ...", Short: "Show which clusters a bundle targets, and why",
		ValidArgsFunction: input.CompleteBundles}
	o.Setup(c, o, "Namespace of the bundles; without it, all namespaces")
	return c
}

// targetsVerb are what the verb runs with.
type targetsVerb struct {
	*Options
	bundles []input.Object
}

// Complete implements cli.Options.
func (o *targetsVerb) Complete(args []string) (err error) {
	for _, arg := range input.KindNames(args) {
		if kind, _, _ := strings.Cut(arg, "/"); !input.IsBundle(kind) || kind == arg {
			return &cli.Error{Status: cli.ExitUsage, Hint: input.NearKind(arg),
				Err: fmt.Errorf("parsing argument %q: it must be bundle/NAME", arg)}
		}
	}
	o.bundles, err = input.ParseObjects(args, *o.Config.Namespace)
	return err
}

// Run implements cli.Options.
func (o *targetsVerb) Run(ctx context.Context) error {
	result, err := Show(ctx, o.Options, func(in *input.Reading) (*report.Targets, error) {
		read := query.Options{Namespace: o.bundles[0].Namespace, Version: o.Version, Progress: in.Report}
		return query.Targets(ctx, in.Source, read, o.bundles)
	}, printers.Targets)
	if err != nil {
		return err
	}
	if unread := report.Undecided(result.Gaps); unread != "" {
		return &cli.Error{Status: cli.ExitFailed, Err: errors.New("not everything was read: " + unread)}
	}
	for _, b := range result.Bundles {
		if b.Summary.Unknown > 0 {
			return &cli.Error{Status: cli.ExitFailed,
				Err: fmt.Errorf("it is not known whether bundle %s/%s targets %d of "+
					"its clusters", b.Namespace, b.Name, b.Summary.Unknown)}
		}
	}
	return nil
}

// NewImpact returns the verb.
func NewImpact(env cli.Environment) *cobra.Command {
	o := &impactVerb{Options: New(env)}
	o.Clusters = input.NewClusters(o.Flags)
	o.Required = "an object is required: gitrepo/NAME, helmop/NAME, bundle/NAME, bundledeployment/NAME or cluster/NAME"
	c := &cobra.Command{Use: "impact gitrepo/NAME | helmop/NAME | bundle/NAME | bundledeployment/NAME | " +
		"cluster/NAME ...", Short: "Show what a deletion removes on each cluster",
		ValidArgsFunction: input.CompleteTargets}
	o.Setup(c, o, input.NamespaceUsage)
	return c
}

// impactVerb are what the verb runs with.
type impactVerb struct {
	*Options
	objects []input.Object
}

// Complete implements cli.Options.
func (o *impactVerb) Complete(args []string) (err error) {
	if o.objects, err = input.ParseObjects(args, *o.Config.Namespace); err != nil {
		return err
	}
	for _, x := range o.objects {
		if !input.IsTargetKind(x.Kind) {
			return &cli.Error{Status: cli.ExitUsage, Hint: input.NearKind(x.String()),
				Err: fmt.Errorf("parsing argument %q: it must be gitrepo/NAME, helmop/NAME, bundle/NAME, "+
					"bundledeployment/NAME or cluster/NAME", x.Kind+"/"+x.Name)}
		}
	}
	return nil
}

// Run implements cli.Options.
func (o *impactVerb) Run(ctx context.Context) error {
	o.Document.ReadClusters = o.Clusters.Suggest(o.repeated() + o.Clusters.Args())
	result, err := Show(ctx, o.Options, func(in *input.Reading) (*report.Impact, error) {
		how := o.Audit(in)
		how.Scope.Namespace = o.objects[0].Namespace
		return query.Impact(ctx, in.Source, how, o.objects)
	}, printers.Impact)
	if err != nil {
		return err
	}
	for _, d := range result.Deletions {
		if d.Summary.Unknown > 0 || d.Unread != "" {
			return &cli.Error{Status: cli.ExitFailed, Err: errors.New("it is not known what is removed"), Shown: true}
		}
	}
	return nil
}

// repeated is the command that was called, without the flags for other clusters.
func (o *impactVerb) repeated() string {
	out := o.Command("impact")
	for _, x := range o.objects {
		out += " " + x.String()
	}
	return out
}
