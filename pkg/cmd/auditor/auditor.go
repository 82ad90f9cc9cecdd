// SPDX-License-Identifier: Apache-2.0

// Package auditor has the verb auditor and its subcommands, which install, inspect, remove and run the auditor.
package auditor

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/installation"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// component is what the verb installs.
var component = chart.Component{
	Chart: installation.Chart, Verb: "auditor", Noun: "the auditor",
	NotReady: "It becomes ready when it has read everything.",
	NoKind: "Install the CustomResourceDefinitions of the Prometheus operator first, or leave out " +
		"--prometheus=operator.",
	Otherwise: func(o *input.Flags) string {
		return "If Fleet has kept the objects of a bundle that was removed: " +
			o.Command("auditor uninstall --"+chart.DeployedByFleet)
	},
	Kept:     "others may have objects in it, and it has the auditor's journal",
	Outlives: true,
}

// statusRights are the rights that status requires, in terms of RBAC.
const statusRights = "It requires get on the objects of an installation (auditor install --dry-run=client lists " +
	"them) and on pods/proxy,\nand list on secrets and pods."

// NewCommand returns the verb and its subcommands.
func NewCommand(env cli.Environment) *cobra.Command {
	return chart.NewVerb("auditor", "Install, inspect and remove the auditor, which keeps an audit current",
		chart.NewInstall(env, component, "Install the auditor, or upgrade it", newValues()),
		chart.NewStatus(env, component, "Report the state of the auditor", statusRights, nil, evaluate),
		newHistory(env), newServe(env),
		chart.NewUninstall(env, component, "Remove the auditor from the cluster"))
}

// evaluate implements chart.Evaluator.
func evaluate(ctx context.Context, c *install.Cluster, f install.Facts) (*install.Status, any, []string) {
	s := installation.Evaluate(installation.Read(ctx, c, f))
	var names []string
	for _, r := range s.Replicas {
		names = append(names, "pod/"+escape.Line(r.Pod))
	}
	return &s.Status, s, names
}
