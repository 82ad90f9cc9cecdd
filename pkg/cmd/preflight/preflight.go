// SPDX-License-Identifier: Apache-2.0

// Package preflight is the verb preflight: what a rollout would meet, before it is made.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const long = `Say before a rollout what Helm or Fleet's agent would refuse, and what it would take from whom.

What a bundle wants is rendered from its contents, or from the directory of -f, as Fleet's agent would,
and held against the cluster: the name of its release, who owns the objects that exist, which other
bundles want them, which fields would be overwritten and which objects deleted. It changes nothing, and
asks no server to try.

A bundle is clear to go, contested (it would be deployed, and somebody else would undo it or lose what he
has), refused (Helm or Fleet's agent would not deploy it), or not known, where not enough could be read.

Exit status: 0 nothing is in the way, 1 something would be refused or contested, 2 wrong usage, 3 it
could not be finished, or what becomes of a bundle is not known.`

const examples = `  # the bundles of one GitRepo
  %[1]s preflight gitrepo/guestbook -n fleet-local

  # one bundle, with every field that its rollout would overwrite
  %[1]s preflight bundle/guestbook --diff

  # a directory that no Fleet has seen yet, in a pipeline
  %[1]s preflight -f apps/guestbook --gitrepo=apps --path=guestbook -o json`

// options mirror the command line.
type options struct {
	*origin.Flags
	desired *origin.Desired
	diff    bool
	output  *flags.Enum
	colour  *flags.Enum
}

// NewCommand makes the verb.
func NewCommand(env origin.Environment) *cobra.Command {
	o := &options{Flags: origin.New(env), output: flags.NewEnum(printers.PreflightFormats[0], printers.PreflightFormats...), colour: origin.NewColour()}
	c := &cobra.Command{
		Use:               "preflight " + origin.TargetArgs,
		Short:             "Say what a rollout would meet, before it is made",
		Long:              long,
		Example:           fmt.Sprintf(examples, env.Name),
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: origin.CompleteTargets,
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
	}
	f := c.Flags()
	o.AddFlags(f)
	o.AddScopeFlags(f)
	o.AddAgentScopeFlag(f)
	o.desired = origin.AddFolderFlags(c)
	f.Lookup("namespace").Usage = "Workspace of the GitRepos, HelmOps and Bundles that are meant; without it, all of them"
	f.BoolVar(&o.diff, "diff", false, "Show each field that would be overwritten, with both values")
	f.VarP(o.output, "output", "o", "Output format")
	f.Var(o.colour, "color", "Use colours")
	for name, e := range map[string]*flags.Enum{"output": o.output, "color": o.colour} {
		if err := c.RegisterFlagCompletionFunc(name, e.Complete); err != nil {
			return c // the flags were just added: there is nothing that could be missing
		}
	}
	return c
}

// run parses, reads, foretells, prints and decides the exit status, in that order.
func (o *options) run(ctx context.Context, args []string) error {
	scope, err := o.Scope(args)
	if err != nil {
		return err
	}
	show, err := printers.NewPreflight(o.output.String(), printers.Options{Colour: origin.Coloured(o.colour, o.Streams.Out), Diff: o.diff,
		PrintRole: o.Commands().PrintRole})
	if err != nil {
		return exit.UsageError(err)
	}
	desired, files, err := o.desired.Read(scope)
	if err != nil {
		return err
	}
	agentScope, err := o.AgentScope()
	if err != nil {
		return err
	}
	commands := o.Commands()
	commands.Files = o.desired.Args()
	document, err := o.foretell(ctx, engine.Options{Scope: scope, Version: o.Version, Renderer: o.Renderer, Commands: commands, ServerCheck: collect.CheckNever,
		Predict: true, Desired: desired, Files: files, AgentScope: agentScope})
	if err != nil {
		return err
	}
	if err := o.Print(ctx, func(w io.Writer) error { return show(w, document) }); err != nil {
		return err
	}
	return status(document)
}

func (o *options) foretell(ctx context.Context, eo engine.Options) (*report.Preflight, error) {
	progress := o.Progress()
	defer progress.Clear()
	src, _, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	eo.Progress = progress.Tell
	found, err := engine.Run(ctx, src, eo)
	if err != nil {
		return nil, o.Explain(err)
	}
	rollouts, elsewhere := preflight.Check(found.Input())
	document := &report.Preflight{TakenAt: report.Time(found.Now()), Tool: report.Tool{Version: o.Version}, Source: report.NewSource(found.Source, found.Desired),
		Scope: report.NewScope(found.Scope), BundleDeployments: rollouts, Gaps: report.Gaps(found.Gaps), Notes: found.Notes}
	if elsewhere > 0 {
		document.Notes = append(document.Notes, fmt.Sprintf("bundle deployments on other clusters, of which nothing is said here: %d", elsewhere))
	}
	return document.Closed(found.Secrets), nil
}

// status decides what the program ends with.
func status(p *report.Preflight) error {
	s := p.Summary
	switch {
	case s.Refused+s.Contested > 0:
		return &exit.Error{Status: exit.Found, Shown: true}
	case s.BundleDeployments == 0:
		return &exit.Error{Status: exit.Failed, Err: errors.New("nothing in scope is deployed to this cluster"),
			Hint: "A bundle is looked at on the cluster that it is deployed to; -f takes the directory of one that is not deployed yet."}
	case s.Unknown > 0:
		return &exit.Error{Status: exit.Failed, Shown: true}
	}
	return nil
}
