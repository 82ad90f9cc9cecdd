// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var contested = Check{
	Code: "FD103", Name: "Contested", Severity: report.Error,
	Title: "two bundles on one cluster want the same object",
	Explain: "The bundle that deployed last holds it and is Ready; every other one says \"not owned by us\" for ever, and still deletes the object by name " +
		"when it is uninstalled. Take the object out of all bundles but one.",
	run: func(c *Case) []report.Finding {
		holders := map[object.Key]*Object{}
		for _, d := range c.Deployments {
			for i := range d.Objects {
				holders[d.Objects[i].Key()] = &d.Objects[i]
			}
		}
		var out []report.Finding
		for _, key := range slices.SortedFunc(maps.Keys(holders), object.Key.Compare) {
			if wants := c.Inventory.Wants[key]; len(wants) > 1 {
				out = append(out, contest(wants, holders[key]))
			}
		}
		return out
	},
}

func contest(wants []*inventory.Want, o *Object) report.Finding {
	names := make([]string, len(wants))
	for i, w := range wants {
		names[i] = w.Deployment.Key()
	}
	held := "nobody holds it now"
	switch {
	case o.State == report.Unknown:
		held = "who holds it now could not be read"
	case o.State == report.Missing:
	case o.State != report.Unowned:
		held = o.Deployment.Key() + " holds it now"
	case o.Owner == nil || o.Owner.SetID == o.Deployment.Ownership.SetID && o.Owner.BundleDeployment == "": // only its own id is left of its marks
	default:
		held = "it is held by " + holder(o.Owner)
	}
	return report.Finding{
		Object: o.Ref, Cluster: o.Deployment.Cluster,
		Message:     fmt.Sprintf("%s is wanted by %s; %s", o.Key(), strings.Join(names, " and "), held),
		Remediation: "take it out of all bundles but one",
	}
}
