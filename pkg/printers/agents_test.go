// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/agents"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// TestGoldenAgents compares the formats of agents reports with the golden files.
func TestGoldenAgents(t *testing.T) {
	for _, name := range []string{"agent-heartbeats", "agent-pending", "reimport-fleet-0.12", "reimport-ca",
		"reimport-masked"} {
		d, err := agents.Of(t.Context(), captured(t, "cases/"+name+".yaml"), agents.Options{Version: "test"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, name+".table", shown(t, "table", printers.Agents(d, printers.Options{})))
		if name == "reimport-ca" {
			for _, format := range formats[1:] {
				golden.Compare(t, name+"."+format, shown(t, format, printers.Agents(d, printers.Options{Colour: true})))
			}
		}
	}
}
