// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Complete implements cli.Options.
func (o *options) Complete(args []string) (err error) {
	targets, names, err := input.Split(args, *o.Config.Namespace)
	if err != nil {
		return err
	}
	if o.auditOptions, err = o.scope.ToOptions(targets, names...); err != nil {
		return err
	}
	o.auditOptions.Names = names
	o.auditOptions.Commands.Audit += o.Clusters.Args()
	o.auditOptions.Commands.Why += o.Clusters.Args()
	o.auditOptions.Commands.Repair += o.Clusters.Args()
	scoped := o.scope.Args(args)
	o.Document.Again = o.auditOptions.Commands.Audit + scoped
	o.Document.Repair = o.auditOptions.Commands.Repair + scoped
	o.auditOptions.Parents = true
	o.auditOptions.ServerCheck, o.auditOptions.StatusOnly = collect.ServerCheck(o.serverCheck.String()), o.statusOnly
	o.selected, err = o.filter.ToFilter()
	return err
}

// Validate implements cli.Options.
func (o *options) Validate() error {
	if o.Captured() && o.Changed(serverCheckFlag) {
		return errors.New("--snapshot and --" + serverCheckFlag + " are mutually exclusive: a snapshot has no server")
	}
	if name := o.objectFlag(); o.statusOnly && name != "" {
		return fmt.Errorf("--%s and --%s are mutually exclusive: the first reads no release record and no live object",
			statusOnlyFlag, name)
	}
	if err := o.checkBy(); err != nil {
		return err
	}
	for _, name := range []string{byFlag, summaryFlag, "diff"} {
		if o.Format == treeFormat && o.Changed(name) {
			return fmt.Errorf("--%s and --output=%s are mutually exclusive", name, treeFormat)
		}
	}
	switch {
	case len(o.auditOptions.Names) > 0 && o.Changed("filename"):
		return errors.New("-f and objects are mutually exclusive: the directory is the scope")
	case len(o.auditOptions.Names) > 0 && o.statusOnly:
		return fmt.Errorf("--%s and objects are mutually exclusive: release records show which bundle desires an "+
			"object", statusOnlyFlag)
	case o.summary && o.All():
		return errors.New("--" + summaryFlag + " and --all are mutually exclusive")
	case o.summary && o.Changed("diff"):
		return errors.New("--" + summaryFlag + " and --diff are mutually exclusive: the first shows only totals")
	case o.summary && !o.ForPeople():
		return fmt.Errorf("--%s and --output=%s are mutually exclusive: use --output=jsonpath={.summary}", summaryFlag,
			o.Format)
	}
	return nil
}

// checkBy refuses --by where no overview is shown.
func (o *options) checkBy() error {
	if o.by.String() == "" {
		return nil
	}
	if !o.ForPeople() {
		return fmt.Errorf("--%s and --output=%s are mutually exclusive: the first is about the table", byFlag, o.Format)
	}
	for name, given := range map[string]bool{summaryFlag: o.summary, "diff": o.Changed("diff")} {
		if given {
			return fmt.Errorf("--%s and --%s are mutually exclusive", byFlag, name)
		}
	}
	return nil
}

// objectFlag is the first flag on the command line that has an effect only if objects are read, "" without one.
func (o *options) objectFlag() string {
	for _, name := range []string{"desired", "filename", "diff", serverCheckFlag, "agent-scope"} {
		if o.Changed(name) {
			return name
		}
	}
	return ""
}

// Run implements cli.Options.
func (o *options) Run(ctx context.Context) error {
	if o.printRBAC {
		return o.printRole(ctx)
	}
	if err := o.scope.LoadDirectory(&o.auditOptions); err != nil {
		return err
	}
	if err := o.load(o.Changed(ignoreFileFlag)); err != nil {
		return err
	}
	shown := &o.Document
	shown.Summary, shown.PrintRole = o.summary, o.auditOptions.Commands.PrintRole
	shown.By, shown.Details = o.by.String(), o.auditOptions.Commands.Audit
	shown.ReadClusters = o.Clusters.Suggest(shown.Again)
	document := printers.Audit
	if o.Format == treeFormat {
		document = printers.Tree
	} else if o.Clusters.Args() != "" { // who named clusters knows how
		shown.ReadClusters = ""
	}
	if o.Watching() {
		return o.Repeat(ctx, o.read, document)
	}
	found, err := o.read(ctx)
	if err != nil {
		return err
	}
	if err := o.Print(ctx, document(found.Report, o.Document)); err != nil {
		return err
	}
	return found.Status
}

