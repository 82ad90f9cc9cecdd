// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// guestbook is a manifest of three objects that are ready as soon as they exist.
const guestbook = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: guestbook}}
data: {colour: blue, size: large}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: texts}, data: {greeting: hello}}
---
{apiVersion: v1, kind: Service, metadata: {name: frontend}, spec: {selector: {app: guestbook}, ports: [{port: 80}]}}
`

const settings = "configmap apps/settings"

// TestAllReady is the state from which every other test starts.
func TestAllReady(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	r := f.audit("--require-complete", "--fail-on", "info")
	expect(t, r, outcome{Status: 0, Deployments: map[string]string{"guestbook": "Ready"}})
	if r.stderr != "" {
		t.Errorf("stderr: %s", r.stderr)
	}
	ready, one := 3, 1
	all := report.Counts{Desired: 3, Ready: 3}
	id := fleet.SetID("guestbook", "")
	got := r.deployment(t, "guestbook")
	got.Resources, got.Reported.AsOf = nil, ""
	want := report.BundleDeployment{
		Namespace: clusterNamespace, Name: "guestbook", Cluster: "fleet-local/local", Bundle: "fleet-local/guestbook",
		GitRepo: "fleet-local/apps",
		Release: "apps/guestbook:1", SetID: id, Hash: fleet.Hash(id), DesiredFrom: "release", State: report.Ready,
		Counts: all,
		Reported: &report.Reported{State: "Ready", DesiredReady: &ready, Ready: &ready,
			Missing: new(int), Modified: new(int), NotReady: new(int), Orphaned: new(int)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deployment (-want +got):\n%s", diff)
	}
	actual := report.Actual{BundleDeployments: 1, ReadyBundleDeployments: 1, Counts: all}
	for kind, list := range map[string][]report.Aggregate{"GitRepo": r.report.GitRepos, "Bundle": r.report.Bundles,
		"Cluster": r.report.Clusters} {
		if len(list) != 1 || *list[0].Actual != actual {
			t.Errorf("%s: %+v, want one with %+v", kind, list, actual)
		}
	}
	if reported := r.report.Clusters[0].Reported; *reported.Ready != ready || *reported.ReadyBundleDeployments != one {
		t.Errorf("the Cluster reports %+v", reported)
	}
	versions := &report.FleetVersions{Agents: map[string]string{"fleet-local/local": "v0.15.1"}}
	if diff := cmp.Diff(versions, r.report.Source.FleetVersions); diff != "" {
		t.Errorf("Fleet's versions (-want +got):\n%s", diff)
	}
}

// TestStates changes one of the three objects of a bundle.
func TestStates(t *testing.T) {
	id := fleet.SetID("guestbook", "")
	patch := func(labels, annotations string) func(*fleetServer) {
		return func(f *fleetServer) {
			f.merge("remover", configMap("settings"),
				`{"metadata":{"labels":{`+labels+`},"annotations":{`+annotations+`}}}`)
		}
	}
	const (
		noHash  = `"objectset.rio.cattle.io/hash":null`
		noID    = `"objectset.rio.cattle.io/id":null`
		noHelm  = `"app.kubernetes.io/managed-by":null`
		noNames = `"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null`
	)
	for name, test := range map[string]struct {
		change func(*fleetServer)
		// expected is the result for object settings; the others stay Ready.
		expected report.Resource
		finding  string // code; empty if there is none
		info     bool   // the finding is below --fail-on
	}{
		"deleted": {
			change:   func(f *fleetServer) { f.remove(configMap("settings")) },
			expected: report.Resource{State: report.Missing},
			finding:  "FD101",
		},
		"hash removed": {
			change: patch(noHash, ""),
			expected: report.Resource{State: report.Unowned, Reason: "HashStripped", Owner: &report.Owner{SetID: id,
				Release: "apps/guestbook"}},
			finding: "FD102",
		},
		"Fleet's metadata removed": {
			change:   patch(noHash, noID),
			expected: report.Resource{State: report.Unowned, Reason: "HelmOnly"},
			finding:  "FD102",
		},
		"all metadata removed": {
			change:   patch(noHash+","+noHelm, noID+","+noNames),
			expected: report.Resource{State: report.Unowned, Reason: "Unmarked"},
			finding:  "FD102",
		},
		"created again by hand": {
			change: func(f *fleetServer) {
				f.remove(configMap("settings"))
				f.ApplyYAML(f.t, "kubectl",
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: apps}}")
			},
			expected: report.Resource{State: report.Unowned, Reason: "Unmarked", Differences: []report.Difference{
				{Path: ".data.colour", Desired: evaluate.Plain("blue")},
				{Path: ".data.size", Desired: evaluate.Plain("large")},
				{Path: ".metadata.labels.app", Desired: evaluate.Plain("guestbook")},
			}},
			finding: "FD102",
		},
		"id removed": {
			change:   patch("", noID),
			expected: report.Resource{State: report.Ready},
			finding:  "FD108", info: true,
		},
		"another hash": {
			change: patch(`"objectset.rio.cattle.io/hash":"`+fleet.Hash("default-other")+`"`, ""),
			expected: report.Resource{State: report.Unowned, Reason: "Inconsistent",
				Owner: &report.Owner{SetID: id, Hash: fleet.Hash("default-other"), Release: "apps/guestbook"}},
			finding: "FD102",
		},
		"metadata of an unknown set": {
			change: patch(`"objectset.rio.cattle.io/hash":"`+fleet.Hash("default-other")+`"`,
				`"objectset.rio.cattle.io/id":"default-other"`),
			expected: report.Resource{State: report.Unowned, Reason: "ForeignOwner",
				Owner: &report.Owner{SetID: "default-other", Hash: fleet.Hash("default-other"),
					Release: "apps/guestbook"}},
			finding: "FD102",
		},
		"metadata of another Helm release": {
			change: patch(noHash,
				noID+`,"meta.helm.sh/release-name":"other","meta.helm.sh/release-namespace":"elsewhere"`),
			expected: report.Resource{State: report.Unowned, Reason: "ForeignOwner",
				Owner: &report.Owner{Release: "elsewhere/other"}},
			finding: "FD102",
		},
		"a field updated": {
			change: func(f *fleetServer) {
				f.merge("kubectl-edit", configMap("settings"),
					`{"data":{"colour":"red"}}`)
			},
			expected: report.Resource{State: report.Modified,
				Differences: []report.Difference{{Path: ".data.colour", Pointer: "/data/colour",
					Desired: evaluate.Plain("blue"), Live: evaluate.Plain("red"), Manager: "kubectl-edit",
					Operation: "Update", Time: justNow}}},
			finding: "FD104",
		},
		"a field applied": {
			change: func(f *fleetServer) {
				f.ApplyYAML(f.t, "argocd", `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: apps}
data: {size: small}
`)
			},
			expected: report.Resource{State: report.Modified,
				Differences: []report.Difference{{
					Path:      ".data.size",
					Pointer:   "/data/size",
					Desired:   evaluate.Plain("large"),
					Live:      evaluate.Plain("small"),
					Manager:   "argocd",
					Operation: "Apply",
					Time:      justNow,
				}}},
			finding: "FD104",
		},
		"a field removed": { // a removed field has no manager
			change: func(f *fleetServer) {
				f.merge("kubectl-edit", configMap("settings"),
					`{"data":{"colour":null}}`)
			},
			expected: report.Resource{State: report.Modified,
				Differences: []report.Difference{{Path: ".data.colour", Pointer: "/data/colour",
					Desired: evaluate.Plain("blue")}}},
			finding: "FD104",
		},
		"only additions": {
			change: func(f *fleetServer) {
				f.merge("sidecar", configMap("settings"),
					`{"data":{"extra":"1"},"metadata":{"labels":{"extra":"1"},"annotations":{"extra":"1"}}}`)
			},
			expected: report.Resource{State: report.Ready},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			f.deploy("guestbook", guestbook)
			test.change(f)
			r := f.audit("--server-check", "never")

			want := outcome{Deployments: map[string]string{"guestbook": "Ready"}}
			if test.finding != "" {
				want.Findings = []string{test.finding + " " + settings}
			}
			if test.expected.State != report.Ready {
				want.Status = 1
				want.Deployments["guestbook"] = "Modified" // Fleet's state for any object that is not ready
				want.Objects = map[string]string{settings: strings.TrimSpace(string(test.expected.State) + " " +
					test.expected.Reason)}
			}
			expect(t, r, want)
			got := r.resource(t, "guestbook", settings)
			if diff := cmp.Diff(test.expected, got, cmpopts.IgnoreFields(report.Resource{}, "Ref")); diff != "" {
				t.Errorf("resource (-want +got):\n%s", diff)
			}
		})
	}
}
