// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestScope narrows an audit. Every bundle deployment misses an object, so that each one in scope is visible.
func TestScope(t *testing.T) {
	f := newFleet(t, shared)
	f.namespace("team")
	deploy := func(name, workspace string, labels map[string]string) {
		b := f.bundle(name, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}")
		b.workspace, b.labels = workspace, labels
		b.deploy()
		f.remove(configMap(name))
	}
	deploy("front", workspace, map[string]string{"tier": "web"})
	deploy("back", workspace, nil)
	deploy("other", "team", map[string]string{"tier": "web"})

	for name, test := range map[string]struct {
		args  []string
		want  []string
		scope report.Scope
	}{
		"everything": {want: []string{"back", "front", "other"}},
		"workspace": {args: []string{"-n", "team"}, want: []string{"other"},
			scope: report.Scope{Namespaces: []string{"team"}}},
		"selector": {args: []string{"-l", "tier=web"}, want: []string{"front", "other"},
			scope: report.Scope{Selectors: []string{"tier=web"}}},
		"GitRepo": {args: []string{"gitrepo/apps", "-n", "fleet-local"}, want: []string{"back", "front"},
			scope: report.Scope{Namespaces: []string{"fleet-local"}, Targets: []string{"gitrepo/apps"}}},
		"bundle": {args: []string{"bundle/front"}, want: []string{"front"},
			scope: report.Scope{Targets: []string{"bundle/front"}}},
		"bundle, two words": {args: []string{"bundle", "front"}, want: []string{"front"},
			scope: report.Scope{Targets: []string{"bundle/front"}}},
		"two bundles": {args: []string{"bundles.fleet.cattle.io/front", "bundle/other"},
			want: []string{"front", "other"}, scope: report.Scope{Targets: []string{"bundle/front", "bundle/other"}}},
		"cluster": {args: []string{"cluster/local"}, want: []string{"back", "front", "other"},
			scope: report.Scope{Targets: []string{"cluster/local"}}},
		"BundleDeployment": {args: []string{"bd/back"}, want: []string{"back"},
			scope: report.Scope{Targets: []string{"bundledeployment/back"}}},
		"all three": {args: []string{"-n", "fleet-local", "-l", "tier=web", "cluster/local"},
			want: []string{"front"}, scope: report.Scope{Namespaces: []string{"fleet-local"},
				Selectors: []string{"tier=web"}, Targets: []string{"cluster/local"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.audit(test.args...)
			want := outcome{}
			for _, d := range test.want {
				want.Status = 1
				if want.Deployments == nil {
					want.Deployments, want.Objects = map[string]string{}, map[string]string{}
				}
				want.Deployments[d] = "Modified"
				want.Objects["configmap apps/"+d] = "Missing"
			}
			for _, d := range slices.Sorted(maps.Keys(want.Objects)) {
				want.Findings = append(want.Findings, "FD101 "+d)
			}
			if name == "GitRepo" { // its bundle deployments have no Bundle
				want.Findings = append(want.Findings, "FD611 gitrepo.fleet.cattle.io fleet-local/apps")
			}
			expect(t, r, want)
			if diff := cmp.Diff(test.scope, r.report.Scope); diff != "" {
				t.Errorf("scope (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWrongScope names objects that do not exist and values that are not valid.
func TestWrongScope(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	f.ApplyYAML(t, controller, "{apiVersion: fleet.cattle.io/v1alpha1, kind: Bundle, metadata: {name: targetless, "+
		"namespace: fleet-local}}")
	for name, test := range map[string]struct {
		args     []string
		status   int
		contains []string
	}{
		"an unknown bundle": {args: []string{"bundle/nope"}, status: 3,
			contains: []string{"bundle/nope not found", "get bundles.fleet.cattle.io -A"}},
		"a bundle of another workspace": {args: []string{"-n", "team", "bundle/guestbook"}, status: 3,
			contains: []string{"namespace team has no objects of Fleet"}},
		"an empty workspace": {args: []string{"-n", "nowhere"}, status: 3,
			contains: []string{"namespace nowhere has no objects of Fleet", "fleet-local"}},
		"one of two targets": {args: []string{"bundle/guestbook", "gitrepo/nope"}, status: 3,
			contains: []string{"gitrepo/nope"}},
		"a selector without a match": {args: []string{"-l", "tier=none"}, status: 3,
			contains: []string{`no bundle deployment matches: selector "tier=none"`}},
		"an invalid namespace": {args: []string{"-n", "No/Namespace"}, status: 2,
			contains: []string{"parsing --namespace"}},
		"one namespace and all": {args: []string{"-n", "fleet-local", "-A"}, status: 2,
			contains: []string{"--namespace", "--all-namespaces"}},
		"an object that no bundle desires": {args: []string{"pod/web"}, status: 3,
			contains: []string{"no bundle has or desires pod/web"}},
		"a name of nothing":   {args: []string{"gestbook"}, status: 3, contains: []string{"gestbook", "guestbook"}},
		"a kind without name": {args: []string{"bundle/"}, status: 2, contains: []string{`"bundle/"`}},
		"an invalid selector": {args: []string{"-l", "=="}, status: 2,
			contains: []string{"parsing --selector"}},
		"an invalid choice": {args: []string{"--server-check", "maybe"}, status: 2,
			contains: []string{"auto, always, never"}},
		"an invalid output format": {args: []string{"-o", "csv"}, status: 2, contains: []string{"json"}},
		"a snapshot of a live cluster": {args: []string{"--snapshot", "somewhere"}, status: 2,
			contains: []string{"--snapshot", "--kubeconfig"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.audit(test.args...)
			expect(t, r, outcome{Status: test.status})
			expectContains(t, "stderr", r.stderr, test.contains...)
		})
	}
	// A bundle without deployments is a subject: its controller has not processed it.
	expect(t, f.audit("bundle/targetless"), outcome{Status: 1,
		Findings: []string{"FD611 bundle.fleet.cattle.io fleet-local/targetless"}})
}
