// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// document is one document of a file, as compact JSON. Its items are separate from its other members, because the kind of a List often comes
// after its items, and because the items of a List of 200 MB must not be in memory twice.
type document struct {
	number, line int    // within the file, from 1
	body         []byte // without the items
	items        []item
	listed       bool // it has a list of items, which may be empty
	damaged      bool // a part of it could not be read
}

type item struct {
	raw       []byte
	line      int
	duplicate bool // a key occurs twice
}

// take keeps the objects of a document with the head h. The error ends the reading of the path.
func (r *reader) take(f *file, d *document, h head) error {
	f.open = nil
	f.complete(d, &h)
	switch {
	case d.listed && (h.isList() || d.damaged && h.name == ""):
		return r.list(f, d, &h, 1)
	case d.damaged:
		return nil
	case h.kind == RenderingKind && object.Group(h.apiVersion) == manifestGroup:
		r.readRendering(f, d, &h)
		return nil
	case h.isObject() && slices.ContainsFunc(d.items, func(it item) bool { return it.duplicate }):
		f.damaged(f.at(d.line, 0, d.number), reason(errDuplicate))
		return nil
	case h.isObject():
		f.found++
		key, err := r.object(f, d.assemble(), h)
		if err == nil && !f.partial && !f.partly {
			r.evidence.objects[single{key.GroupKind(), key.Namespace, f.dir}] = struct{}{}
		}
		return err
	}
	if h.kind == ManifestKind && schema.FromAPIVersionAndKind(h.apiVersion, h.kind).Group == manifestGroup {
		return r.readManifest(f, d, &h)
	}
	if !r.learn(f, &h) && string(d.body) != "{}" {
		f.other(d.line)
	}
	return nil
}

// assemble returns the JSON of a document that is not a List. Its items, which are an ordinary field, come last.
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

// list keeps the items of a List and its evidence. A damaged List may have the head of an object, or an empty head.
func (r *reader) list(f *file, d *document, h *head, depth int) error {
	f.found++
	l := list{file: f.file, complete: !d.damaged && !h.partial, selected: f.partial}
	if l.element = h.element(); l.element.Kind != "" {
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

// item keeps an item of a List, or returns the reason why it does not count.
func (r *reader) item(f *file, d *document, it item, l *list, depth int) (string, error) {
	if it.duplicate {
		return reason(errDuplicate), nil
	}
	h := r.heads.read(it.raw)
	if h.kind == "" && h.apiVersion == "" {
		h.apiVersion, h.kind = l.element.ToAPIVersionAndKind()
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
	case d.damaged: // which has a gap already. The kind of the items may be in the damaged part.
		return "", nil
	}
	return "it is not a Kubernetes object", nil
}
