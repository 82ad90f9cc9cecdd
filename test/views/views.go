// SPDX-License-Identifier: Apache-2.0

// Package views makes views of the auditor for the tests of what it tells.
package views

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// Begin is the time of the first view.
var Begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Sample returns the view of a sample cluster of the project: "sick", "clean" or "drift".
func Sample(t *testing.T, name string) *view.View {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	s, err := snapshot.Open(t.Context(), []string{filepath.Join(filepath.Dir(file), "..", "testdata", name)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := audit.Run(t.Context(), s, audit.Options{Commands: cases.Commands, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return view.New(found, Begin)
}

// ConfigMap is the reference of a ConfigMap in the namespace shop.
func ConfigMap(name string) view.Ref {
	return view.RefOf(object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name})
}

// Of returns a view of bundle deployments, some seconds after Begin. Each has a Bundle, a BundleDeployment and a
// release.
func Of(seconds int, deployments ...*view.Deployment) *view.View {
	v := &view.View{Evaluated: Begin.Add(time.Duration(seconds) * time.Second), Deployments: deployments,
		FleetRead:   map[string]bool{state.Bundle: true, state.BundleDeployment: true},
		RecordsRead: map[object.ClusterID]bool{"": true}, Coverage: evaluate.Coverage{Evaluated: len(deployments)}}
	for _, d := range deployments {
		namespace, name := view.Split(d.Bundle)
		v.Fleet = append(v.Fleet,
			view.FleetObject{Kind: state.BundleDeployment, Namespace: d.Namespace, Name: d.Name, ResourceVersion: "1",
				Size: 2000},
			view.FleetObject{Kind: state.Bundle, Namespace: namespace, Name: name, ResourceVersion: "1", Size: 3000})
		if d.Release != "" {
			v.Releases = append(v.Releases, &view.Release{Name: d.Release, Revision: d.Revision, BundleID: d.Name,
				Agent: "cattle-fleet-system", Deployment: d})
		}
	}
	return v
}

// Deployment returns a bundle deployment with ConfigMaps: one for each state, named "a", "b" and so on. The release has
// the revision 1.
func Deployment(name string, states ...report.State) *view.Deployment {
	d := &view.Deployment{ID: object.DeploymentID{Namespace: "cluster-edge", Name: name}, Namespace: "cluster-edge",
		Name: name, Exists: true, Cluster: "fleet-default/edge", Bundle: "fleet-default/" + name,
		GitRepo: "fleet-default/platform", State: report.Ready, Read: true, Release: "shop/" + name, Revision: 1}
	for i, s := range states {
		o := view.Object{Ref: ConfigMap(string(rune('a' + i))), State: s}
		if s != report.Ready {
			o.Detail = &view.Detail{}
			d.State = s
		}
		d.Objects = append(d.Objects, o)
		d.Counts = d.Counts.Plus(count(s))
	}
	return d
}

// Large returns a view of bundle deployments with missing objects.
func Large(deployments, objects int) *view.View {
	var all []*view.Deployment
	for i := range deployments {
		d := Deployment(fmt.Sprintf("bundle-%03d", i))
		for j := range objects {
			d.Objects = append(d.Objects, view.Object{Ref: ConfigMap(fmt.Sprintf("object-%04d", j)),
				State: report.Missing, Detail: &view.Detail{}})
		}
		d.Counts, d.State = report.Counts{Desired: objects, Missing: objects}, report.Missing
		all = append(all, d)
	}
	return Of(0, all...)
}

func count(s report.State) report.Counts {
	switch s {
	case report.Missing:
		return report.Counts{Desired: 1, Missing: 1}
	case report.Unowned:
		return report.Counts{Desired: 1, Unowned: 1}
	case report.Modified:
		return report.Counts{Desired: 1, Modified: 1}
	case report.NotReady:
		return report.Counts{Desired: 1, NotReady: 1}
	case report.Unknown:
		return report.Counts{Desired: 1, Unknown: 1}
	case report.Orphaned:
		return report.Counts{Orphaned: 1}
	}
	return report.Counts{Desired: 1, Ready: 1}
}
