// SPDX-License-Identifier: Apache-2.0

// Package tree is the verb tree.
package tree

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/clusters"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/watch"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const long = `Show the objects that Fleet deploys as a tree: a GitRepo or HelmOp, its bundles, their clusters,
and the objects on each cluster. For cluster/NAME, the tree begins with the cluster. Without a name,
it shows all GitRepos and HelmOps, also those that deploy nothing, and the bundles without one.

STATE and READY are the actual states and numbers, as in an audit. For a GitRepo, a HelmOp, a bundle
or a cluster, STATE is the number of bundle deployments that are ready. FLEET STATE and FLEET READY
are what Fleet reports. A dash means that Fleet reports no such number. A question mark means that
there is no result. If not everything was read, the column STATUSES shows the total of the statuses
of the bundle deployments.

Objects that are ready are only counted; --all shows them too. The flags of audit that read other
clusters are valid here too.

-o json and -o yaml print the report of an audit of these objects. -o name prints the bundle
deployments that are not ready or have no result, with --all all of them. Each line has the
arguments of kubectl for one of them: -n NAMESPACE KIND/NAME.

--watch repeats the tree until it is interrupted, as in an audit: on a terminal it redraws the tree,
elsewhere it prints a line for each change.

Exit status: 0 everything is ready, 1 something is not ready, 2 wrong usage, 3 an object was not
found, or it is not known whether everything is ready.`

const examples = `  # a GitRepo with the objects that are not ready
  %[1]s tree gitrepo/guestbook -n fleet-local

  # the same in a snapshot, with every object
  %[1]s tree gitrepo/guestbook --all --snapshot test/testdata/sick

  # what is deployed to one cluster, without objects
  %[1]s tree cluster/edge-1 -n fleet-default --compact

  # a rollout, on the screen
  %[1]s tree gitrepo/guestbook -n fleet-local --watch --watch-interval=10s

  # everything, with the objects on two other clusters
  %[1]s tree --contexts edge-1,edge-2`

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	o := &options{Options: query.New(env)}
	o.clusters = clusters.New(o.Flags)
	c := &cobra.Command{Use: "tree " + scope.TargetArgs, Short: "Show what Fleet deploys as a tree with states",
		Long: long, Example: examples, ValidArgsFunction: scope.CompleteTargets}
	o.Setup(c, o, scope.NamespaceUsage)
	o.clusters.AddFlags(c.Flags())
	o.AddWatchFlags(c)
	o.AddRowsFlag(c, report.Audit{}, "bundleDeployments")
	c.Flags().BoolVar(&o.all, "all", false, "Show objects and clusters that are ready too")
	c.Flags().BoolVar(&o.compact, "compact", false, "Show no objects")
	return c
}

// options are what the verb runs with.
type options struct {
	*query.Options
	clusters     *clusters.Flags
	all, compact bool
	targets      []evaluate.Target
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) (err error) {
	if err := o.clusters.Complete(); err != nil {
		return err
	}
	if o.targets, err = scope.ParseTargets(args, *o.Config.Namespace); err != nil {
		return err
	}
	return o.Options.Complete()
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	if err := o.clusters.Check(); err != nil {
		return err
	}
	commands := input.InWorkspace(o.Commands(), *o.Config.Namespace)
	o.Document.PrintRole = commands.PrintRole
	commands.Audit += o.clusters.Args()
	pause := o.Pause
	if o.ForPeople() && !o.Watching() {
		pause = func(context.Context) error { return nil } // no finding is shown
	}
	o.Document.ReadClusters = o.clusters.Suggest(o.Command("tree") + o.clusters.Args())
	read := func(in *input.Reading) (*report.Audit, error) {
		found, err := engine.Run(ctx, in.Source, engine.Options{Version: o.Version, Renderer: o.Renderer, Pause: pause,
			Commands: commands, Progress: in.Report,
			Clusters: o.clusters.Clusters(in.Source), Scope: evaluate.Scope{Namespace: *o.Config.Namespace,
				Targets: o.targets}})
		if err != nil {
			return nil, err
		}
		return found.Report(), nil
	}
	document := func(a *report.Audit, p printers.Options) printers.Document {
		return printers.Tree(a, printers.TreeOptions{Options: p, All: o.all, Compact: o.compact})
	}
	if o.Watching() {
		return query.Watch(ctx, o.Options, read, document, o.status, changes)
	}
	result, err := query.Show(ctx, o.Options, read, document)
	if err != nil {
		return err
	}
	return o.status(result)
}

// changes describes the changes between two rounds of a watch.
func changes(before **report.Audit, after *report.Audit) []string {
	if before == nil {
		return watch.Changes(nil, after)
	}
	return watch.Changes(*before, after)
}

// status returns the error with the exit status of a tree.
func (o *options) status(a *report.Audit) error {
	unknown := 0
	for _, bd := range a.BundleDeployments {
		switch {
		case bd.State == report.Ready && bd.Reason == "":
		case bd.State == report.Ready, bd.State == report.Unknown:
			unknown++
		default:
			return &exit.Error{Status: exit.Found, Shown: true}
		}
	}
	why := report.Undecided(a.Gaps) // bundle deployments that were not read are not in the tree
	if unknown > 0 {
		why = fmt.Sprintf("bundle deployments without a result: %d of %d", unknown, len(a.BundleDeployments))
	}
	if why == "" {
		return nil
	}
	return &exit.Error{Status: exit.Failed, Err: errors.New("it is not known whether everything is ready: " + why),
		Hint: o.Command("audit") + " shows what could not be read."}
}
