// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// document is one document of a file, as compact JSON: its items, if it has any, apart from its other members, since a List's kind
// often comes after its items, and since the items of a List of 200 MB must not be held twice.
type document struct {
	number, line int // within the file, from 1
	body         []byte
	items        []item
	listed       bool // it has items, perhaps none
	damaged      bool // what could be read of it is here
	twice        int  // the line at which JSON has a key twice, 0 for none
}

type item struct {
	raw  []byte
	line int
	err  error // it was read to its end, but cannot be used
}

// take keeps what a document holds. Its error ends the reading of the path.
func (r *reader) take(f *file, d *document) error {
	head, err := r.scan.scan(d.body)
	if err != nil && !d.damaged {
		d.damaged = true
		f.damaged(f.at(d.line, 0, d.number), reason(err))
	}
	switch {
	case d.listed && (head.isList() || d.damaged && head.name == ""):
		return r.list(f, d, head, 1)
	case d.damaged:
		return nil
	case head.isObject() && slices.ContainsFunc(d.items, func(it item) bool { return it.err != nil }):
		f.damaged(f.at(d.line, 0, d.number), reason(errDuplicate))
		return nil
	case head.isObject():
		f.found++
		o, err := r.object(f, d.assemble(), head)
		if err == nil && !f.partial {
			r.evidence.found(o, f.dir)
		}
		return err
	}
	if !r.learn(f, head) && string(d.body) != "{}" {
		f.other(d.line)
	}
	return nil
}

// keep keeps the items of a document in which the reading of the path ended with err, and returns err.
func (r *reader) keep(f *file, d *document, err error) error {
	if d.listed && r.ended() == nil {
		d.damaged, d.body = true, nil
		if err := r.take(f, d); err != nil {
			return err
		}
	}
	return err
}

// assemble is the JSON of a document that is no List, in memory of its own. Its items, a field like any other then, come last.
func (d *document) assemble() []byte {
	if !d.listed {
		return bytes.Clone(d.body)
	}
	out := bytes.Clone(d.body[:len(d.body)-1])
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(out, `"items":[`...)
	for i, it := range d.items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, it.raw...)
	}
	return append(out, `]}`...)
}

// list keeps the items of a List and what it proves. In a damaged one the head may be that of an object, or empty.
func (r *reader) list(f *file, d *document, head facts, depth int) error {
	f.found++
	l := list{file: f.file, complete: !d.damaged && !head.continued, selected: f.partial}
	var apiVersion, kind string
	if head.isList() {
		apiVersion, kind = head.element()
	}
	if kind != "" {
		l.typed(schema.FromAPIVersionAndKind(apiVersion, kind))
		if err := r.budget.kind(l.element); err != nil {
			return err
		}
	}
	for i, it := range d.items {
		if it.err != nil {
			l.complete = false
			f.gap(f.at(it.line, 0, d.number)+fmt.Sprintf(", item %d", i+1), reason(it.err), effectItem)
			continue
		}
		x, err := r.scan.scan(it.raw)
		if x.kind == "" && x.apiVersion == "" {
			x.apiVersion, x.kind = apiVersion, kind
		}
		switch {
		case err == nil && x.isObject():
			o, err := r.object(f, it.raw, x)
			if err != nil {
				return err
			}
			l.add(o)
			continue
		case err == nil && x.isList() && depth < maxListNesting:
			inner, err := r.split(it.raw)
			if err == nil && inner.listed {
				inner.number, inner.line = d.number, it.line
				if err := r.list(f, inner, x, depth+1); err != nil {
					return err
				}
				continue
			}
		}
		l.complete = false
		if !d.damaged { // the damage was said, and what lies beyond it may have been the kind of all items
			f.gap(f.at(it.line, 0, d.number)+fmt.Sprintf(", item %d", i+1), "it is not a Kubernetes object", effectItem)
		}
	}
	r.evidence.lists = append(r.evidence.lists, l)
	return nil
}

// split takes one JSON object apart. The body is good until the next split.
func (r *reader) split(raw []byte) (*document, error) {
	s := &r.pieces
	s.limits.Object = int64(len(raw)) + 1
	s.in = &lined{r: bytes.NewReader(raw)}
	if s.dec == nil {
		s.dec = jsontext.NewDecoder(s.in, lenient, lenientUTF8)
	}
	s.restart()
	s.arm()
	d := &document{number: 1, line: 1, body: s.body[:0]}
	err := s.document(d)
	s.body = d.body
	return d, err
}
