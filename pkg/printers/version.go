// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Version lays out versions, as kubectl version does. It has neither rows nor names of objects.
func Version(v *report.Version, o Options) Document {
	return Document{o, v, []report.ClientVersion{v.Client}, func(t text) { t.version(v) }, func(text) {}}
}

func (t text) version(v *report.Version) {
	line := func(name, value string) { t.linef("%s: %s", name, printable(cmp.Or(value, "unknown"))) }
	line("Client Version", v.Client.Version)
	line("Git Commit", v.Client.GitCommit)
	line("Go Version", v.Client.GoVersion)
	line("Platform", v.Client.Platform)
	if v.Source == nil {
		return
	}
	line("Kubernetes Version", v.Source.KubernetesVersion)
	versions := cmp.Or(v.Source.FleetVersions, &report.FleetVersions{})
	line("Fleet Controller Version", versions.Controller)
	if len(versions.Agents) == 0 {
		line("Fleet Agent Version", "")
	}
	for _, cluster := range slices.Sorted(maps.Keys(versions.Agents)) {
		about := versions.Agents[cluster]
		if cluster != "" {
			about += " (cluster " + cluster + ")"
		}
		line("Fleet Agent Version", about)
	}
	if len(v.Gaps) > 0 {
		t.line("")
	}
	t.notRead(v.Gaps, nil)
}
