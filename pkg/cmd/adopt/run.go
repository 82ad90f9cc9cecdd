// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// session is one run of the verb: what it reads, and the plan.
type session struct {
	*options
	show     printers.AdoptionPrinter
	src      source.Source
	cluster  *cluster.Cluster // nil for a snapshot
	items    []adopt.Item
	document report.Adoption // what is said of the plan, but for its objects
	secrets  *redact.Secrets
	found    *engine.Audit            // nil where there is no Fleet
	unread   int                      // deployments in scope without a result
	before   map[string]report.Counts // of the deployments in scope, by key
}

// run parses, reads, plans, asks and applies, in that order.
func (o *options) run(c *cobra.Command, args []string) error {
	if err := o.validate(c, args); err != nil {
		return exit.UsageError(err)
	}
	show, err := printers.NewAdoption(o.output.String(), printers.Options{Colour: origin.Coloured(o.colour, o.Streams.Out), Diff: o.diff,
		PrintRole: o.Commands().PrintRole, Undo: o.Command("adopt") + " --undo"})
	if err != nil {
		return exit.UsageError(err)
	}
	s := &session{options: o, show: show, secrets: &redact.Secrets{}, before: map[string]report.Counts{}}
	if err := s.plan(c.Context(), args); err != nil {
		return o.Explain(err)
	}
	agreed, err := s.decide(c.Context())
	if err == nil && agreed {
		err = s.apply(c.Context())
	}
	if err == nil && s.unread > 0 {
		return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("not complete: bundle deployments without a result: %d; which of their objects to adopt is not known", s.unread),
			Hint: s.Command("audit") + " says why (FD602, FD607)."}
	}
	return err
}

// validate refuses what contradicts itself.
func (o *options) validate(c *cobra.Command, args []string) error {
	for _, f := range []struct{ name, value string }{{"undo", o.undo}, {"confirm", o.confirm}, {"receipt", o.receipt}} {
		if f.value == "" && c.Flags().Changed(f.name) { // of a variable that is not set, and never what was meant
			return fmt.Errorf("--%s is empty", f.name)
		}
	}
	switch {
	case o.yes && o.confirm != "":
		return errors.New("--yes and --confirm exclude each other: one applies any plan, the other only that one")
	case o.Captured() && (o.yes || o.confirm != "" || o.dryRun.String() == dryRunServer):
		return errors.New("a snapshot can be planned for, not written to: leave out --yes, --confirm and --dry-run=server")
	case o.undo == "":
		return nil
	case len(args) > 0:
		return fmt.Errorf("--undo takes back all that its receipt recorded: %q is not wanted", args[0])
	}
	for _, name := range []string{"policy", "dangerous-take-from", "namespace", "selector", "receipt", "desired", "filename", "gitrepo", "path", "agent-scope"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--undo and --%s exclude each other", name)
		}
	}
	return nil
}

// plan reads what is to be read and makes the plan.
func (s *session) plan(ctx context.Context, args []string) error {
	progress := s.Progress()
	defer progress.Clear()
	var err error
	if s.src, s.cluster, err = s.Open(ctx); err != nil {
		return err
	}
	if s.undo != "" {
		return s.planUndo(ctx, progress)
	}
	targets, objects := objectTargets(args)
	scope, err := s.Scope(targets)
	if err != nil {
		return err
	}
	desired, files, err := s.desired.Read(scope)
	if err != nil {
		return err
	}
	agentScope, err := s.AgentScope()
	if err != nil {
		return err
	}
	commands := s.Commands()
	commands.Files = s.desired.Args()
	found, err := engine.Run(ctx, s.src, engine.Options{Scope: scope, Version: s.Version, Renderer: s.Renderer, Commands: commands, ServerCheck: collect.CheckNever,
		Predict: true, Desired: desired, Files: files, AgentScope: agentScope, Progress: progress.Tell})
	if err != nil {
		return err
	}
	if err := found.NoResult(); err != nil {
		return fmt.Errorf("cannot know what to adopt: %w", err)
	}
	if len(objects) == 0 { // else the named objects are all that is meant
		s.unread = found.Coverage().Unread
	}
	o := adopt.Options{Policy: ownership.Policy(s.policy.String()), TakeFrom: s.takeFrom, Pick: pick(objects, found.Kinds)}
	if names := adopt.NotOwners(found.Result, o); len(names) > 0 {
		return &exit.Error{Status: exit.Found, Err: fmt.Errorf("--dangerous-take-from=%s names no owner of an object in scope", names[0]),
			Hint: s.Command("adopt") + " shows the owners of the objects, and their names."}
	}
	s.items = adopt.Plan(found.Result, o)
	if s.items, err = settled(objects, found, s.items); err != nil {
		return err
	}
	adopt.Sort(s.items)
	s.describe(found)
	if !allSetsKnown(found.Desired) && s.count(adopt.Item.Writes) > 0 {
		s.document.Notes = append(s.document.Notes, "not every release record could be read: who else wants these objects is not fully known")
	}
	s.document.Policy, s.document.TakeFrom = string(o.Policy), s.takeFrom
	return nil
}

// describe takes over what an audit says of its source, and how its deployments stand.
func (s *session) describe(found *engine.Audit) {
	s.found, s.secrets = found, found.Secrets
	s.document = report.Adoption{TakenAt: report.Time(found.Now()), Tool: report.Tool{Version: s.Version},
		Source: report.NewSource(found.Source, found.Desired), Scope: report.NewScope(found.Scope), Gaps: report.Gaps(found.Gaps), Notes: found.Notes}
	for _, d := range found.Deployments {
		s.before[d.Key()] = report.NewCounts(d.Counts)
	}
}

// print shows the document as one of a kind.
func (s *session) print(ctx context.Context, kind string) error {
	d := s.document
	d.Kind, d.Digest, d.Undo = kind, adopt.Digest(s.items), s.undo != ""
	if n := s.dryRun.String(); n != dryRunNone {
		d.DryRun = n
	}
	d.Objects = nil
	for _, i := range s.items {
		d.Objects = append(d.Objects, i.AdoptedObject)
	}
	return s.Print(ctx, func(w io.Writer) error { return s.show(w, d.Closed(s.secrets)) })
}

// allSetsKnown says whether every set on the clusters is known.
func allSetsKnown(desired *resolve.DesiredState) bool {
	return !slices.ContainsFunc(desired.Clusters, func(c *resolve.Cluster) bool { return !c.SetsComplete })
}

// count is how many items a test holds for.
func (s *session) count(holds func(adopt.Item) bool) int {
	n := 0
	for _, i := range s.items {
		if holds(i) {
			n++
		}
	}
	return n
}

func refused(i adopt.Item) bool { return i.Action == report.ActionRefuse }
