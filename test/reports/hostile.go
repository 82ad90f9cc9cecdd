// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"reflect"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Evil are characters and sequences that have a meaning in some format or on a terminal.
const Evil = "x\x1b[31m\x07\x00\r\n\u009b2J\u202egnp.exe\u2066\u2028\x7f\ufffe\xff ]]> --- <b>&amp; \"'` | {0} " +
	"[a](https://evil.invalid) ::error:: *_# \\ y"

// Hostile adds a text to every string of a report that can come from a cluster, and returns the report. Findings keep
// their bundle deployments.
func Hostile(a *report.Audit, evil string) *report.Audit {
	name := func(bd *report.BundleDeployment) string { return strings.TrimPrefix(bd.Namespace+"/"+bd.Name, "/") }
	of := map[string][]*report.Finding{}
	for i := range a.Findings {
		f := &a.Findings[i]
		of[f.BundleDeployment] = append(of[f.BundleDeployment], f)
	}
	before := make([]string, len(a.BundleDeployments))
	for i := range a.BundleDeployments {
		before[i] = name(&a.BundleDeployments[i])
	}
	fill(reflect.ValueOf(a).Elem(), evil)
	for i := range a.BundleDeployments {
		for _, f := range of[before[i]] {
			f.BundleDeployment = name(&a.BundleDeployments[i])
		}
	}
	return a
}

// fill adds a text to every string of a value, except for the words of an enumeration, kinds of sources and codes.
func fill(v reflect.Value, evil string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Type() != reflect.TypeFor[report.Severity]() && v.Type() != reflect.TypeFor[report.State]() {
			v.SetString(v.String() + evil)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			fill(v.Elem(), evil)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[report.Value]() {
			v.Set(reflect.ValueOf(evaluate.Plain(evil)))
			return
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			isSourceKind := v.Type() == reflect.TypeFor[report.Source]() && name == "Kind"
			if !isSourceKind && name != "Code" {
				fill(v.Field(i), evil)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), evil)
		}
	}
}
