// SPDX-License-Identifier: Apache-2.0

// Package adopt is the verb adopt.
package adopt

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/diff"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

const long = `Assign existing objects to the bundle that desires them. adopt writes the five labels and
annotations by which Fleet and Helm recognize their objects (the ownership metadata), and nothing
else. Fleet then counts the objects as its own within seconds, without a redeploy.

adopt first shows a plan: each object that a bundle desires and does not own, its present owner,
the labels and annotations that change, and the effects: who loses the object, what the next
deploy overwrites, who may delete it. On a terminal, adopt asks whether to apply the plan.
Elsewhere --yes applies it, or --confirm with the digest of the plan that was reviewed. adopt
records the previous values in a receipt; --undo restores them.

--policy selects the objects that adopt takes:

  unmarked    objects that have no other owner
  if-unowned  also objects whose owner no longer exists on this cluster; the default
  if-no-diff  the objects of if-unowned, but only if every field has the value of the bundle. Fields
              that comparePatches ignore are compared too. An object that could not be compared, or
              that changes after the plan was made, is not taken.

An object of an existing owner, or one that two bundles desire, is taken only if
--dangerous-take-from names the owner. The webhook has no policy.

Exit status: 0 everything is adopted, 1 not applied (only a plan, or objects were refused), 2
wrong usage, 3 a write failed, adopt was interrupted, an object, a file or the cluster was not
found, or something that decides could not be read. --dry-run has the exit status of the adoption.`

const examples = `  # show the plan, then decide
  %[1]s adopt

  # one bundle, in a pipeline: plan, review, apply exactly this plan
  %[1]s adopt bundle/guestbook -n fleet-local -o yaml > plan.yaml
  %[1]s adopt bundle/guestbook -n fleet-local --confirm=$(yq .digest plan.yaml)

  # one object
  %[1]s adopt deployment/frontend -n web --yes

  # the objects of a bundle in this directory, before Fleet deploys it
  %[1]s adopt -f apps/guestbook --gitrepo=apps --path=guestbook

  # undo an adoption
  %[1]s adopt --undo fleetdoctor-adopt-20260102-030405.jsonl`

// The values of --dry-run, as in kubectl.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// adoptFlags mirror the command line.
type adoptFlags struct {
	*input.Flags
	scope  *scope.Flags
	format *output.PrintFlags

	takeFrom []string
	yes      bool
	confirm  string
	receipt  string
	undo     string
	diff     diff.Flags
	policy   *flags.Enum
	dryRun   *flags.Enum
	changed  func(flag string) bool
}

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	in := input.New(env)
	f := &adoptFlags{
		Flags:  in,
		scope:  scope.New(in, engine.DesiredAuto),
		format: output.NewPrintFlags(),
		policy: flags.NewEnum(string(ownership.IfUnowned), string(ownership.IfUnowned), string(ownership.TakeUnmarked),
			string(ownership.IfNoDiff)),
		dryRun: flags.NewEnum(dryRunNone, dryRunNone, dryRunClient, dryRunServer),
	}
	c := &cobra.Command{
		Use:               "adopt " + strings.TrimSuffix(scope.TargetArgs, " ...]") + " | KIND/[NAMESPACE/]NAME ...]",
		Short:             "Assign existing objects to the bundle that desires them, or undo that",
		Long:              long,
		Example:           fmt.Sprintf(examples, env.Name),
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeArgs,
		RunE:              verb.RunE(&options{adoptFlags: f}),
	}
	f.addFlags(c)
	return c
}

func (f *adoptFlags) addFlags(c *cobra.Command) {
	fs := c.Flags()
	f.changed = fs.Changed
	f.AddFlags(fs, scope.NamespaceUsage+". On a downstream cluster, the namespace of the releases. For KIND/NAME of "+
		"any other object, its namespace")
	f.scope.AddFlags(c)
	f.scope.AddDesiredFlag(c)
	f.format.AddFlags(c)
	f.format.AddColorFlag(c)
	f.policy.AddTo(c, "policy", "Objects to take without --dangerous-take-from: objects without another owner "+
		"(unmarked); also objects of an owner that is gone (if-unowned); the objects of if-unowned, but only if all "+
		"of their fields have the values of the bundle (if-no-diff)")
	fs.StringArrayVar(&f.takeFrom, "dangerous-take-from", nil,
		"Also take the objects of this bundle, set id or release (NAMESPACE/NAME). May be repeated")
	fs.BoolVarP(&f.yes, "yes", "y", false, "Apply the plan without asking")
	fs.StringVar(&f.confirm, "confirm", "", "Apply the plan without asking, but only if it has this digest")
	f.dryRun.AddTo(c, "dry-run",
		"Only show the plan (client), or send every write to the server without storing it (server)")
	fs.StringVar(&f.receipt, "receipt", "",
		"File for the previous values, which must not exist yet (default fleetdoctor-adopt-TIME.jsonl)")
	fs.StringVar(&f.undo, "undo", "", "Restore the previous values from the receipt in this file")
	f.diff.AddFlags(fs, "Show the fields that the next deploy overwrites as a unified diff, with who wrote "+
		"them and when")
}
