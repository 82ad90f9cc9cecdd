// SPDX-License-Identifier: Apache-2.0

// Package agents is the verb agents.
package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/agents"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/scope"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// NewCommand returns the verb.
func NewCommand(env verb.Environment) *cobra.Command {
	o := &options{Options: query.New(env), failOn: flags.NewEnum("warning", "none", "info", "warning", "error")}
	c := &cobra.Command{Use: "agents [CLUSTER ...]",
		Short:             "Show the heartbeats of agents, and which ones the controller imports again",
		ValidArgsFunction: scope.CompleteClusters}
	o.Setup(c, o, "Namespace of the Clusters; without it, all namespaces")
	o.failOn.AddTo(c, "fail-on", "Exit with status 1 on findings of this severity or above; all findings are warnings")
	flags.AddSelector(c.Flags(), &o.labels, "Clusters")
	o.AddSortFlag(c, "agents", "name or heartbeat.ageSeconds")
	return c
}

// options are what the verb runs with.
type options struct {
	*query.Options
	failOn   *flags.Enum
	clusters []string
	labels   string // the value of --selector
	selector labels.Selector
}

// Complete implements verb.Options.
func (o *options) Complete(args []string) (err error) {
	for _, arg := range args {
		name, err := scope.ClusterName(arg, *o.Config.Namespace)
		if err != nil {
			return err
		}
		o.clusters = append(o.clusters, name)
	}
	o.selector, err = flags.ParseSelector(o.labels)
	return err
}

// Run implements verb.Options.
func (o *options) Run(ctx context.Context) error {
	result, err := query.Show(ctx, o.Options, func(in *input.Reading) (*report.Agents, error) {
		read := engine.Options{Namespace: *o.Config.Namespace, Selector: o.selector, Version: o.Version,
			Progress: in.Report}
		found, err := engine.Of(ctx, in.Source, read, o.clusters)
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
			return &exit.Error{Status: exit.Found, Shown: true}
		}
	}
	if n := result.Summary.Unknown; n > 0 && o.failOn.String() != "none" {
		return &exit.Error{Status: exit.Failed, Err: fmt.Errorf("it is not known whether the controller imports an "+
			"agent again (%d of %d)", n, len(result.Agents))}
	}
	if unread := report.Undecided(result.Gaps); unread != "" && o.failOn.String() != "none" {
		return &exit.Error{Status: exit.Failed, Err: errors.New("not everything was read: " + unread)}
	}
	return nil
}
