// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var abandoned = Check{
	Code: "FD106", Name: "Abandoned", Severity: report.Warning,
	Title: "the object is marked by a set that no release on this cluster has",
	Explain: "Its bundle was deleted with keepResources, renamed, or deployed by an agent of another scope. Fleet reports such objects nowhere, and nothing will " +
		"delete them. Sets of Fleet's own and sets that have an owner are left out.",
	run: func(c *Case) []report.Finding {
		if !c.Whole || !c.Inventory.SetsComplete {
			return nil // a set that was not read cannot be told from one that is gone
		}
		var out []report.Finding
		for _, m := range c.Marked {
			if len(c.Inventory.Sets[m.Metadata.Hash]) > 0 || !abandonedByAgent(c, m) {
				continue
			}
			out = append(out, report.Finding{
				Object:      m.Ref,
				Message:     fmt.Sprintf("%s belongs to set %q, which no release on this cluster has", m.Key(), m.Metadata.SetID),
				Evidence:    leftMarks(m),
				Remediation: fmt.Sprintf("%s get %s -o yaml", c.Commands.kubectl(m.Ref), kubectlName(m.Ref)),
			})
		}
		return out
	},
}

func abandonedByAgent(c *Case, m Marked) bool {
	switch {
	case m.Owned || fleet.IsFleetsOwnSet(m.Metadata.SetID):
		return false
	case m.Metadata.SetID == "": // the id was lost; only Helm's marks can still say where it came from
		return !m.Controlled && m.Metadata.ReleaseName != "" && !c.Inventory.Releases[m.Metadata.Release()]
	}
	return fleet.IsBundleSet(m.Metadata.SetID) && len(c.Inventory.Sets[fleet.Hash(m.Metadata.SetID)]) == 0
}

func leftMarks(m Marked) []string {
	out := []string{fmt.Sprintf("label %s=%s", fleet.HashLabel, m.Metadata.Hash)}
	if m.Metadata.ReleaseName != "" {
		out = append(out, "Helm's marks name release "+m.Metadata.Release())
	}
	return out
}
