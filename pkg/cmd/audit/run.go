// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// options are what the verb runs with.
type options struct {
	*auditFlags
	auditOptions engine.Options
	show         output.Printer
	selected     report.Filter
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) error {
	err := o.clusters.Complete()
	if err != nil {
		return err
	}
	if o.auditOptions, err = o.scope.ToOptions(args); err != nil {
		return err
	}
	o.auditOptions.Commands.Audit += o.clusters.Args()
	o.auditOptions.AsVersion = o.asVersion.String()
	o.auditOptions.Commands.Why += o.clusters.Args()
	o.auditOptions.ServerCheck, o.auditOptions.StatusOnly = collect.ServerCheck(o.serverCheck.String()), o.statusOnly
	if o.selected, err = o.filter.ToFilter(); err != nil {
		return err
	}
	o.NoProgress = o.print.Quiet()
	o.show, err = o.print.ToPrinter()
	return err
}

// Validate implements verb.Options.
func (o *options) Validate() error {
	if o.Captured() && o.changed(serverCheckFlag) {
		return errors.New("--snapshot and --" + serverCheckFlag + " are mutually exclusive: a snapshot has no server")
	}
	if name := o.objectFlag(); o.statusOnly && name != "" {
		return fmt.Errorf("--%s and --%s are mutually exclusive: the first reads no release record and no live object",
			statusOnlyFlag, name)
	}
	if err := o.watch.Validate(o.Captured(), o.print); err != nil {
		return err
	}
	switch {
	case o.summary && o.all:
		return errors.New("--" + summaryFlag + " and --all are mutually exclusive")
	case o.summary && o.changed("diff"):
		return errors.New("--" + summaryFlag + " and --diff are mutually exclusive: the first shows only totals")
	case o.summary && !o.print.ForPeople():
		return fmt.Errorf("--%s and --output=%s are mutually exclusive: use --output=jsonpath={.summary}", summaryFlag,
			o.print.Format)
	}
	return o.diff.Validate()
}

// objectFlag is the first flag on the command line that has an effect only if objects are read, "" without one.
func (o *options) objectFlag() string {
	for _, name := range []string{"desired", "filename", "diff", serverCheckFlag, "agent-scope"} {
		if o.changed(name) {
			return name
		}
	}
	return ""
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	if o.printRBAC {
		return o.printRole(ctx)
	}
	if err := o.clusters.Check(); err != nil {
		return err
	}
	if err := o.scope.LoadDirectory(&o.auditOptions); err != nil {
		return err
	}
	if err := o.load(o.changed(ignoreFileFlag), &o.selected, o.Command("audit")); err != nil {
		return err
	}
	if o.watch.Enabled {
		return o.repeat(ctx)
	}
	found, result, err := o.once(ctx)
	if err != nil {
		return err
	}
	if err := o.show.Print(ctx, o.Streams.Out, o.document(result, o.print.Width(o.Streams.Out), 0)); err != nil {
		return err
	}
	if err := o.diff.Run(ctx, o.Environment); err != nil {
		return err
	}
	return o.status(found, result)
}

// once reads and evaluates the source.
func (o *options) once(ctx context.Context) (*engine.Audit, *report.Audit, error) {
	var found, actual *engine.Audit
	if err := o.Read(ctx, func(in *input.Reading) (err error) {
		if in.Cluster != nil {
			o.auditOptions.Server = in.Cluster
		}
		o.auditOptions.Progress, o.auditOptions.Clusters = in.Report, o.clusters.Clusters(in.Source)
		found, actual, err = o.audit(ctx, in)
		return err
	}); err != nil {
		return nil, nil, err
	}
	result, err := o.report(found, actual)
	if err != nil {
		return nil, nil, err
	}
	result = result.Filtered(o.selected)
	return found, result, output.Sort(o.print, result.BundleDeployments)
}

// document lays out a report for an output of this width, 0 without a terminal, and for a screen with this number of
// lines, 0 without a limit.
func (o *options) document(result *report.Audit, width, rows int) printers.Document {
	shown := printers.Options{Colour: o.print.Coloured(o.Streams.Out), Width: width, Rows: rows,
		NoHeaders: !o.print.Headers(), All: o.all, Summary: o.summary,
		Sorted: o.print.Sorted(), PrintRole: o.auditOptions.Commands.PrintRole, Explain: input.Explain,
		ReadClusters: o.clusters.Suggest(o.auditOptions.Commands.Audit)}
	o.diff.Set(&shown, o.print.ForPeople() && !o.watch.Enabled)
	return printers.Audit(result, shown)
}

// printRole prints the role of --print-rbac. If the source cannot be opened, the role has the usual kinds.
func (o *options) printRole(ctx context.Context) error {
	progress := o.StartProgress()
	defer progress.Clear()
	src, _, err := o.Open(ctx)
	if exit.Status(err) == exit.Usage {
		return err
	}
	var document []byte
	if workspace := *o.Config.Namespace; workspace != "" {
		document, err = workspaceRoles(ctx, src, workspace)
	} else {
		document, err = role(ctx, src, err)
	}
	if err != nil {
		return err
	}
	progress.Clear()
	_, err = o.Streams.Out.Write(document)
	return err
}

// noResultHint returns the next step if no deployment has a result, after the report was printed.
func (o *options) noResultHint(err error) string {
	hint := "The report lists what could not be read."
	if unread, ok := errors.AsType[*evaluate.NoResultError](err); ok &&
		(unread.Reason == string(source.NotInSnapshot) || unread.Reason == string(source.Forbidden)) {
		hint = o.UnreadHint(unread.Reason)
	}
	if o.objectFlag() == "" {
		hint += "\n--" + statusOnlyFlag + " checks only the status that Fleet reports."
	}
	return hint
}

// status returns the error with the exit status of a report.
func (o *options) status(evaluated *engine.Audit, a *report.Audit) error {
	if err := evaluated.NoResult(); err != nil {
		return &exit.Error{Status: exit.Failed, Err: err, Hint: o.noResultHint(err)}
	}
	if unread := a.GapText(); o.requireComplete && unread != "" {
		return &exit.Error{Status: exit.Failed, Err: errors.New("the audit is not complete: " + unread)}
	}
	f := a.Summary.Findings
	found := map[string]int{"error": f.Error, "warning": f.Error + f.Warning, "info": f.Error + f.Warning +
		f.Info}[o.failOn.String()]
	if found > 0 {
		return &exit.Error{Status: exit.Found, Shown: true}
	}
	if unread := evaluated.Undecided(); unread != "" && o.failOn.String() != "none" {
		return &exit.Error{Status: exit.Failed, Err: errors.New("nothing was found, but not everything was read: " +
			unread),
			Hint: "--fail-on=none accepts this: the exit status then says nothing about findings."}
	}
	return nil
}
