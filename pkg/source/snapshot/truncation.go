// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// A YAML file that is cut is often still valid YAML, and what is left of its last document can look like an object that lacks fields, or
// like another object. API servers and kubectl write each object with certain members, and end each line: what lacks them was cut.

// fileEnd says how a YAML file ends.
type fileEnd struct {
	reached             bool // the end of the file
	failed              bool // by an error
	torn                bool // the last line has no end
	withUID, withoutUID int  // objects of the file: an API server gives each a uid
}

// Why a document is not complete.
const (
	cutName      = "it has no name"
	cutKind      = "it has no kind"
	cutNamespace = "it has no namespace"
	cutUID       = "it has no uid, unlike the objects before it"
	cutNoUID     = "it has no uid"
	cutMember    = "it has no "
	cutLine      = "it ends in the middle of a line"
	cutKey       = "it ends after a key"
)

// check looks for signs that the document at hand, which is valid YAML with the head h, is not complete. It is damaged then, or only
// its last item if it is a List that ends with its items (open).
func (s *yamlReader) check(h head, open bool) {
	d := s.doc
	switch {
	case h.isDiscovery() || h.server != "" || !h.taken.IsZero() || !h.hasVersion() || h.isConfiguration():
	case d.listed && h.isList():
		if s.end.reached && open && len(d.items) > 0 {
			s.checkLastItem(&h)
		}
	case d.listed && h.kind == "" && h.name == "": // kubectl writes a List's kind after its items
		s.reject(cutKind, open)
	case h.kind == "":
		if s.end.reached && !h.titled {
			s.reject(cutKind, false)
		}
	case h.name == "":
		s.r.evidence.lost[h.groupVersionKind().GroupKind()] = true
		s.reject(cutName, false)
	case s.end.reached:
		if reason := s.whyIncomplete(d.body, &h, s.text.text, false); reason != "" {
			s.r.evidence.lost[h.groupVersionKind().GroupKind()] = true
			s.reject(reason, false)
		}
	default:
		s.end.count(&h)
	}
}

// checkLastItem checks the last item of a List whose items are its last member.
func (s *yamlReader) checkLastItem(list *head) {
	s.end.withUID, s.end.withoutUID = 0, 0
	last := len(s.doc.items) - 1
	for _, it := range s.doc.items[:last] {
		h := s.r.heads.read(it.raw)
		s.end.count(&h)
	}
	raw := s.doc.items[last].raw
	h := s.r.heads.read(raw)
	if h.kind == "" {
		h.apiVersion, h.kind = list.element()
	}
	if h.name != "" {
		if reason := s.whyIncomplete(raw, &h, s.item.text, true); reason != "" {
			s.reject(reason, true)
		}
	}
}

func (e *fileEnd) count(h *head) {
	if h.uid != "" {
		e.withUID++
	} else {
		e.withoutUID++
	}
}

// whyIncomplete says why an object, or an item of a List, at the end of the file is probably cut; text is its YAML. A file of several
// documents has more signs than a file of one, which people write without an end of the last line. Only an API server sets a
// resourceVersion and managedFields, and it sets a uid with them, which kubectl writes after them.
func (s *yamlReader) whyIncomplete(raw []byte, h *head, text []byte, item bool) string {
	flow := !item && isClosed(text)
	closed := flow || !item && s.number == 1
	lastLine := text[bytes.LastIndexByte(text, '\n')+1:]
	known := s.r.catalog.kinds[h.groupVersionKind().GroupKind()]
	switch {
	case s.end.torn && !closed && len(bytes.TrimSpace(lastLine)) > 0:
		return cutLine
	case (!closed || s.end.torn && !flow) && endsAfterKey(text):
		return cutKey
	case h.namespace == "" && known != nil && known.Namespaced:
		return cutNamespace
	case h.uid == "" && s.end.withUID > 0 && s.end.withoutUID == 0:
		return cutUID
	case h.uid == "" && (h.managed || h.resourceVersion != "") && !flow && !item && s.number == 1:
		return cutNoUID
	case h.uid != "" && known != nil && known.lastMember != "" && !hasMember(raw, known.lastMember):
		return cutMember + known.lastMember
	}
	return ""
}

// endsAfterKey says whether the last line that is not blank and not a comment lacks its value.
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

// reject notes that the document at hand, or its last item, is not complete.
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

// cut notes that the document at hand may not have been read to its end. In a file of several documents, documents of any kind may be
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

// isClosed says whether a document is one map in flow style. If it is valid, its end is there.
func isClosed(text []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) }

// isConfiguration says whether a document with an apiVersion and a kind is a program's configuration, which has no name and is not
// captured from a cluster.
func (h *head) isConfiguration() bool {
	group := object.Group(h.apiVersion)
	return strings.HasSuffix(group, "config.k8s.io") || group == "kubeadm.k8s.io" || group == "kind.x-k8s.io" ||
		group == "" && (h.kind == "Config" || h.kind == "Status")
}

// hasMember says whether an object has a member at its top.
func hasMember(raw []byte, name string) bool {
	var members map[string]jsontext.Value
	if object.Into(raw, &members) != nil {
		return true
	}
	_, ok := members[name]
	return ok
}
