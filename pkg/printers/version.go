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
	return Document{o, v, []report.ClientVersion{v.Client}, func(l *layout) { version(l, v) }, noNames}
}

func noNames() []string { return nil }

func version(l *layout, v *report.Version) {
	line := func(name, value string) { l.line(name, ": ", cmp.Or(value, "unknown")) }
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
	l.end()
	notRead(l, v.Gaps, nil)
}
