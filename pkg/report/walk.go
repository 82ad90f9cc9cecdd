// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// use is what redaction does with a string. Each field with strings states it in the tag "text". It applies to all
// strings in the field, unless the fields of its type have tags of their own.
type use string

// The uses. With useKeep, a string is shown as it is.
const (
	useRedact  use = "redact"  // a text that may quote the cluster: values of Secrets are hidden in it
	usePath    use = "path"    // the path of a field: the same, but a name of a field that it begins with is public
	usePointer use = "pointer" // a JSON pointer: removed if it has a value of a Secret
	useName    use = "name"    // a name of an object: a value that equals it is not hidden
	useWord    use = "word"    // what this program wrote: a value that is a part of it is not hidden
	useKeep    use = "keep"
)

// redactedUses are the uses of the strings in which values are hidden.
var redactedUses = []use{useRedact, usePath, usePointer}

// follower has fields that follow from others.
type follower interface{ follow() }

// follow sets the fields of a copy that follow from others, after these were replaced.
func follow(before, after any) {
	switch x := after.(type) {
	case follower:
		x.follow()
	case *Difference: // a pointer with a hidden value would not lead to the field
		if old, ok := before.(*Difference); ok && old.Path != x.Path {
			x.Pointer = ""
		}
	case *Remedy: // a shell would not run a command with a hidden value as it was meant
		if old, ok := before.(*Remedy); ok && old.Command != x.Command {
			x.Command, x.Text = "", x.Text+" (the command has a value of a Secret, and is not shown)"
		}
	}
}

// walker visits the strings of a document.
type walker struct {
	uses []use // those of the strings that are visited
	// text returns what replaces a string, and mask what replaces the value of a Secret. Without mask, nothing is
	// replaced.
	text func(u use, s string) string
	mask func(Value) Value
}

// visit visits a value, and changes to, a shallow copy of it.
type visit func(from, to reflect.Value)

// read calls text with each string of a document that has one of the uses. document is a pointer.
func read(document any, text func(u use, s string), uses ...use) {
	w := walker{uses: uses, text: func(u use, s string) string {
		text(u, s)
		return s
	}}
	content := reflect.ValueOf(document).Elem()
	w.visitOf(content.Type(), useRedact)(content, content)
}

// replaced returns a copy of a document in which strings with one of the uses, and values of Secrets, are replaced.
func replaced[T any](document *T, text func(u use, s string) string, mask func(Value) Value, uses ...use) *T {
	w := walker{uses, text, mask}
	out := *document
	from, to := reflect.ValueOf(document).Elem(), reflect.ValueOf(&out).Elem()
	w.visitOf(from.Type(), useRedact)(from, to)
	return &out
}

// visitOf returns the visit of the values of a type; nil if they have no string to visit. u is the use of the field.
func (w *walker) visitOf(t reflect.Type, u use) visit {
	switch {
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[Value]():
		return w.visitFields(t, u)
	case t.Kind() == reflect.Slice:
		return w.visitElements(t, u)
	case t.Kind() == reflect.Pointer:
		return w.visitTarget(t, u)
	case !slices.Contains(w.uses, u):
		return nil
	case t == reflect.TypeFor[Value]():
		return func(from, to reflect.Value) {
			if changed := w.value(*valueAt(from), u); w.mask != nil {
				*valueAt(to) = changed
			}
		}
	}
	switch t.Kind() {
	case reflect.String:
		return func(from, to reflect.Value) {
			if s := w.text(u, from.String()); w.mask != nil {
				to.SetString(s)
			}
		}
	case reflect.Interface, reflect.Map: // decoded JSON
		return func(from, to reflect.Value) {
			if from.IsNil() {
				return
			}
			if changed := w.inside(from.Interface(), u); w.mask != nil {
				to.Set(reflect.ValueOf(changed))
			}
		}
	}
	return nil
}

// fieldVisit is the visit of one field of a struct.
type fieldVisit struct {
	index int
	visit visit
}

