// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewWhy returns the verb.
func NewWhy(env cli.Environment) *cobra.Command {
	o := &whyVerb{Options: New(env)}
	o.Clusters = input.NewClusters(o.Flags)
	o.Required = "an object is required: gitrepo/NAME, helmop/NAME, bundle/NAME, cluster/NAME, " +
		"bundledeployment/NAME, or KIND/NAME of a deployed object"
	c := &cobra.Command{Use: "why KIND/NAME ...",
		Short:             "Show why an object of Fleet, or a deployed object, is not ready",
		ValidArgsFunction: input.CompleteAny}
	o.Setup(c, o, input.NamespaceUsage+input.ObjectNamespace)
	return c
}

// whyVerb are what the verb runs with.
type whyVerb struct {
	*Options
	targets query.WhyTargets
	names   []input.Object // all other arguments
}

// Complete implements cli.Options.
func (o *whyVerb) Complete(args []string) (err error) {
	targets, names, err := input.Split(args, *o.Config.Namespace)
	if err != nil {
		return err
	}
	o.names = names
	o.targets, err = input.Targets(targets, *o.Config.Namespace)
	return err
}

// Run implements cli.Options.
func (o *whyVerb) Run(ctx context.Context) error {
	o.Document.PrintRole = input.InWorkspace(o.Commands(), *o.Config.Namespace).PrintRole
	result, err := Show(ctx, o.Options, func(in *input.Reading) (*report.Why, error) {
		read := o.Audit(in)
		read.Commands.PrintRole, read.Pick, read.Names = o.Document.PrintRole, query.Pick, o.names
		read.Scope = evaluate.Scope{Targets: o.targets}
		if len(o.names) == 0 { // else --namespace may be that of a deployed object
			read.Scope.Namespace = *o.Config.Namespace
		} else {
			read.Desired = engine.DesiredAuto // a bundle that is not installed also desires objects
		}
		found, err := engine.Run(ctx, in.Source, read)
		if err != nil {
			return nil, err
		}
		explained := query.Explain(found.Input(), found.Findings, o.targets, found.Found, o.Version).
			Redacted(found.Secrets)
		return explained, found.OrUnread(o.targets.Missing(found.Desired.Directory))
	}, printers.Why)
	if err != nil {
		return err
	}
	return o.status(result)
}

// status returns the error with the exit status of a report.
func (o *whyVerb) status(w *report.Why) error {
	var out error
	for _, x := range w.Objects {
		switch x.State {
		case report.NotReady:
			return &cli.Error{Status: cli.ExitFound, Shown: true}
		case report.Unknown:
			err := fmt.Errorf("it is not known whether %s is ready", x.Key())
			out = cli.Failure(err, o.unknownHint(&x, len(w.Gaps) > 0))
		}
	}
	return out
}

// unknownHint is the next step if it is not known whether an object is ready. Reading other clusters helps only where
// Fleet reports objects as ready that were not read. gaps says that the report lists what could not be read.
func (o *whyVerb) unknownHint(x *report.WhyObject, gaps bool) string {
	name := strings.ToLower(x.Kind) + "/" + x.Namespace + "/" + x.Name
	also := o.Clusters.Suggest(o.Command("why "+name) + o.Clusters.Args())
	if also == "" || x.Summary.FromStatus == 0 || len(x.Causes) > 0 {
		return o.Command("audit") + " lists what could not be read."
	}
	if gaps {
		return "NOT READ lists what is missing. If the objects are on another cluster, this reads them too: " + also
	}
	return also + " also reads the objects on other clusters."
}

// NewAgents returns the verb.
func NewAgents(env cli.Environment) *cobra.Command {
	o := &agentsVerb{Options: New(env), failOn: cli.NewEnum("warning", "none", "info", "warning", "error")}
	c := &cobra.Command{Use: "agents [CLUSTER ...]",
		Short:             "Show the heartbeats of agents, and which ones the controller imports again",
		ValidArgsFunction: input.CompleteClusters}
	o.Setup(c, o, "Namespace of the Clusters; without it, all namespaces")
	o.failOn.AddTo(c, "fail-on", "Exit with status 1 on findings of this severity or above; all findings are warnings")
	cli.AddSelector(c.Flags(), &o.labels, "Clusters")
	o.AddSortFlag(c, "agents", "name or heartbeat.ageSeconds")
	return c
}

// agentsVerb are what the verb runs with.
type agentsVerb struct {
	*Options
	failOn   *cli.Enum
	clusters []string
	labels   string // the value of --selector
	selector labels.Selector
}

// Complete implements cli.Options.
func (o *agentsVerb) Complete(args []string) (err error) {
	for _, arg := range args {
		name, err := input.ClusterName(arg, *o.Config.Namespace)
		if err != nil {
			return err
		}
		o.clusters = append(o.clusters, name)
	}
	o.selector, err = cli.ParseSelector(o.labels)
	return err
}

// Run implements cli.Options.
func (o *agentsVerb) Run(ctx context.Context) error {
	result, err := Show(ctx, o.Options, func(in *input.Reading) (*report.Agents, error) {
		read := query.Options{Namespace: *o.Config.Namespace, Selector: o.selector, Version: o.Version,
			Progress: in.Report}
		found, err := query.Agents(ctx, in.Source, read, o.clusters)
		if found == nil {
			return nil, err
		}
		if err := output.Sort(o.PrintFlags, found.Agents); err != nil {
			return nil, err
		}
		return found, err
	}, printers.Agents)
	if err != nil {
		return err
	}
	for _, a := range result.Agents {
		if fail := o.failOn.String(); len(a.Findings) > 0 && (fail == "warning" || fail == "info") {
			return &cli.Error{Status: cli.ExitFound, Shown: true}
		}
	}
	if n := result.Summary.Unknown; n > 0 && o.failOn.String() != "none" {
		return &cli.Error{Status: cli.ExitFailed, Err: fmt.Errorf("it is not known whether the controller imports an "+
			"agent again (%d of %d)", n, len(result.Agents))}
	}
	if unread := report.Undecided(result.Gaps); unread != "" && o.failOn.String() != "none" {
		return &cli.Error{Status: cli.ExitFailed, Err: errors.New("not everything was read: " + unread)}
	}
	return nil
}
