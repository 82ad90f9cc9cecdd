// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

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
		read := query.AgentsOptions{Namespace: *o.Config.Namespace, Selector: o.selector, Version: o.Version,
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
