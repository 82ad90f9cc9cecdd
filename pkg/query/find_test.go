// SPDX-License-Identifier: Apache-2.0

package query

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// desiredOf resolves Fleet's objects, given as JSON by their kind.
func desiredOf(t *testing.T, objects ...[2]string) *desired.State {
	t.Helper()
	f := &state.Fleet{}
	for _, o := range objects {
		for _, k := range state.Kinds {
			if k.Name != o[0] {
				continue
			}
			if err := k.Add(f, []byte(o[1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	return desired.Resolve(desired.Input{Directory: directory.Build(directory.Input{Fleet: f})})
}

func named(kind, namespace, name, labels string) [2]string {
	return [2]string{kind, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"labels":{%s}}}`, namespace, name,
		labels)}
}

// TestFind checks which Bundles and BundleDeployments are deleted with an object.
func TestFind(t *testing.T) {
	of := func(bundle, more string) string {
		return fmt.Sprintf(`"fleet.cattle.io/bundle-name":%q,"fleet.cattle.io/bundle-namespace":"team-a"%s`, bundle,
			more)
	}
	d := desiredOf(t,
		named("GitRepo", "team-a", "shop", ""), named("GitRepo", "team-b", "shop", ""),
		named("HelmOp", "team-a", "chart", ""),
		named("Bundle", "team-a", "shop-web", `"fleet.cattle.io/repo-name":"shop"`),
		named("Bundle", "team-a", "shop-new", `"fleet.cattle.io/repo-name":"shop"`),
		named("Bundle", "team-a", "alone", ""), named("Bundle", "team-a", "chart",
			`"fleet.cattle.io/fleet-helm-name":"chart"`),
		[2]string{"Cluster", `{"metadata":{"namespace":"team-a","name":"one"},"status":{"namespace":"cluster-one"}}`},
		named("BundleDeployment", "cluster-one", "shop-web", of("shop-web", "")), // the label of its Bundle decides
		named("BundleDeployment", "cluster-two", "shop-web", of("shop-web", `,"fleet.cattle.io/repo-name":"shop"`)),
		named("BundleDeployment", "cluster-one", "chart", of("chart", "")),
		// neither its Bundle nor its GitRepo was read
		named("BundleDeployment", "cluster-one", "unread", of("unread", `,"fleet.cattle.io/repo-name":"hidden"`)),
	)
	for _, tc := range []struct {
		kind, namespace, name string
		want                  []string // "key: bundles, deployments"
	}{
		{"GitRepo", "", "shop",
			[]string{"team-a/shop: [team-a/shop-new team-a/shop-web] [cluster-one/shop-web cluster-two/shop-web]",
				"team-b/shop: [] []"}},
		{"GitRepo", "team-b", "shop", []string{"team-b/shop: [] []"}},
		{"GitRepo", "", "hidden", []string{"team-a/hidden: [team-a/unread] [cluster-one/unread]"}},
		{"HelmOp", "", "chart", []string{"team-a/chart: [team-a/chart] [cluster-one/chart]"}},
		{"Bundle", "", "shop-web",
			[]string{"team-a/shop-web: [team-a/shop-web] [cluster-one/shop-web cluster-two/shop-web]"}},
		{"Bundle", "", "alone", []string{"team-a/alone: [team-a/alone] []"}},
		{"BundleDeployment", "", "shop-web", []string{"cluster-one/shop-web: [] [cluster-one/shop-web]",
			"cluster-two/shop-web: [] [cluster-two/shop-web]"}},
		{"BundleDeployment", "cluster-two", "shop-web", []string{"cluster-two/shop-web: [] [cluster-two/shop-web]"}},
		{"Cluster", "", "one", []string{"team-a/one: [] [cluster-one/chart cluster-one/shop-web cluster-one/unread]"}},
		{"Bundle", "", "gone", nil},
		{"BundleDeployment", "team-a", "shop-web", []string{"cluster-one/shop-web: [] [cluster-one/shop-web]",
			"cluster-two/shop-web: [] [cluster-two/shop-web]"}}, // its workspace
		{"BundleDeployment", "team-b", "shop-web", nil},
	} {
		var got []string
		for _, x := range FindDeleted(d, tc.kind, tc.namespace, tc.name) {
			deployments := []string{}
			for _, d := range x.Deployments {
				deployments = append(deployments, d.Key())
			}
			got = append(got, fmt.Sprintf("%s: %v %v", x.Key(), x.Bundles, deployments))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s %s/%s (-want +got):\n%s", tc.kind, tc.namespace, tc.name, diff)
		}
	}
}
