// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"reflect"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Evil are characters and sequences that have a meaning in some format or on a terminal.
const Evil = "x\x1b[31m\x07\x00\r\n\u009b2J\u202egnp.exe\u2066\u2028\x7f\ufffe\xff ]]> --- <b>&amp; \"'` | {0} [a](https://evil.invalid) ::error:: *_# \\ y"

// Hostile adds a text to every string of a report that can come from a cluster, and returns the report.
func Hostile(a *report.Audit, evil string) *report.Audit {
	fill(reflect.ValueOf(a).Elem(), evil)
	for i := range a.Findings {
		if f := &a.Findings[i]; f.Bundle != evil && len(a.BundleDeployments) > 0 { // about the first bundle deployment, with its differences
			f.BundleDeployment = a.BundleDeployments[0].Namespace + "/" + a.BundleDeployments[0].Name
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
			if name := v.Type().Field(i).Name; v.Type() == reflect.TypeFor[report.Source]() && name == "Kind" || name == "Code" {
				continue
			}
			fill(v.Field(i), evil)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), evil)
		}
	}
}
