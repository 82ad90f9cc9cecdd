// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
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
	edge := &Cluster{State: &state.Cluster{AgentSecrets: map[string]string{"cattle-fleet-system": "cluster-edge"}}}
	hub := &Cluster{State: edge.State, watches: map[string]string{"cattle-fleet-local-system": "cluster-local"}}
	for want, d := range map[string]*Deployment{
		"cluster-edge":  {On: edge, Agent: "cattle-fleet-system"},
		"":              {On: edge, Agent: "other"},
		"cluster-local": {On: hub, Agent: "cattle-fleet-system"},
		"cluster-other": {Namespace: "cluster-other", On: edge, Agent: "cattle-fleet-system"},
	} {
		if got := d.DeploymentNamespace(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
