// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestPickNamespace: a namespace is a workspace, or else that of BundleDeployments.
func TestPickNamespace(t *testing.T) {
	desired := &directory.Directory{Fleet: &state.Fleet{}}
	for _, key := range []string{"team-a/cluster-one/shop", "team-b/cluster-one/blog", "team-b/team-a/wiki"} {
		p := strings.Split(key, "/")
		bd := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: p[1], Name: p[2],
			Labels: map[string]string{fleet.BundleNamespaceLabel: p[0]}}}
		desired.Deployments = append(desired.Deployments, &directory.Deployment{BD: bd, Namespace: p[1], Name: p[2]})
	}
	for namespace, want := range map[string]string{
		"":            "shop blog wiki",
		"team-a":      "shop", // a workspace has precedence
		"team-b":      "blog wiki",
		"cluster-one": "shop blog",
		"elsewhere":   "namespace elsewhere has no objects of Fleet; namespaces with objects of Fleet: team-a, team-b",
	} {
		picked, err := Scope{Namespace: namespace}.Pick(desired)
		var got []string
		for _, d := range picked {
			got = append(got, d.Name)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("namespace %q: %v, want %s", namespace, got, want)
		}
	}
}
