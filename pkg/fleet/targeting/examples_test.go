// SPDX-License-Identifier: Apache-2.0

package targeting

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// TestPublicExamples evaluates the targets of the multi-cluster examples in rancher/fleet-examples, with the GitRepo of
// their README, with the default cluster group, and without targets, as in the bundles that the examples ship. The
// results are those of Fleet main and 0.13.15 on a running cluster: for the clusters dev, test and prod, the examples
// ship one expected output each.
func TestPublicExamples(t *testing.T) {
	in := Input{
		Clusters: []*v1alpha1.Cluster{cluster("dev", "env=dev"), cluster("test", "env=test"),
			cluster("prod", "env=prod"), cluster("other", "env=other"),
			cluster("win", "windows.version=win2019")},
		Groups: []*v1alpha1.ClusterGroup{clusterGroup("default", "", "")},
	}
	selects := func(label string, values ...string) string {
		var out []string
		for _, v := range values {
			out = append(out, "{name: "+v+", clusterSelector: {matchLabels: {"+label+": "+v+"}}}")
		}
		return strings.Join(out, ", ")
	}
	environments := selects("env", "dev", "test", "prod") // helm, helm-external, helm-kustomize, kustomize, manifests
	windows := selects("windows.version", "win2022", "win2019", "win2004", "win1909", "win1903", "win1809")
	const group = "{name: everything, clusterGroup: default}"
	const none = "Excluded NoMatch"
	for _, tt := range []struct {
		name, customizations, targets string // targets of the GitRepo
		want                          map[string]string
	}{
		{"shipped", environments, "",
			map[string]string{"dev": "Expected dev", "test": "Expected test", "prod": "Expected prod", "other": none,
				"win": none}},
		{"README", environments, environments,
			map[string]string{"dev": "Expected dev+dev", "test": "Expected test+test", "prod": "Expected prod+prod",
				"other": none, "win": none}},
		{"default group", environments, group,
			map[string]string{"dev": "Expected everything+dev", "test": "Expected everything+test",
				"prod": "Expected everything+prod", "other": "Expected everything", "win": "Expected everything"}},
		{"windows-helm", windows, "", map[string]string{"dev": none, "test": none, "prod": none, "other": none,
			"win": "Expected win2019"}},
		{"windows-helm, README of the others", windows, environments,
			map[string]string{"dev": "Expected dev", "test": "Expected test", "prod": "Expected prod", "other": none,
				"win": "Excluded Restricted"}},
		{"windows-helm, default group", windows, group,
			map[string]string{"dev": "Expected everything", "test": "Expected everything",
				"prod": "Expected everything", "other": "Expected everything", "win": "Expected everything+win2019"}},
	} {
		spec := "{targets: [" + tt.customizations + "]}"
		if tt.targets != "" {
			spec = "{targets: [" + tt.customizations + ", " + tt.targets + "], targetRestrictions: [" + tt.targets +
				"]}"
		}
		for _, version := range []string{"v0.13.15", v016, "dev"} {
			in.Version = version
			got := results(in, bundle(t, spec))
			for name, result := range got {
				got[name] = strings.TrimSuffix(result, " in default")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tt.name, version, diff)
			}
		}
	}
}
