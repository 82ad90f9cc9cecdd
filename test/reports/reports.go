// SPDX-License-Identifier: Apache-2.0

// Package reports makes reports of audits for tests of formats.
package reports

import (
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// Sample audits a sample cluster of the project: "sick" or "clean".
func Sample(t *testing.T, name string) *report.Audit {
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
	a := found.Report()
	a.Source.Path = "test/testdata/" + name
	return a
}

// Unread is the report of an audit that could not read everything: it has a gap, an Unknown object, a bundle deployment without a result, and
// one on a cluster that was not read.
func Unread() *report.Audit {
	ref := func(name string) object.Ref {
		return object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name}
	}
	const local = "fleet-local/local"
	return &report.Audit{
		APIVersion: report.APIVersion, Kind: report.Kind, TakenAt: "2026-01-02T03:04:05Z", Tool: report.Tool{Version: "test"},
		Source:  report.Source{Kind: "cluster", Context: "test"},
		Summary: report.Summary{BundleDeployments: 3, Counts: report.Counts{Desired: 2, Ready: 1, Unknown: 1}},
		BundleDeployments: []report.BundleDeployment{
			{Namespace: "cluster-local", Name: "web", Cluster: local, Bundle: "fleet-local/web", State: report.Unknown, Counts: report.Counts{Desired: 2, Ready: 1, Unknown: 1},
				Resources: []report.Resource{{Ref: ref("read"), State: report.Ready}, {Ref: ref("hidden"), State: report.Unknown, Reason: "Forbidden", Message: "configmaps is forbidden"}}},
			{Namespace: "cluster-local", Name: "api", Cluster: local, Bundle: "fleet-local/api", State: report.Unknown, Reason: "NoReleaseRecord"},
			{Namespace: "cluster-edge", Name: "web", Cluster: "fleet-default/edge", Bundle: "fleet-default/web", State: report.Unknown, Reason: "ClusterNotRead"},
		},
		Findings: []report.Finding{},
		Gaps:     []report.Gap{{What: "listing ConfigMaps", Reason: "Forbidden", Effect: "objects of this kind are Unknown"}},
	}
}

// Evil are characters and sequences that have a meaning in some format or on a terminal.
const Evil = "x\x1b[31m\x07\x00\r\n\u009b2J\u202egnp.exe\u2066\u2028\x7f\ufffe\xff ]]> --- <b>&amp; \"'` | {0} [a](https://evil.invalid) ::error:: *_# \\ y"

// Hostile is the report of the sick sample with Evil in every text.
func Hostile(t *testing.T) *report.Audit {
	t.Helper()
	a := Sample(t, "sick")
	a.Gaps = Unread().Gaps
	fill(reflect.ValueOf(a).Elem())
	return a
}

// fill adds Evil to every string of a value, except for the words of an enumeration.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Type() != reflect.TypeFor[report.Severity]() && v.Type() != reflect.TypeFor[report.State]() {
			v.SetString(v.String() + Evil)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			fill(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[report.Value]() {
			v.Set(reflect.ValueOf(evaluate.Plain(Evil)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	}
}
