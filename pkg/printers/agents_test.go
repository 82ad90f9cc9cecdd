// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

func agentsOf(t *testing.T, p *people) {
	t.Helper()
	for _, name := range []string{"agent-heartbeats", "agent-pending", "reimport-fleet-0.12", "reimport-ca",
		"reimport-masked"} {
		d, err := query.Agents(t.Context(), captured(t, "cases/"+name+".yaml"), query.Options{Version: "test"},
			nil)
		if err != nil {
			t.Fatal(err)
		}
		content := p.addDocument(t, "agents, "+name, printers.Agents(d, printers.Options{}))
		if name == "reimport-ca" {
			p.Add("agents: wide, in colour", shown(t, "wide", printers.Agents(d, printers.Options{Colour: true})))
			golden.Compare(t, "agents.json", content)
		}
	}
}
