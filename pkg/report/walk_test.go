// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// redactedDocuments are the types of the documents that are redacted. The other documents have no texts of the cluster.
var redactedDocuments = []reflect.Type{reflect.TypeFor[Audit](), reflect.TypeFor[Repair](),
	reflect.TypeFor[Preflight](),
	reflect.TypeFor[Why]()}

// TestUses checks that each string of a document states what redaction does with it, so that no field is forgotten.
func TestUses(t *testing.T) {
	for _, d := range redactedDocuments {
		for _, path := range untagged(t, d, d.Name(), "") {
			t.Errorf("%s has strings, and no tag \"text\"", path)
		}
	}
}

// untagged returns the paths of the strings in a type without a use.
func untagged(t *testing.T, of reflect.Type, path string, u use) []string {
	t.Helper()
	switch of.Kind() {
	case reflect.Slice, reflect.Pointer:
		return untagged(t, of.Elem(), path, u)
	case reflect.String, reflect.Interface, reflect.Map:
		if u == "" {
			return []string{path}
		}
	case reflect.Struct:
		var out []string
		for i := range of.NumField() {
			f := of.Field(i)
			tag, tagged := f.Tag.Lookup("text")
			known := []use{useRedact, usePath, usePointer, useName, useWord, useKeep}
			if tagged && !slices.Contains(known, use(tag)) {
				t.Errorf("%s.%s has the unknown use %q", path, f.Name, tag)
			}
			out = append(out, untagged(t, f.Type, path+"."+f.Name, cmp.Or(use(tag), u))...)
		}
		return out
	}
	return nil
}

// TestEveryUse fills each string of each document with a value of a Secret, and checks where the copy still has it.
func TestEveryUse(t *testing.T) {
	const planted = "invented-secret-value"
	for _, d := range redactedDocuments {
		t.Run(d.Name(), func(t *testing.T) {
			document := reflect.New(d)
			fill(document.Elem(), planted)
			out := hideIn(t, document.Interface(), planted)
			checkUses(t, out.Elem(), d.Name(), "", planted)
		})
	}
}

// hideIn returns a redacted copy of a document, and checks that the document did not change.
func hideIn(t *testing.T, document any, planted string) reflect.Value {
	t.Helper()
	before, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	hide := func(_ use, text string) string { return strings.ReplaceAll(text, planted, "***") }
	mask := func(Value) Value { return evaluate.Masked("***1") }
	var out any
	switch d := document.(type) {
	case *Audit:
		out = replaced(d, hide, mask, redactedUses...)
	case *Repair:
		out = replaced(d, hide, mask, redactedUses...)
	case *Preflight:
		out = replaced(d, hide, mask, redactedUses...)
	case *Why:
		out = replaced(d, hide, mask, redactedUses...)
	}
	after, err := json.Marshal(document)
	if err != nil || string(before) != string(after) {
		t.Errorf("the document became %s, error %v", after, err)
	}
	return reflect.ValueOf(out)
}

// fill puts one element in each list, and the text into each string.
func fill(v reflect.Value, text string) {
	if value, ok := v.Addr().Interface().(*Value); ok {
		*value = evaluate.Plain(text)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{text: []any{text}}))
	}
}

// checkUses checks that the strings with some uses have no secret, and that the others still have it.
func checkUses(t *testing.T, v reflect.Value, path string, u use, planted string) {
	t.Helper()
	if value, ok := v.Addr().Interface().(*Value); ok {
		if value.Shown() != "***" {
			t.Errorf("%s is %v", path, value.Shown())
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		if hidden := slices.Contains(redactedUses, u); hidden == strings.Contains(v.String(), planted) {
			t.Errorf("%s with the use %q is %q", path, u, v.String())
		}
	case reflect.Slice:
		checkUses(t, v.Index(0), path, u, planted)
	case reflect.Pointer:
		checkUses(t, v.Elem(), path, u, planted)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			checkUses(t, v.Field(i), path+"."+f.Name, cmp.Or(use(f.Tag.Get("text")), u), planted)
		}
	case reflect.Interface:
		if raw, err := json.Marshal(v.Interface()); err != nil || strings.Contains(string(raw), planted) {
			t.Errorf("%s is %s, error %v", path, raw, err)
		}
	}
}

// TestOptional checks that a gap stays optional in a redacted document.
func TestOptional(t *testing.T) {
	a := &Audit{Gaps: []Gap{{What: "listing Secrets", Reason: "Forbidden", Optional: true}}}
	if out := a.Redacted(&secret.Values{}); Undecided(out.Gaps) != "" {
		t.Errorf("the gap became %+v", out.Gaps[0])
	}
}
