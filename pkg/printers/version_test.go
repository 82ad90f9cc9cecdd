// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

func versionsOf(t *testing.T, p *people) {
	t.Helper()
	v := &report.Version{APIVersion: report.APIVersion, Kind: report.KindVersion,
		Client: report.ClientVersion{Version: "v0.1.0", GitCommit: "0123456789abcdef0123456789abcdef01234567",
			GoVersion: "go1.26.0", Platform: "linux/amd64"}, Gaps: []report.Gap{}}
	p.Add("version of the client", shown(t, "table", printers.Version(v, printers.Options{})))
	v.Source = &report.Source{Kind: "cluster", Context: "prod", KubernetesVersion: "v1.36.3",
		FleetVersions: &report.FleetVersions{Agents: map[string]string{"fleet-default/edge-1": "v0.15.6",
			"": "v0.16.\x1b[31m1"}}}
	v.Gaps = []report.Gap{{What: "listing Namespace objects", Reason: "Forbidden", Effect: "nothing"}}
	d := printers.Version(v, printers.Options{})
	golden.Compare(t, "version.json", p.addDocument(t, "version", d))
	golden.Compare(t, "version.yaml", shown(t, "yaml", d)) // the style of all documents
}
