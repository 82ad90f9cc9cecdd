// SPDX-License-Identifier: Apache-2.0

// Package audit is the verb audit.
package audit

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const long = `Compare the live objects of a cluster, or of a snapshot, with what the bundles of Rancher Fleet
specify.

Each desired object is Ready, NotReady, Modified, Unowned (it exists without the ownership
metadata of its bundle), Missing or Unknown (it could not be read). The report shows the number
of ready objects beside the number that Fleet reports. Each finding states the problem, who
caused it and when, as far as the cluster has recorded it, and the next command to run.

For gitrepo/NAME and helmop/NAME, a tree shows the numbers of each level: the bundles, their
clusters, and the objects that are not ready. A dash means that Fleet reports no such number.

An audit only reads. Only --server-check sends server-side dry runs, which store nothing but call
the admission webhooks of the cluster.

The table leaves out bundle deployments that are ready and that Fleet reports as ready, if there are
more than ten, and totals that Fleet reports correctly. --all shows them.
--summary shows only totals.

-o name prints the bundle deployments that are not ready or have no result, not their objects. Each
line has the arguments of kubectl for one of them: -n NAMESPACE KIND/NAME.
-o custom-columns prints a line for each bundle deployment, with --rows=findings for each finding.

--severity and --code select findings in every format. The report counts the findings that they
hide, and the exit status is that of the findings that are shown. The findings about a bundle
deployment without a result (FD607) are always shown. Bundle deployments on clusters that were not
read have no findings; the table shows their number. The states of objects do not change.

The findings that --ignore-file and --baseline remove are counted. They do not change the exit
status.

--watch repeats the audit until it is interrupted. On a terminal it redraws the screen: the totals,
one line for each bundle deployment and for each finding, and the last changes. A line that
differs from the round before begins with an asterisk. Elsewhere it prints a line for each bundle
deployment that changes its state, and for each finding that appears or is resolved. Each round
costs as much as one audit: it lists everything again. A round that fails, or takes more than five
minutes, is reported, and the watch goes on. The exit status is that of the last complete round.

Exit status: 0 no findings at or above --fail-on, 1 findings, 2 wrong usage, 3 the audit could
not be completed: no Fleet found, nothing in scope, no bundle deployment with a result, or
something that could not be read under --require-complete.`

const examples = `  # everything that Fleet deploys to the current cluster
  %[1]s audit

  # one GitRepo, with every field that differs
  %[1]s audit gitrepo/guestbook -n fleet-local --diff

  # what Git specifies, before Fleet deploys it
  %[1]s audit --desired=bundle bundle/guestbook --diff

  # a snapshot: a folder or archive of kubectl get -o yaml, fleet dump, crust-gather,
  # a support bundle
  %[1]s audit --snapshot dump.tgz

  # the management cluster, and the objects on two of its clusters
  %[1]s audit --cluster edge-1=edge-1.yaml --contexts edge-2

  # every cluster that Rancher manages
  %[1]s audit --via-rancher

  # a rollout, on the screen; in a log, redirect the output to a file
  %[1]s audit gitrepo/guestbook -n fleet-local --watch --watch-interval=10s

  # the bundle deployments that are not ready, as Fleet describes them
  %[1]s audit -o name | xargs -L1 kubectl get -o yaml

  # only what is new since an earlier report
  %[1]s audit -o json > baseline.json
  %[1]s audit --baseline baseline.json

  # in a pipeline: fail only on errors, and if anything could not be read
  %[1]s audit --fail-on=error --require-complete -o json`

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
		Long:              long,
		Example:           fmt.Sprintf(examples, env.Name),
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
