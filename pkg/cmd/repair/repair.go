// SPDX-License-Identifier: Apache-2.0

// Package repair has the verb repair, and the verb adopt, which is repair limited to one step.
package repair

import (
	"strings"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// The values of --dry-run, as in kubectl.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// options are the flags, and what the verb runs with.
type options struct {
	*query.Options
	scope *input.ScopeFlags

	// adopt is true for the verb adopt.
	adopt bool

	codes    []string
	allow    []string
	takeFrom []string
	yes      bool
	confirm  string
	receipt  string
	undo     string
	policy   *cli.Enum
	dryRun   *cli.Enum

	objects      []input.Object // of the command line; without any, all objects in scope
	auditOptions engine.Options
}

// NewCommand returns the verb repair.
func NewCommand(env cli.Environment) *cobra.Command {
	o := newOptions(env)
	c := &cobra.Command{
		Use:   "repair " + targets,
		Short: "Repair what an audit found, or undo that",
	}
	o.Clusters = input.NewClusters(o.Flags)
	o.complete(c)
	fs := c.Flags()
	fs.StringSliceVar(&o.codes, "code", nil, "Repair only what findings with these codes or names report, such "+
		"as FD101 or Missing")
	fs.StringSliceVar(&o.allow, "allow", nil, "Also make these steps: ask Fleet's agents and controllers to deploy "+
		"(deploy), delete objects and create them again (recreate), delete what is left over (delete)")
	return c
}

// NewAdopt returns the verb adopt.
func NewAdopt(env cli.Environment) *cobra.Command {
	o := newOptions(env)
	o.adopt = true
	c := &cobra.Command{
		Use:   "adopt " + targets,
		Short: "Assign existing objects to the bundle that desires them, or undo that",
	}
	o.complete(c)
	return c
}

// targets are the arguments of both verbs.
var targets = strings.TrimSuffix(input.TargetArgs, " ...]") + " | KIND/[NAMESPACE/]NAME ...]"

func newOptions(env cli.Environment) *options {
	o := &options{
		Options: query.New(env),
		policy: cli.NewEnum(string(ownership.IfUnowned), string(ownership.IfUnowned), string(ownership.TakeUnmarked),
			string(ownership.IfNoDiff)),
		dryRun: cli.NewEnum(dryRunNone, dryRunNone, dryRunClient, dryRunServer),
	}
	o.scope, o.Diff, o.Writes = input.NewScope(o.Flags, engine.DesiredAuto), &output.DiffFlags{}, true
	return o
}

// complete completes the command.
func (o *options) complete(c *cobra.Command) {
	c.ValidArgsFunction = input.CompleteAny
	o.Setup(c, o, input.NamespaceUsage+". On a downstream cluster, the namespace of the releases"+
		input.ObjectNamespace)
	o.addFlags(c)
}

// name is the name of the verb.
func (o *options) name() string {
	if o.adopt {
		return "adopt"
	}
	return "repair"
}

// planKind and resultKind are the kinds of the documents.
func (o *options) planKind() string {
	if o.adopt {
		return report.KindAdoptionPlan
	}
	return report.KindRepairPlan
}

func (o *options) resultKind() string {
	if o.adopt {
		return report.KindAdoptionResult
	}
	return report.KindRepairResult
}

// addFlags adds the flags that both verbs have.
func (o *options) addFlags(c *cobra.Command) {
	fs := c.Flags()
	o.scope.AddFlags(c)
	o.scope.AddDesiredFlag(c)
	o.policy.AddTo(c, "policy", "Objects to take without --dangerous-take-from: objects without another owner "+
		"(unmarked); also objects of an owner that is gone (if-unowned); the objects of if-unowned, but only if all "+
		"of their fields have the values of the bundle (if-no-diff)")
	fs.StringArrayVar(&o.takeFrom, "dangerous-take-from", nil,
		"Also take the objects of this bundle, set id or release (NAMESPACE/NAME). With --undo, give them back to it. "+
			"May be repeated")
	fs.BoolVarP(&o.yes, "yes", "y", false, "Apply the plan without asking")
	fs.StringVar(&o.confirm, "confirm", "", "Apply the plan without asking, but only if it has this digest")
	o.dryRun.AddTo(c, "dry-run",
		"Only show the plan (client), or send every write to the server without storing it (server)")
	fs.StringVar(&o.receipt, "receipt", "",
		"File for the previous values, which must not exist yet (default fleetdoctor-"+o.name()+"-TIME.jsonl)")
	fs.StringVar(&o.undo, "undo", "", "Restore the previous values from the receipt in this file")
	o.Diff.AddFlags(fs, "Show the fields that a step restores, or that the next deploy overwrites, as a unified "+
		"diff, with who wrote them and when")
}
