// SPDX-License-Identifier: Apache-2.0

// Package audit is the verb audit: its flags, and what becomes of them.
package audit

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
)

const long = `Hold the live objects of a cluster, or of a captured snapshot, against what the bundles of Rancher
Fleet want.

Each desired object is Ready, NotReady, Modified, Unowned (it exists without the bundle's marks),
Missing or Unknown (it could not be read). The true fraction of ready objects stands beside the one
that Fleet's status claims, and each finding names what is wrong, who did it and when, as far as the
cluster recorded it, and the next command to type.

An audit only reads. Only --server-check sends server-side dry runs, which store nothing but call
the admission webhooks of the cluster.

-o name prints each bundle deployment that is not ready as arguments of kubectl, one a line.

Exit status: 0 nothing found at or above --fail-on, 1 findings, 2 wrong usage, 3 the audit could not
be finished: no Fleet found, nothing in scope, no bundle deployment with a result, or something that
could not be read under --require-complete.`

const examples = `  # everything Fleet deploys to the cluster at hand
  %[1]s audit

  # one GitRepo, with every field that differs
  %[1]s audit gitrepo/guestbook -n fleet-local --diff

  # what Git says against the cluster, before Fleet has deployed it
  %[1]s audit --desired=bundle bundle/guestbook --diff

  # a captured cluster: a folder or archive of kubectl get -o yaml, fleet dump, crust-gather,
  # a support bundle
  %[1]s audit --snapshot dump.tgz

  # what is not ready, passed on to kubectl
  %[1]s audit -o name | xargs -L1 kubectl get -o yaml

  # in a pipeline: fail on errors only, and if anything could not be read
  %[1]s audit --fail-on=error --require-complete -o json`

// options mirror the command line.
type options struct {
	*origin.Flags
	desired *origin.Desired

	diff            bool
	requireComplete bool
	statusOnly      bool
	printRBAC       bool
	output          *flags.Enum
	failOn          *flags.Enum
	colour          *flags.Enum
	serverCheck     *flags.Enum
}

// NewCommand makes the verb.
func NewCommand(env origin.Environment) *cobra.Command {
	o := &options{
		Flags:       origin.New(env),
		output:      flags.NewEnum(printers.Formats[0], printers.Formats...),
		failOn:      flags.NewEnum("warning", "none", "info", "warning", "error"),
		colour:      origin.NewColour(),
		serverCheck: flags.NewEnum(string(collect.CheckNever), string(collect.CheckAuto), string(collect.CheckAlways), string(collect.CheckNever)),
	}
	c := &cobra.Command{
		Use:               "audit " + origin.TargetArgs,
		Short:             "Say what is wrong with what Fleet deployed, object by object",
		Long:              long,
		Example:           fmt.Sprintf(examples, env.Name),
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: origin.CompleteTargets,
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c, args) },
	}
	f := c.Flags()
	o.AddFlags(f)
	o.AddScopeFlags(f)
	o.AddAgentScopeFlag(f)
	o.desired = origin.AddDesiredFlags(c, engine.DesiredRelease)
	f.Lookup("namespace").Usage = "Workspace of the GitRepos, HelmOps and Bundles to audit; without it, all of them. On a downstream cluster, the namespace of the releases"
	f.BoolVar(&o.diff, "diff", false, "Show each field that differs, with both values")
	f.VarP(o.output, "output", "o", "Output format")
	f.Var(o.failOn, "fail-on", "Exit with 1 on findings of this severity or above")
	f.BoolVar(&o.requireComplete, "require-complete", false, "Exit with 3 if anything could not be read")
	f.BoolVar(&o.statusOnly, statusOnlyFlag, false, "Check only the status that Fleet reports; read no release record and no live object")
	f.Var(o.serverCheck, serverCheckFlag, "Confirm differences by a server-side dry run, which calls admission webhooks: where permitted (auto), of every object (always), or never")
	f.Var(o.colour, "color", "Use colours")
	f.BoolVar(&o.printRBAC, "print-rbac", false, "Print the least ClusterRole that may read what an audit reads here, and exit")
	for name, e := range map[string]*flags.Enum{"output": o.output, "fail-on": o.failOn, serverCheckFlag: o.serverCheck, "color": o.colour} {
		if err := c.RegisterFlagCompletionFunc(name, e.Complete); err != nil {
			return c // the flags were just added: there is nothing that could be missing
		}
	}
	return c
}

const (
	serverCheckFlag = "server-check"
	statusOnlyFlag  = "status-only"
)
