// SPDX-License-Identifier: Apache-2.0

// Package adopt is the verb adopt.
package adopt

import (
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
