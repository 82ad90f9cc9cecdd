// SPDX-License-Identifier: Apache-2.0

// Package audit is the verb audit.
package audit

import (
	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	serverCheckFlag = "server-check"
	statusOnlyFlag  = "status-only"
	summaryFlag     = "summary"
	byFlag          = "by"
)

// options are the flags, and what the verb runs with.
type options struct {
	*query.Options
	scope  *input.ScopeFlags
	filter *output.Filter

	summary         bool
	requireComplete bool
	statusOnly      bool
	printRBAC       bool
	suppression
	by          *cli.Enum
	failOn      *cli.Enum
	serverCheck *cli.Enum

	auditOptions engine.Options
	selected     report.Filter
}

// NewCommand returns the verb.
func NewCommand(env cli.Environment) *cobra.Command {
	o := &options{
		Options: query.New(env, formats()...),
		filter:  output.NewFilter(),
		by:      cli.NewEnum("", printers.By...),
		failOn:  cli.NewEnum("warning", "none", "info", "warning", "error"),
		serverCheck: cli.NewEnum(string(collect.CheckNever), string(collect.CheckAuto), string(collect.CheckAlways),
			string(collect.CheckNever)),
	}
	o.scope, o.Clusters = input.NewScope(o.Flags, engine.DesiredRelease), input.NewClusters(o.Flags)
	o.Diff, o.Repeats = &output.DiffFlags{}, true
	c := &cobra.Command{Use: "audit [KIND/NAME ... | KIND [NAME ...] | NAME]",
		Short:             "Compare live objects with what the bundles specify",
		ValidArgsFunction: input.CompleteAny}
	o.Setup(c, o, input.NamespaceUsage+". On a downstream cluster, the namespace of the releases"+
		input.ObjectNamespace)
	o.addFlags(c)
	return c
}

// addFlags adds the flags that only this verb has.
func (o *options) addFlags(c *cobra.Command) {
	fs := c.Flags()
	o.scope.AddFlags(c)
	o.scope.AddDesiredFlag(c)
	o.AddRowsFlag(c, report.Audit{}, "bundleDeployments")
	o.AddSortFlag(c, "bundle deployments", "name or counts.missing")
	o.filter.AddFlags(c)
	o.Diff.AddFlags(fs, "Show the fields that differ as a unified diff, with who wrote them and when")
	fs.BoolVar(&o.summary, summaryFlag, false,
		"Show only the result: what is ready, the number of findings, and what was not read")
	o.by.AddTo(c, byFlag, "Count the bundle deployments by their states, for each bundle, cluster or GitRepo")
	o.failOn.AddTo(c, "fail-on", "Exit with status 1 on findings of this severity or above")
	fs.BoolVar(&o.requireComplete, "require-complete", false, "Exit with status 3 if anything could not be read")
	fs.BoolVar(&o.statusOnly, statusOnlyFlag, false,
		"Check only the status that Fleet reports; read no release record and no live object")
	o.serverCheck.AddTo(c, serverCheckFlag,
		"Confirm differences with a server-side dry run, which calls admission webhooks: where permitted (auto), for "+
			"every object (always), or never")
	o.suppression.addFlags(fs)
	fs.BoolVar(&o.printRBAC, "print-rbac", false, "Print the smallest role that may read what an audit of this "+
		"source reads, and exit: a ClusterRole, or with --namespace the Roles for a workspace")
}