// read audits the source.
func (o *options) read(ctx context.Context) (*query.Audited, error) {
	in, err := o.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer in.Clear()
	if in.Cluster != nil {
		o.auditOptions.Server = in.Cluster
	}
	o.auditOptions.Progress, o.auditOptions.Clusters = in.Report, o.Clusters.Clusters(in.Source)
	found, err := engine.Run(ctx, in.Source, o.auditOptions)
	if err != nil {
		return nil, o.Explain(err)
	}
	result := o.withoutIgnored(found.Unmerged()).Merged()
	selected := o.selected
	if selected.Since, err = o.filter.Since(result.TakenAt); err != nil {
		return nil, cli.UsageError(err)
	}
	result = result.Filtered(selected)
	return &query.Audited{Report: result, Status: o.status(found, result)},
		output.Sort(o.PrintFlags, result.BundleDeployments)
}

// printRole prints the role of --print-rbac. If the source cannot be opened, the role has the usual kinds.
func (o *options) printRole(ctx context.Context) error {
	progress := o.StartProgress()
	defer progress.Clear()
	src, _, err := o.Open(ctx)
	if cli.ExitStatus(err) == cli.ExitUsage {
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

// reported reports whether the exit status is that of findings although no bundle deployment has a result: the user may
// not read what is deployed, and Fleet reports some of it as not ready.
func (o *options) reported(noResult error, a *report.Audit) bool {
	unread, ok := errors.AsType[*evaluate.NoResultError](noResult)
	if !ok || o.requireComplete || unread.Reason != string(source.Forbidden) {
		return false
	}
	return slices.ContainsFunc(a.Findings, func(f report.Finding) bool {
		return codes.Is(f.Code, codes.SaysNotReady) && o.fails(f.Severity)
	})
}

// fails reports whether findings of a severity decide the exit status.
func (o *options) fails(s report.Severity) bool {
	fail := o.failOn.String()
	return fail != "none" && s.Compare(report.Severity(fail)) <= 0
}

// status returns the error with the exit status of a report.
func (o *options) status(found *engine.Audit, a *report.Audit) error {
	if err := found.NoResult(); err != nil && !o.reported(err, a) {
		return cli.Failure(err, o.noResultHint(err))
	}
	if unread := a.GapText(); o.requireComplete && unread != "" {
		return &cli.Error{Status: cli.ExitFailed, Err: errors.New("the audit is not complete: " + unread)}
	}
	if n := found.Coverage().OnOtherCluster; o.requireComplete && n > 0 && !o.statusOnly {
		return &cli.Error{Status: cli.ExitFailed,
			Err: fmt.Errorf("the audit is not complete: %s on clusters that were "+
				"not read", report.Plural(n, "bundle deployment"))}
	}
	f := a.Summary.Findings
	failing := map[string]int{"error": f.Error, "warning": f.Error + f.Warning, "info": f.Error + f.Warning +
		f.Info}[o.failOn.String()]
	if failing > 0 {
		return &cli.Error{Status: cli.ExitFound, Shown: true}
	}
	if why := found.Undecided(); why != "" && o.failOn.String() != "none" {
		return cli.Failure(errors.New("nothing was found, but not everything was read: "+why),
			"--fail-on=none accepts this: the exit status then says nothing about findings.")
	}
	return nil
}

// withoutIgnored returns a report without the findings that the ignore file removes.
func (o *options) withoutIgnored(a *report.Audit) *report.Audit {
	if o.ignore == nil {
		return a
	}
	out := o.ignore.Apply(a, o.Now())
	if n := out.Summary.Ignored; n > 0 && o.implied { // the user may not know the file
		out.Notes = append(out.Notes,
			fmt.Sprintf("%s in the current directory ignores %d of the findings; --%s='' shows them", o.ignoreFile, n,
				ignoreFileFlag))
	}
	return out
}
