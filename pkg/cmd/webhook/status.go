// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

func newStatus(env verb.Environment) *cobra.Command {
	warnings := &installation.Warnings{}
	// evaluate implements chart.Evaluator.
	evaluate := func(ctx context.Context, c *install.Cluster, f install.Facts) (chart.Evaluated, error) {
		facts, err := installation.Read(ctx, c, f)
		if err != nil {
			return chart.Evaluated{}, err
		}
		tester := &installation.Tester{Cluster: c, Facts: facts, Warnings: warnings, Now: env.Now}
		if facts.Test, err = tester.Test(ctx); err != nil {
			return chart.Evaluated{}, err
		}
		return evaluated(installation.Evaluate(facts)), nil
	}
	return chart.NewStatus(env, component, "Report the state of the admission webhook, and test it with dry runs",
		statusRights, warnings, evaluate)
}

func evaluated(s *installation.Status) chart.Evaluated {
	out := chart.Evaluated{Common: &s.Status, Document: s}
	for _, webhook := range s.Webhooks {
		out.Lines = append(out.Lines, escape.Line(webhook.Name))
	}
	return out
}
