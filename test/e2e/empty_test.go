// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// TestEmptyFleet audits a cluster with Fleet's kinds and no objects of them: the report is clean.
func TestEmptyFleet(t *testing.T) {
	r := onServer(t, shared).audit("--require-complete")
	expect(t, r, outcome{})
	if r.report == nil {
		t.Error("no report")
	}
}

// TestWithoutFleet audits a server without Fleet's kinds: first without Fleet, then as a downstream cluster.
func TestWithoutFleet(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t)
	t.Run("no Fleet", func(t *testing.T) {
		f := onServer(t, c)
		// a release without Fleet
		f.InstallRelease(t, cluster.ReleaseOptions{Name: "theirs", Namespace: apps, Manifest: theme})
		r := f.audit()
		expect(t, r, outcome{Status: 3})
		expectContains(t, "stderr", r.stderr, "no Fleet found here: https://127.0.0.1:", "snapshot")
	})
	t.Run("no Fleet, without permissions", func(t *testing.T) {
		r := onServer(t, c).audit("--kubeconfig", (&fleetServer{Cluster: c, t: t}).user("nobody"))
		expect(t, r, outcome{Status: 3})
		expectContains(t, "stderr", r.stderr, "no object of Fleet could be read")
	})
	t.Run("downstream", func(t *testing.T) { testDownstream(t, c) })
}

// testDownstream audits a cluster that another cluster manages. Only the releases are known, by their charts'
// annotations.
func testDownstream(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	f := onServer(t, c)
	f.installAgent("edge")
	install := func(name, namespace, manifest string) {
		id := fleet.SetID(name, "edge")
		f.namespace(namespace)
		f.InstallRelease(t, cluster.ReleaseOptions{BundleID: name, Namespace: namespace, SetID: id,
			Hash:           fleet.Hash(id),
			AgentNamespace: agentNamespace, Manifest: manifest})
	}
	install("guestbook", apps, guestbook)
	install("back", "other", theme)
	f.InstallRelease(t, cluster.ReleaseOptions{Name: "theirs", Namespace: apps,
		Manifest: "{apiVersion: v1, kind: Secret, metadata: {name: theirs}}"})

	r := f.audit("--require-complete", "--fail-on", "info")
	expect(t, r, outcome{Deployments: map[string]string{"guestbook": "Ready", "back": "Ready"}})
	got := r.deployment(t, "guestbook")
	got.Resources = nil
	id := fleet.SetID("guestbook", "edge")
	want := report.BundleDeployment{Name: "guestbook", Release: "apps/guestbook:1", SetID: id, Hash: fleet.Hash(id),
		DesiredFrom: "release",
		State:       report.Ready, Counts: report.Counts{Desired: 3, Ready: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deployment (-want +got):\n%s", diff)
	}

	f.remove(configMap("settings"))
	f.merge("remover", configMap("texts"), `{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null}}}`)
	sick := outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Modified"},
		Objects:     map[string]string{settings: "Missing", "configmap apps/texts": "Unowned HashStripped"},
		Findings:    []string{"FD101 " + settings, "FD102 configmap apps/texts"},
	}
	for name, args := range map[string][]string{
		"by the release's namespace": {"-n", apps},
		"by the bundle's id":         {"bundledeployment/guestbook"},
	} {
		if expect(t, f.audit(args...), sick); t.Failed() {
			t.Fatal(name)
		}
	}
	expect(t, f.audit("-n", "other"), outcome{Deployments: map[string]string{"back": "Ready"}})
}
