// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/installation"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/chart"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
)

// component is what the verb installs.
var component = chart.Component{
	Chart: installation.Chart, Verb: "auditor", Noun: "the auditor",
	Stop:     "to stop the auditor, use `auditor uninstall`",
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
