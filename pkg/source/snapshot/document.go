// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// document is one document of a file, as compact JSON. Its items are apart from its other members, because a List's kind often comes
// after its items, and because the items of a List of 200 MB must not be held twice.
type document struct {
	number, line int    // within the file, from 1
	body         []byte // without the items; valid until the next document is read
	items        []item
	listed       bool // it has items, perhaps none
	damaged      bool // what could be read of it is here
}

type item struct {
	raw       []byte
	line      int
	duplicate bool // it has a key twice
}

// take keeps what a document has whose head is h. Its error ends the reading of the path.
func (r *reader) take(f *file, d *document, h head) error {
	switch {
	case d.listed && (h.isList() || d.damaged && h.name == ""):
		return r.list(f, d, &h, 1)
	case d.damaged:
		return nil
	case h.isObject() && slices.ContainsFunc(d.items, func(it item) bool { return it.duplicate }):
		f.damaged(f.at(d.line, 0, d.number), reason(errDuplicate))
		return nil
	case h.isObject():
		f.found++
		key, err := r.object(f, d.assemble(), h)
		if err == nil && !f.partial {
			r.evidence.objects[single{key.GroupKind(), key.Namespace, f.dir}] = struct{}{}
		}
		return err
	}
	if !r.learn(f, &h) && string(d.body) != "{}" {
		f.other(d.line)
	}
	return nil
}

// keep keeps the items of a document in which the reading of the path ended with err, and returns err.
func (r *reader) keep(f *file, d *document, err error) error {
	if d.listed && r.ended() == nil {
		d.damaged = true
		if err := r.take(f, d, head{}); err != nil {
			return err
		}
	}
	return err
}

// assemble is the JSON of a document that is not a List, in memory of its own. Its items, a field like any other then, come last.
func (d *document) assemble() []byte {
	if !d.listed {
		return d.body
	}
	items := make([][]byte, len(d.items))
	for i, it := range d.items {
		items[i] = it.raw
	}
	return slices.Concat(d.body[:len(d.body)-1], []byte(`,"items":[`), bytes.Join(items, []byte(",")), []byte(`]}`))
}

// list keeps the items of a List and what it proves. A damaged one may have the head of an object, or an empty head.
func (r *reader) list(f *file, d *document, h *head, depth int) error {
	f.found++
	l := list{file: f.file, complete: !d.damaged && !h.partial, selected: f.partial}
	if l.apiVersion, l.kind = h.element(); l.kind != "" {
		l.element = schema.FromAPIVersionAndKind(l.apiVersion, l.kind)
		l.kinds = map[schema.GroupKind]bool{l.element.GroupKind(): false}
		if err := r.budget.kind(l.element); err != nil {
			return err
		}
	}
	for i, it := range d.items {
		why, err := r.item(f, d, it, &l, depth)
		if err != nil {
			return err
		}
		if why != "" {
			l.complete = false
			f.gap(f.at(it.line, 0, d.number)+fmt.Sprintf(", item %d", i+1), why, effectItem)
		}
	}
	r.evidence.lists = append(r.evidence.lists, l)
	return nil
}

// item keeps an item of a List, or says why it does not count.
func (r *reader) item(f *file, d *document, it item, l *list, depth int) (string, error) {
	if it.duplicate {
		return reason(errDuplicate), nil
	}
	h := r.heads.read(it.raw)
	if h.kind == "" && h.apiVersion == "" {
		h.apiVersion, h.kind = l.apiVersion, l.kind
	}
	switch {
	case h.isObject():
		key, err := r.object(f, it.raw, h)
		l.add(key)
		return "", err
	case h.isList() && depth < maxListNesting:
		inner := &document{number: d.number}
		err := newJSONReader(&r.budget, bytes.NewReader(it.raw)).document(inner)
		if stops(err) {
			return "", err
		}
		if err == nil && inner.listed {
			for i := range inner.items {
				inner.items[i].line = it.line
			}
			return "", r.list(f, inner, &h, depth+1)
		}
	case d.damaged: // which was reported, and the kind of all items may be in what is damaged
		return "", nil
	}
	return "it is not a Kubernetes object", nil
}
