// SPDX-License-Identifier: Apache-2.0

// Package audit is the verb audit.
package audit

import (
	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/clusters"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/diff"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/watch"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	serverCheckFlag = "server-check"
	statusOnlyFlag  = "status-only"
	summaryFlag     = "summary"
)

// auditFlags mirror the command line.
type auditFlags struct {
	*input.Flags
	scope    *scope.Flags
	clusters *clusters.Flags
	print    *output.PrintFlags
	filter   *view.Filter
	watch    watch.Flags

	diff            diff.Flags
	all, summary    bool
	requireComplete bool
	statusOnly      bool
	printRBAC       bool
	asVersion       flags.FleetVersion
	suppression
	failOn      *flags.Enum
	serverCheck *flags.Enum
	changed     func(flag string) bool
}

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	in := input.New(env)
	f := &auditFlags{
		Flags:    in,
		scope:    scope.New(in, engine.DesiredRelease),
		clusters: clusters.New(in),
		print:    output.NewPrintFlags(formats()...),
		filter:   view.NewFilter(),
		failOn:   flags.NewEnum("warning", "none", "info", "warning", "error"),
		serverCheck: flags.NewEnum(string(collect.CheckNever), string(collect.CheckAuto), string(collect.CheckAlways),
			string(collect.CheckNever)),
	}
	c := &cobra.Command{
		Use:               "audit " + scope.TargetArgs,
		Short:             "Compare live objects with what the bundles specify",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: scope.CompleteTargets,
		RunE:              verb.RunE(&options{auditFlags: f}),
	}
	f.addFlags(c)
	return c
}

func (f *auditFlags) addFlags(c *cobra.Command) {
	fs := c.Flags()
	f.changed = fs.Changed
	f.AddFlags(fs, scope.NamespaceUsage+". On a downstream cluster, the namespace of the releases")
	f.clusters.AddFlags(fs)
	f.scope.AddFlags(c)
	f.scope.AddDesiredFlag(c)
	f.print.AddFlags(c)
	f.print.AddColorFlag(c)
	f.print.AddViewFlags(c)
	f.print.AddRowsFlag(c, report.Audit{}, "bundleDeployments")
	f.print.AddSortFlag(c, "bundle deployments", "name or counts.missing")
	f.filter.AddFlags(c)
	f.watch.AddFlags(c)
	f.diff.AddFlags(fs, "Show the fields that differ as a unified diff, with who wrote them and when")
	fs.BoolVar(&f.all, "all", false,
		"Also show ready bundle deployments, correct totals and informational findings, and show lists in full")
	fs.BoolVar(&f.summary, summaryFlag, false, "Show only totals")
	f.failOn.AddTo(c, "fail-on", "Exit with status 1 on findings of this severity or above")
	fs.BoolVar(&f.requireComplete, "require-complete", false, "Exit with status 3 if anything could not be read")
	fs.BoolVar(&f.statusOnly, statusOnlyFlag, false,
		"Check only the status that Fleet reports; read no release record and no live object")
	f.serverCheck.AddTo(c, serverCheckFlag,
		"Confirm differences with a server-side dry run, which calls admission webhooks: where permitted (auto), for "+
			"every object (always), or never")
	f.suppression.addFlags(fs)
	fs.Var(&f.asVersion, flags.AsVersionFlag,
		"Evaluate as if the controller and the agents of Fleet had this version, such as 0.13; a note lists the "+
			"results that differ")
	fs.BoolVar(&f.printRBAC, "print-rbac", false, "Print the smallest role that may read what an audit of this "+
		"source reads, and exit: a ClusterRole, or with --namespace the Roles for a workspace")
}
