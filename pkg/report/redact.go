// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

// Redacted returns a copy in which secrets are hidden.
func (a *Audit) Redacted(s *redact.Secrets) *Audit { return redacted(s, a, a.sentences) }

// Texts calls add with each text in which secrets are hidden.
func (a *Audit) Texts(add func(...string)) { document{of: a}.Texts(add) }

// Redacted returns a copy in which secrets are hidden.
func (w *Why) Redacted(s *redact.Secrets) *Why { return redacted(s, w, nil) }

// redacted returns a copy of a document in which secrets are hidden. sentences adds sentences of the document that this
// program wrote.
func redacted[T any](s *redact.Secrets, d *T, sentences func(*redact.Published)) *T {
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

// document implements redact.Document.
type document struct {
	of        any // a pointer to a document
	sentences func(*redact.Published)
}

// Texts implements redact.Document.
func (d document) Texts(add func(...string)) {
	read(d.of, func(u use, text string) {
		if u == usePointer {
			text = unescapePointer.Replace(text)
		}
		add(text)
	}, redactedUses...)
}

// Names implements redact.Document.
func (d document) Names(add func(...string)) {
	read(d.of, func(_ use, text string) { add(text) }, useName)
}

// Published implements redact.Document.
func (d document) Published(p *redact.Published) {
	read(d.of, func(_ use, text string) { p.Sentence(text, nil) }, useWord)
	read(d.of, func(_ use, text string) { p.Path(text) }, usePath)
	if d.sentences != nil {
		d.sentences(p)
	}
}

// ownSentences are the codes of findings with messages that quote only paths from the cluster.
var ownSentences = map[string]bool{"FD101": true, "FD104": true, "FD105": true, "FD107": true, "FD111": true}

// sentences adds the sentences of an audit that this program wrote.
func (a *Audit) sentences(p *redact.Published) {
	paths := map[object.Ref][]string{}
	for _, bd := range a.BundleDeployments {
		p.Sentence("bundle deployment "+bd.Key()+"\x00release "+bd.Release+"\x00cluster "+bd.Cluster, nil)
		for _, r := range bd.Resources {
			p.Sentence(strings.ToLower(r.Kind)+" "+r.Namespace+"/"+r.Name, nil)
			for _, d := range r.Differences {
				paths[r.Ref] = append(paths[r.Ref], d.Path)
			}
		}
	}
	for _, f := range a.Findings {
		if !ownSentences[f.Code] {
			continue
		}
		p.Sentence(f.Message, paths[f.Object])
		for _, r := range f.Remedies {
			p.Sentence(r.Command+"\x00"+r.Text, nil)
		}
	}
}

// follow removes the pointer to a field with a hidden value in its path: it would not lead to the field.
func (d *Difference) follow(before any) {
	if old, ok := before.(*Difference); ok && old.Path != d.Path {
		d.Pointer = ""
	}
}

// follow removes a command with a hidden value: a shell would not run it as it was meant.
func (r *Remedy) follow(before any) {
	if old, ok := before.(*Remedy); ok && old.Command != r.Command {
		r.Command, r.Text = "", r.Text+" (the command has a value of a Secret, and is not shown)"
	}
}

func (f *Finding) follow(any) { f.Remediation = cmp.Or(first(f.Remedies), f.Remediation) }

func (i *PreflightItem) follow(any) { i.Remediation = first(i.Remedies) }

func (c *WhyCause) follow(any) { c.Next = first(c.Remedies) }

// each returns a copy of a list with every element changed, and nil for nil.
func each[T any](list []T, change func(T) T) []T {
	out := slices.Clone(list)
	for i, x := range out {
		out[i] = change(x)
	}
	return out
}

// present turns nil into an empty list, so that JSON has [] and not null.
func present[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
