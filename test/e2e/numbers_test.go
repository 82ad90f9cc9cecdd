// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
)

// TestNumbers deletes one of eleven objects by hand. No Fleet runs here, so every status still reports eleven of
// eleven.
func TestNumbers(t *testing.T) {
	f := newFleet(t, shared)
	var manifests []string
	for i := range 11 {
		manifests = append(manifests, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: part-%02d}}", i))
	}
	f.deploy("eleven", strings.Join(manifests, "\n---\n"))
	f.remove(configMap("part-07"))
	r := f.audit()
	if r.status != 1 {
		t.Errorf("exit status %d", r.status)
	}
	reported, cause := map[string]string{}, map[string]facts.Cause{}
	for _, finding := range r.report.Findings {
		text, _, _ := strings.Cut(finding.Message, ":")
		reported[finding.Code], cause[finding.Code] = text, finding.Cause
	}
	want := map[string]string{
		"FD101": "configmap apps/part-07 is not on the cluster",
		"FD201": clusterNamespace + "/eleven reports 11/11 objects ready, 10/11 are (1 missing)",
		"FD202": "bundle fleet-local/eleven reports 1/1 bundle deployments ready, but the number computed from its " +
			"bundle deployments is 0/1",
		"FD205": "cluster fleet-local/local reports 11/11 objects ready, but the number computed from its bundle " +
			"deployments is 10/11",
	}
	if diff := cmp.Diff(want, reported); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]facts.Cause{"FD101": "", "FD201": facts.Lag, "FD202": facts.Lag, "FD205": facts.Lag},
		cause); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}
