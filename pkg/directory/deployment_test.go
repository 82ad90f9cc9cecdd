// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestOptions checks that options from files have precedence over those of the BundleDeployment, and that the default
// is the empty options.
func TestOptions(t *testing.T) {
	bd := &v1alpha1.BundleDeployment{}
	bd.Spec.Options.DefaultNamespace = "web"
	fromFiles := &v1alpha1.Options{DefaultNamespace: "shop"}
	for want, d := range map[string]*Deployment{"": {}, "web": {BD: bd},
		"shop": {BD: bd, Files: &Files{Options: fromFiles}}} {
		if got := d.Options().DefaultNamespace; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDeploymentNamespace checks that the Secret of the agent identifies a downstream cluster, which has none of
// Fleet's objects, so that its metrics can be joined with those of the management cluster.
func TestDeploymentNamespace(t *testing.T) {
	t.Parallel()
	edge := &Cluster{State: &state.Cluster{AgentSecrets: map[string]string{"cattle-fleet-system": "cluster-edge"}},
		fleet: &state.Fleet{}}
	hub := &Cluster{State: edge.State, fleet: edge.fleet,
		watches: map[string]string{"cattle-fleet-local-system": "cluster-local"}}
	for want, tc := range map[string]struct {
		on    *Cluster
		state Deployment
	}{
		"cluster-edge":  {edge, Deployment{Agent: "cattle-fleet-system"}},
		"":              {edge, Deployment{Agent: "other"}},
		"cluster-local": {hub, Deployment{Agent: "cattle-fleet-system"}},
		"cluster-other": {edge, Deployment{Namespace: "cluster-other", Agent: "cattle-fleet-system"}},
	} {
		d := &tc.state
		tc.on.place(d)
		if got := d.DeploymentNamespace(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestEvidence has BundleDeployments that name a release. One in a namespace of a tenant confirms nothing: who writes
// the record can write it too.
func TestEvidence(t *testing.T) {
	for namespace, want := range map[string]bool{"cluster-fleet-local-local-1a3d67d0a899": true, "tenant": false,
		"fleet-local": false} {
		bd := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "evil"}}
		d := &Deployment{BD: bd, Placed: true,
			Release: release.Name{Namespace: "tenant", Name: "evil", Revision: 1}}
		e := d.Evidence()
		if got := e.Confirms(object.Key{Kind: "ConfigMap", Namespace: "kube-system", Name: "x"}); got != want {
			t.Errorf("a BundleDeployment in %s confirms the record: %t, want %t", namespace, got, want)
		}
	}
}
