// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// hostile acts on a terminal: it has escape sequences of both widths, changes of the writing direction, and line ends.
const hostile = "a\x1b[2J\u009b31m\u202eb\u2066c\u200f\u2028d\x7f\U000e0041"

// poison sets every text in a value, and adds an element to every list and map.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() { // the other types are enums of the program
			v.SetString(hostile)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		poison(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(hostile), value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[report.Value]() {
			v.Set(reflect.ValueOf(evaluate.Plain(map[string]any{hostile: []any{hostile}})))
			return
		}
		for i := range v.NumField() {
			poison(v.Field(i))
		}
	}
}

func poisoned[T any]() *T {
	v := new(T)
	poison(reflect.ValueOf(v).Elem())
	return v
}

// TestTerminal checks that no format prints text of the report that acts on a terminal, and that JSON and YAML decode
// to the same text.
func TestTerminal(t *testing.T) {
	o := printers.Options{Diff: true, PrintRole: hostile, Undo: hostile}
	audit, adoption, preflight, ownership := poisoned[report.Audit](), poisoned[report.Repair](),
		poisoned[report.Preflight](), poisoned[report.Ownership]()
	agents := poisoned[report.Agents]()
	audit.Findings[0].Severity, audit.Source.Kind = report.Error, "cluster"
	modified := audit.Findings[0]
	modified.Code = "FD104"
	audit.Findings = append(audit.Findings, modified)
	documents := map[string]output.Document{"audit": printers.Audit(audit, o), "adoption": printers.Repair(adoption,
		o),
		"preflight": printers.Preflight(preflight, o), "ownership": printers.Ownership(ownership, o),
		"agents": printers.Agents(agents, o), "targets": printers.Targets(poisoned[report.Targets](), o),
		"tree":   printers.Tree(audit, o),
		"impact": printers.Impact(poisoned[report.Impact](), o), "why": printers.Why(poisoned[report.Why](), o)}
	for name, d := range documents {
		for _, format := range slices.Concat(formats, templates) {
			out := shown(t, format, d)
			if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
				t.Errorf("%s, -o %s: %q", name, format, out)
			}
			if format != "json" && format != "yaml" {
				continue
			}
			raw, err := json.Marshal(d.Content())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, string(raw)), decode(t, out)); diff != "" {
				t.Errorf("%s, -o %s decodes to another value (-want +got):\n%s", name, format, diff)
			}
		}
	}
}
