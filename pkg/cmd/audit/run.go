// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// run parses, reads, prints and decides the exit status, in that order.
func (o *options) run(c *cobra.Command, args []string) error {
	ctx := c.Context()
	scope, err := o.Scope(args)
	if err != nil {
		return err
	}
	if o.Captured() && c.Flags().Changed(serverCheckFlag) {
		return exit.UsageError(errors.New("--snapshot and --" + serverCheckFlag + " exclude each other: a snapshot has no server to ask"))
	}
	agentScope, err := o.AgentScope()
	if err != nil {
		return err
	}
	if name := o.readsMore(c); o.statusOnly && name != "" {
		return exit.UsageError(fmt.Errorf("--%s and --%s are mutually exclusive: the first reads no release record and no live object", statusOnlyFlag, name))
	}
	commands := o.Commands()
	commands.Files = o.desired.Args()
	show, err := printers.New(o.output.String(), printers.Options{Colour: origin.Coloured(o.colour, o.Streams.Out), Diff: o.diff, PrintRole: commands.PrintRole})
	if err != nil {
		return exit.UsageError(err)
	}
	desired, files, err := o.desired.Read(scope)
	if err != nil {
		return err
	}
	found, err := o.audit(ctx, engine.Options{Scope: scope, Version: o.Version, Renderer: o.Renderer, Commands: commands, ServerCheck: collect.ServerCheck(o.serverCheck.String()),
		Desired: desired, Files: files, AgentScope: agentScope, StatusOnly: o.statusOnly})
	if err != nil || found == nil {
		return err
	}
	result := found.Report()
	if err := o.Print(ctx, func(w io.Writer) error { return show(w, result) }); err != nil {
		return err
	}
	if err := found.NoResult(); err != nil {
		return &exit.Error{Status: exit.Failed, Err: err, Hint: o.noResultHint(c, err)}
	}
	return o.status(result)
}

// noResultHint is what to do where no deployment has a result, after the report was printed.
func (o *options) noResultHint(c *cobra.Command, err error) string {
	hint := "The report names what could not be read."
	var unread *evaluate.NoResultError
	if errors.As(err, &unread) && (unread.Reason == string(source.NotInSnapshot) || unread.Reason == string(source.Forbidden)) {
		hint = o.UnreadHint(unread.Reason)
	}
	if o.readsMore(c) == "" {
		hint += "\n--" + statusOnlyFlag + " checks only the status that Fleet reports."
	}
	return hint
}

// readsMore names the first flag given that has objects read or evaluated in some way, "" where none was.
func (o *options) readsMore(c *cobra.Command) string {
	for _, name := range []string{"desired", "filename", "diff", serverCheckFlag, "agent-scope"} {
		if c.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// audit reads and judges. Where only the role was asked for, it is printed and there is no report.
func (o *options) audit(ctx context.Context, eo engine.Options) (*engine.Audit, error) {
	progress := o.Progress()
	defer progress.Clear()
	src, server, err := o.Open(ctx)
	if o.printRBAC && exit.Status(err) != exit.Usage {
		document, err := role(ctx, src, err)
		progress.Clear()
		if err == nil {
			_, err = o.Streams.Out.Write(document)
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if server != nil {
		eo.Server = server
	}
	eo.Progress = progress.Tell
	found, err := engine.Run(ctx, src, eo)
	if err != nil {
		return nil, o.Explain(err)
	}
	return found, nil
}

// status decides what the program ends with.
func (o *options) status(a *report.Audit) error {
	if o.requireComplete && len(a.Gaps) > 0 {
		return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("the audit is not complete: %d could not be read, the first is %s (%s)",
			len(a.Gaps), a.Gaps[0].What, a.Gaps[0].Why())}
	}
	f := a.Summary.Findings
	found := map[string]int{"error": f.Error, "warning": f.Error + f.Warning, "info": f.Error + f.Warning + f.Info}[o.failOn.String()]
	if found > 0 {
		return &exit.Error{Status: exit.Found, Shown: true}
	}
	return nil
}
