// SPDX-License-Identifier: Apache-2.0

// Package adopt is the verb adopt: it plans, asks, has the plan applied, and says what came of it.
package adopt

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
)

const long = `Make objects that exist their bundle's: write the five keys by which Fleet and Helm know their own, and
nothing else. Fleet then counts them as they are, within seconds and without a redeploy.

A plan is shown first: each object that a bundle wants and does not own, who holds it now, exactly which
keys change, and what follows: who loses it, what the next deploy overwrites, who may delete it. On a
terminal it is applied if you say so; elsewhere it takes --yes, or --confirm with the digest of the plan
that was reviewed. What a receipt has recorded, --undo takes back.

What is marked by nobody else is taken. With --policy=if-unowned, the default, so is what belongs to an
owner that is not on this cluster any more. A living owner's object, or one that two bundles want, is
taken only if --dangerous-take-from names who holds it.

Exit status: 0 all done, or nothing to do, 1 not applied (a plan only, or objects were refused), 2 wrong
usage, 3 a write failed, or it was interrupted. A --dry-run ends as the adoption would.`

const examples = `  # see what would be done, then decide
  %[1]s adopt

  # one bundle, in a pipeline: plan, review, apply just that
  %[1]s adopt bundle/guestbook -n fleet-local -o yaml > plan.yaml
  %[1]s adopt bundle/guestbook -n fleet-local --confirm=$(yq .digest plan.yaml)

  # one object
  %[1]s adopt deployment/web/frontend --yes

  # what a bundle in this directory will want, before Fleet has seen it
  %[1]s adopt -f apps/guestbook --gitrepo=apps --path=guestbook

  # take it back
  %[1]s adopt --undo fleetdoctor-adopt-20260102-030405.jsonl`

// The choices of --dry-run, as kubectl has them.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// options mirror the command line.
type options struct {
	*origin.Flags
	desired *origin.Desired

	takeFrom []string
	yes      bool
	confirm  string
	receipt  string
	undo     string
	diff     bool
	policy   *flags.Enum
	dryRun   *flags.Enum
	output   *flags.Enum
	colour   *flags.Enum
}

// NewCommand makes the verb.
func NewCommand(env origin.Environment) *cobra.Command {
	var policies []string
	for _, p := range ownership.Policies {
		policies = append(policies, string(p))
	}
	o := &options{
		Flags:  origin.New(env),
		policy: flags.NewEnum(policies[0], policies...),
		dryRun: flags.NewEnum(dryRunNone, dryRunNone, dryRunClient, dryRunServer),
		output: flags.NewEnum(printers.Formats[0], printers.Formats...),
		colour: origin.NewColour(),
	}
	c := &cobra.Command{
		Use:               "adopt " + strings.TrimSuffix(origin.TargetArgs, " ...]") + " | KIND/[NAMESPACE/]NAME ...]",
		Short:             "Make objects that exist their bundle's, and take that back",
		Long:              long,
		Example:           fmt.Sprintf(examples, env.Name),
		Args:              checkObjects,
		ValidArgsFunction: origin.CompleteTargets,
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c, args) },
	}
	f := c.Flags()
	o.AddFlags(f)
	o.AddScopeFlags(f)
	o.AddAgentScopeFlag(f)
	o.desired = origin.AddDesiredFlags(c, engine.DesiredAuto)
	f.Lookup("namespace").Usage = "Workspace of the GitRepos, HelmOps and Bundles whose objects are meant; without it, all of them. On a downstream cluster, the namespace of the releases"
	f.Var(o.policy, "policy", "Objects to take without --dangerous-take-from: those without another owner and those whose owner is gone (if-unowned), or only those without another owner (unmarked)")
	f.StringArrayVar(&o.takeFrom, "dangerous-take-from", nil, "Take also what this bundle, set id or release (NAMESPACE/NAME) holds. May be given several times")
	f.BoolVarP(&o.yes, "yes", "y", false, "Apply the plan without asking")
	f.StringVar(&o.confirm, "confirm", "", "Apply the plan without asking, but only if it has this digest")
	f.Var(o.dryRun, "dry-run", "Only plan, or have the server check every write and store none")
	f.StringVar(&o.receipt, "receipt", "", "File to record the previous values in, which must not exist yet (default fleetdoctor-adopt-TIME.jsonl)")
	f.StringVar(&o.undo, "undo", "", "Put back what the receipt in this file recorded")
	f.BoolVar(&o.diff, "diff", false, "Show each field that the next deploy overwrites, with both values")
	f.VarP(o.output, "output", "o", "Output format")
	f.Var(o.colour, "color", "Use colours")
	for name, e := range map[string]*flags.Enum{"policy": o.policy, "dry-run": o.dryRun, "output": o.output, "color": o.colour} {
		if err := c.RegisterFlagCompletionFunc(name, e.Complete); err != nil {
			return c // the flags were just added: there is nothing that could be missing
		}
	}
	return c
}
