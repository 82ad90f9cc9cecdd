// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestFindOfFleet checks what a name stands for that several objects have, if one of them is Fleet's. The HelmOp loki
// makes the Bundle loki; no GitRepo makes the Bundle apps.
func TestFindOfFleet(t *testing.T) {
	meta := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ws", Name: name, Labels: labels}
	}
	read := &state.Fleet{
		GitRepos: []*v1alpha1.GitRepo{{ObjectMeta: meta("apps", nil)}},
		HelmOps:  []*v1alpha1.HelmOp{{ObjectMeta: meta("loki", nil)}},
		Bundles: []*v1alpha1.Bundle{{ObjectMeta: meta("apps", nil)},
			{ObjectMeta: meta("loki", map[string]string{fleet.HelmOpLabel: "loki"})}},
	}
	placed := directory.Deployment{Namespace: "cluster-a", Name: "web", GitRepo: "ws/web", Bundle: "ws/web",
		Cluster: "ws/a"}
	desired := &desired.State{
		Directory: &directory.Directory{Fleet: read, Deployments: []*directory.Deployment{&placed}},
		Deployments: []*desired.BundleDeployment{{Deployment: placed, Desired: []*desired.Object{
			{Ref: object.Ref{APIVersion: "v1", Kind: "Service", Namespace: "logs", Name: "loki"}}}}},
	}
	for name, want := range map[string]string{
		"loki": `the name "loki" is that of helmop/ws/loki, and also that of bundle/ws/loki and 1 more`,
		"web":  `the name "web" is that of gitrepo/ws/web, and also that of bundle/ws/web`,
		"a":    `the name "a" is that of cluster/ws/a`,
		"apps": `"apps" is the name of several objects: bundle/ws/apps, gitrepo/ws/apps`,
	} {
		found, err := Find(desired, source.Named{Name: name}, &source.Kinds{})
		got := fmt.Sprint(found)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	found, err := Find(desired, source.Named{Namespace: "logs", Name: "loki"}, &source.Kinds{})
	if err != nil || found.String() != "bundle ws/web desires service logs/loki" {
		t.Errorf("loki in namespace logs: %v, %v", found, err)
	}
}
