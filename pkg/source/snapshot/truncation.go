// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// A YAML file that is cut is often still valid YAML. The rest of its last document can look like an object that lacks fields, or like another
// object. API servers and kubectl write certain members of each object, and end each line: a document without them was cut.

// fileEnd is the state of a YAML file at its end.
type fileEnd struct {
	reached             bool // the end of the file
	failed              bool // by an error
	torn                bool // the last line does not end with a newline
	withUID, withoutUID bool // there are objects with a uid, and without. An API server sets a uid for each object.
}

const cutLine = "it ends in the middle of a line"

// check looks for signs that the current document, which is valid YAML with the head h, is not complete. Then it is damaged. If it is a List
// that ends with its items (open), only its last item is damaged.
func (s *yamlReader) check(h head, open bool) {
	d := s.doc
	switch {
	case h.isDiscovery() || h.server != "" || !h.taken.IsZero() || !h.hasVersion() || h.isConfiguration():
	case d.listed && h.isList():
		if s.end.reached && open && len(d.items) > 0 {
			s.checkLastItem(&h)
		}
	case d.listed && h.kind == "" && h.name == "": // kubectl writes the kind of a List after its items
		s.reject("it has no kind", open)
	case h.kind == "":
		if s.end.reached && !h.titled {
			s.reject("it has no kind", false)
		}
	case h.name == "":
		s.lose(&h, "it has no name")
	case s.end.reached:
		if reason := s.whyIncomplete(d.body, &h, s.text.text, false); reason != "" {
			s.lose(&h, reason)
		}
	default:
		s.end.count(&h)
	}
}

// lose rejects the current document, which has an object of a known kind.
func (s *yamlReader) lose(h *head, reason string) {
	s.r.evidence.lost[h.groupVersionKind().GroupKind()] = true
	s.reject(reason, false)
}

// checkLastItem checks the last item of a List that ends with its items.
func (s *yamlReader) checkLastItem(list *head) {
	s.end.withUID, s.end.withoutUID = false, false
	last := len(s.doc.items) - 1
	for _, it := range s.doc.items[:last] {
		h := s.r.heads.read(it.raw)
		s.end.count(&h)
	}
	raw := s.doc.items[last].raw
	h := s.r.heads.read(raw)
	if h.kind == "" {
		h.apiVersion, h.kind = list.element().ToAPIVersionAndKind()
	}
	if h.name != "" {
		if reason := s.whyIncomplete(raw, &h, s.item.text, true); reason != "" {
			s.reject(reason, true)
		}
	}
}

func (e *fileEnd) count(h *head) {
	e.withUID = e.withUID || h.uid != ""
	e.withoutUID = e.withoutUID || h.uid == ""
}

// whyIncomplete returns the reason why an object, or an item of a List, at the end of the file is probably cut. text is its YAML. A file of
// one document has fewer signs, because people write it without a newline at its end. An API server sets a uid with each resourceVersion and
// managedFields, and kubectl writes the uid last.
func (s *yamlReader) whyIncomplete(raw []byte, h *head, text []byte, item bool) string {
	flow := !item && isClosed(text)
	closed := flow || !item && s.number == 1
	lastLine := text[bytes.LastIndexByte(text, '\n')+1:]
	gk := h.groupVersionKind().GroupKind()
	lastMember := s.r.catalog.lastMember[gk]
	switch {
	case s.end.torn && !closed && len(bytes.TrimSpace(lastLine)) > 0:
		return cutLine
	case (!closed || s.end.torn && !flow) && endsAfterKey(text):
		return "it ends after a key"
	case h.namespace == "" && s.r.catalog.kinds[gk].Namespaced:
		return "it has no namespace"
	case h.uid == "" && s.end.withUID && !s.end.withoutUID:
		return "it has no uid, unlike the objects before it"
	case h.uid == "" && (h.managed || h.resourceVersion != "") && !flow && !item && s.number == 1:
		return "it has no uid"
	case h.uid != "" && lastMember != "" && !hasMember(raw, lastMember):
		return "it has no " + lastMember
	}
	return ""
}

// endsAfterKey reports whether the last line, without blank lines and comments, lacks its value.
func endsAfterKey(text []byte) bool {
	for len(text) > 0 {
		begin := bytes.LastIndexByte(bytes.TrimRight(text, " \t\r\n"), '\n') + 1
		line := bytes.TrimSpace(text[begin:])
		if len(line) > 0 && text[begin] != '#' {
			return bytes.HasSuffix(line, []byte(":")) || bytes.HasSuffix(line, []byte(": |")) || bytes.HasSuffix(line, []byte(": >")) ||
				line[len(line)-1] == '-' && len(bytes.Trim(line, " -")) == 0
		}
		text = text[:begin]
	}
	return false
}

// reject records that the current document, or its last item, is not complete.
func (s *yamlReader) reject(reason string, open bool) {
	effect := effectDocument
	if s.end.reached && s.number > 1 {
		effect = effectRest
	}
	where := s.f.at(s.doc.line, 0, s.number)
	if n := len(s.doc.items); open && n > 0 {
		where = s.f.at(s.doc.items[n-1].line, 0, s.number) + fmt.Sprintf(", item %d", n)
	}
	s.doc.damaged, s.f.harmed = true, true
	s.f.gap(where, reason+", so it is not complete", effect)
	s.cut(open)
}

// cut records that the current document may not have been read to its end. In a file of several documents, documents of any kind may be
// missing after it.
func (s *yamlReader) cut(open bool) {
	if n := len(s.doc.items); open && n > 0 && !s.end.failed {
		s.doc.items = s.doc.items[:n-1]
	}
	if !s.end.reached {
		return
	}
	s.f.harmed = true
	if s.number > 1 {
		s.r.evidence.cuts[s.f.arg.index] = true
	}
}

// isClosed reports whether a document is a map in flow style. If such a document is valid, it is complete.
func isClosed(text []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) }

// isConfiguration reports whether a document with an apiVersion and a kind is the configuration of a program, which has no name and is not
// captured from a cluster.
func (h *head) isConfiguration() bool {
	group := object.Group(h.apiVersion)
	return strings.HasSuffix(group, "config.k8s.io") || group == "kubeadm.k8s.io" || group == "kind.x-k8s.io" || h.ofTroubleshoot() ||
		group == "" && (h.kind == "Config" || h.kind == "Status")
}

// ofTroubleshoot recognizes the version of a support bundle of troubleshoot.
func (h *head) ofTroubleshoot() bool {
	return object.Group(h.apiVersion) == "troubleshoot.sh" && h.kind == "SupportBundle" && h.name == ""
}

// hasMember reports whether an object has a member at its top level.
func hasMember(raw []byte, name string) bool {
	var members map[string]jsontext.Value
	if object.Into(raw, &members) != nil {
		return true
	}
	_, ok := members[name]
	return ok
}
