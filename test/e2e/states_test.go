// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// guestbook is a bundle of three objects that are ready as soon as they are there.
const guestbook = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {app: guestbook}}, data: {colour: blue, size: large}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: texts}, data: {greeting: hello}}
---
{apiVersion: v1, kind: Service, metadata: {name: frontend}, spec: {selector: {app: guestbook}, ports: [{port: 80}]}}
`

const settings = "configmap apps/settings"

// TestAllReady is the state that every other test departs from.
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
		Namespace: clusterNamespace, Name: "guestbook", Cluster: "fleet-local/local", Bundle: "fleet-local/guestbook", GitRepo: "fleet-local/apps",
		Release: "apps/guestbook:1", SetID: id, Hash: fleet.Hash(id), DesiredFrom: "release", State: report.Ready, Counts: all,
		Reported: &report.Reported{State: "Ready", DesiredReady: &ready, Ready: &ready,
			Missing: new(int), Modified: new(int), NotReady: new(int), Orphaned: new(int)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deployment (-want +got):\n%s", diff)
	}
	actual := report.Actual{BundleDeployments: 1, ReadyBundleDeployments: 1, Counts: all}
	for kind, list := range map[string][]report.Aggregate{"GitRepo": r.report.GitRepos, "Bundle": r.report.Bundles, "Cluster": r.report.Clusters} {
		if len(list) != 1 || list[0].Actual != actual {
			t.Errorf("%s: %+v, want one with %+v", kind, list, actual)
		}
	}
	if says := r.report.Clusters[0].Reported; *says.Ready != ready || *says.ReadyBundleDeployments != one {
		t.Errorf("what the Cluster says of itself: %+v", says)
	}
	versions := &report.FleetVersions{Agents: map[string]string{"fleet-local/local": "v0.15.1"}}
	if diff := cmp.Diff(versions, r.report.Source.FleetVersions); diff != "" {
		t.Errorf("Fleet's versions (-want +got):\n%s", diff)
	}
}

// TestStates lets one thing happen to one of the three objects of a bundle.
func TestStates(t *testing.T) {
	id := fleet.SetID("guestbook", "")
	strip := func(labels, annotations string) func(*fleetServer) {
		return func(f *fleetServer) {
			f.merge("stripper", configMap("settings"), `{"metadata":{"labels":{`+labels+`},"annotations":{`+annotations+`}}}`)
		}
	}
	const (
		noHash  = `"objectset.rio.cattle.io/hash":null`
		noID    = `"objectset.rio.cattle.io/id":null`
		noHelm  = `"app.kubernetes.io/managed-by":null`
		noNames = `"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null`
	)
	for name, test := range map[string]struct {
		happens func(*fleetServer)
		// becomes is what the object is then, settings; the others stay Ready.
		becomes report.Resource
		finding string // its code; none where it is empty
		info    bool   // the finding is below what fails
	}{
		"deleted": {
			happens: func(f *fleetServer) { f.remove(configMap("settings")) },
			becomes: report.Resource{State: report.Missing},
			finding: "FD101",
		},
		"hash stripped": {
			happens: strip(noHash, ""),
			becomes: report.Resource{State: report.Unowned, Reason: "HashStripped", Owner: &report.Owner{SetID: id, Release: "apps/guestbook"}},
			finding: "FD102",
		},
		"Fleet's marks stripped": {
			happens: strip(noHash, noID),
			becomes: report.Resource{State: report.Unowned, Reason: "HelmOnly"},
			finding: "FD102",
		},
		"all marks stripped": {
			happens: strip(noHash+","+noHelm, noID+","+noNames),
			becomes: report.Resource{State: report.Unowned, Reason: "Unmarked"},
			finding: "FD102",
		},
		"made anew by hand": {
			happens: func(f *fleetServer) {
				f.remove(configMap("settings"))
				f.ApplyYAML(f.t, "kubectl", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: apps}}")
			},
			becomes: report.Resource{State: report.Unowned, Reason: "Unmarked"},
			finding: "FD102",
		},
		"id stripped": {
			happens: strip("", noID),
			becomes: report.Resource{State: report.Ready},
			finding: "FD108", info: true,
		},
		"another hash": {
			happens: strip(`"objectset.rio.cattle.io/hash":"`+fleet.Hash("default-other")+`"`, ""),
			becomes: report.Resource{State: report.Unowned, Reason: "Inconsistent",
				Owner: &report.Owner{SetID: id, Hash: fleet.Hash("default-other"), Release: "apps/guestbook"}},
			finding: "FD102",
		},
		"taken by a set that nobody has": {
			happens: strip(`"objectset.rio.cattle.io/hash":"`+fleet.Hash("default-other")+`"`, `"objectset.rio.cattle.io/id":"default-other"`),
			becomes: report.Resource{State: report.Unowned, Reason: "ForeignOwner",
				Owner: &report.Owner{SetID: "default-other", Hash: fleet.Hash("default-other"), Release: "apps/guestbook"}},
			finding: "FD102",
		},
		"taken by another Helm release": {
			happens: strip(noHash, noID+`,"meta.helm.sh/release-name":"other","meta.helm.sh/release-namespace":"elsewhere"`),
			becomes: report.Resource{State: report.Unowned, Reason: "ForeignOwner", Owner: &report.Owner{Release: "elsewhere/other"}},
			finding: "FD102",
		},
		"a field updated": {
			happens: func(f *fleetServer) { f.merge("kubectl-edit", configMap("settings"), `{"data":{"colour":"red"}}`) },
			becomes: report.Resource{State: report.Modified, Differences: []report.Difference{{Path: ".data.colour",
				Desired: report.Plain("blue"), Live: report.Plain("red"), Manager: "kubectl-edit", Operation: "Update", Time: justNow}}},
			finding: "FD104",
		},
		"a field applied": {
			happens: func(f *fleetServer) {
				f.ApplyYAML(f.t, "argocd", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: apps}, data: {size: small}}")
			},
			becomes: report.Resource{State: report.Modified, Differences: []report.Difference{{Path: ".data.size",
				Desired: report.Plain("large"), Live: report.Plain("small"), Manager: "argocd", Operation: "Apply", Time: justNow}}},
			finding: "FD104",
		},
		"a field removed": { // nobody manages what is not there
			happens: func(f *fleetServer) { f.merge("kubectl-edit", configMap("settings"), `{"data":{"colour":null}}`) },
			becomes: report.Resource{State: report.Modified, Differences: []report.Difference{{Path: ".data.colour", Desired: report.Plain("blue")}}},
			finding: "FD104",
		},
		"only additions": {
			happens: func(f *fleetServer) {
				f.merge("sidecar", configMap("settings"), `{"data":{"extra":"1"},"metadata":{"labels":{"extra":"1"},"annotations":{"extra":"1"}}}`)
			},
			becomes: report.Resource{State: report.Ready},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			f.deploy("guestbook", guestbook)
			test.happens(f)
			r := f.audit("--server-check", "never")

			want := outcome{Deployments: map[string]string{"guestbook": "Ready"}}
			if test.finding != "" {
				want.Findings = []string{test.finding + " " + settings}
			}
			if test.becomes.State != report.Ready {
				want.Status = 1
				want.Deployments["guestbook"] = "Modified" // as Fleet has it, whatever its objects are
				want.Objects = map[string]string{settings: strings.TrimSpace(string(test.becomes.State) + " " + test.becomes.Reason)}
			}
			expect(t, r, want)
			got := r.resource(t, "guestbook", settings)
			if diff := cmp.Diff(test.becomes, got, cmpopts.IgnoreFields(report.Resource{}, "Ref")); diff != "" {
				t.Errorf("resource (-want +got):\n%s", diff)
			}
		})
	}
}