func (w *walker) visitFields(t reflect.Type, u use) visit {
	var fields []fieldVisit
	for i := range t.NumField() {
		f := t.Field(i)
		if v := w.visitOf(f.Type, cmp.Or(use(f.Tag.Get("text")), u)); v != nil {
			fields = append(fields, fieldVisit{i, v})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return func(from, to reflect.Value) {
		for _, f := range fields {
			f.visit(from.Field(f.index), to.Field(f.index))
		}
		if w.mask != nil {
			follow(from.Addr().Interface(), to.Addr().Interface())
		}
	}
}

func (w *walker) visitElements(t reflect.Type, u use) visit {
	element := w.visitOf(t.Elem(), u)
	if element == nil {
		return nil
	}
	return func(from, to reflect.Value) {
		if w.mask != nil && !from.IsNil() {
			to.Set(reflect.MakeSlice(t, from.Len(), from.Len()))
			reflect.Copy(to, from)
		}
		for i := range from.Len() {
			element(from.Index(i), to.Index(i))
		}
	}
}

func (w *walker) visitTarget(t reflect.Type, u use) visit {
	target := w.visitOf(t.Elem(), u)
	if target == nil {
		return nil
	}
	return func(from, to reflect.Value) {
		if from.IsNil() {
			return
		}
		if w.mask != nil {
			to.Set(reflect.New(t.Elem()))
			to.Elem().Set(from.Elem())
		}
		target(from.Elem(), to.Elem())
	}
}

func valueAt(v reflect.Value) *Value {
	p, _ := v.Addr().Interface().(*Value) // it is one
	return p
}

// value replaces the value of a Secret, and the strings in another value.
func (w *walker) value(v Value, u use) Value {
	switch {
	case v.IsZero():
		return v
	case !v.Secret():
		return evaluate.Plain(w.inside(v.Reveal(), u))
	case w.mask == nil:
		return v
	}
	return w.mask(v)
}

// inside replaces the strings in decoded JSON.
func (w *walker) inside(v any, u use) any {
	return escape.MapTexts(v, func(s string) string { return w.text(u, s) })
}

// redacted returns a copy of a document in which secrets are hidden. sentences adds sentences of the document that this
// program wrote.
func redacted[T any](s *secret.Values, d *T, sentences func(*secret.Published)) *T {
	replace := s.Redactor(document{d, sentences})
	masks := masks{}
	return replaced(d, func(u use, text string) string {
		if u != usePointer {
			return replace(text)
		}
		if plain := unescapePointer.Replace(text); replace(plain) != plain {
			return ""
		}
		return text
	}, masks.mask, redactedUses...)
}

// unescapePointer replaces the escapes of a JSON pointer.
var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// masks are the numbered masks of values of Secrets: equal values have the same one.
type masks map[string]string

func (m masks) mask(v Value) Value {
	raw, err := json.Marshal(v.Reveal())
	if err != nil {
		raw = []byte(fmt.Sprint(v.Reveal()))
	}
	mask, known := m[string(raw)]
	if !known {
		mask = fmt.Sprintf("***%d", len(m)+1)
		m[string(raw)] = mask
	}
	return evaluate.Masked(mask)
}

// document implements secret.Document.
type document struct {
	document  any // a pointer to a document
	sentences func(*secret.Published)
}

// Texts implements secret.Document.
func (d document) Texts(add func(...string)) {
	read(d.document, func(u use, text string) {
		if u == usePointer {
			text = unescapePointer.Replace(text)
		}
		add(text)
	}, redactedUses...)
}

// Names implements secret.Document.
func (d document) Names(add func(...string)) {
	read(d.document, func(_ use, text string) { add(text) }, useName)
}

// Published implements secret.Document.
func (d document) Published(p *secret.Published) {
	read(d.document, func(_ use, text string) { p.Sentence(text, nil) }, useWord)
	read(d.document, func(_ use, text string) { p.Path(text) }, usePath)
	if d.sentences != nil {
		d.sentences(p)
	}
}
