// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/installation"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// statusRights are the rights that status requires, in terms of RBAC.
const statusRights = "It requires get on every kind of an installation (auditor install --dry-run=client lists " +
	"them), on leases\nand on pods/proxy, list on secrets and pods, and create on subjectaccessreviews."

func newStatus(env verb.Environment) *cobra.Command {
	return chart.NewStatus(env, component, "Report the state of the auditor", statusRights, nil, evaluate)
}

// evaluate implements chart.Evaluator.
func evaluate(ctx context.Context, c *install.Cluster, f install.Facts) (chart.Evaluated, error) {
	facts, err := installation.Read(ctx, c, f)
	if err != nil {
		return chart.Evaluated{}, err
	}
	s := installation.Evaluate(facts)
	out := chart.Evaluated{Common: &s.Status, Document: s}
	for _, r := range s.Replicas {
		out.Lines = append(out.Lines, "pod/"+escape.Line(r.Pod))
	}
	return out, nil
}
