// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// A YAML file that is cut is mostly valid YAML still, and what is left of its last document can pass for an object that lacks fields, or
// for another object. tail holds what tells: API servers and kubectl write each object with certain members, and end each line.
type tail struct {
	reached  bool // the end of the file
	broken   bool // it is an error
	torn     bool // the last line has no end
	blank    bool // there is nothing in it
	dangling bool // the last line announces something that does not follow
	dated    int  // objects of the file that have a uid, as all have that come from an API server
	undated  int
}

// read takes note of a line of the file.
func (t *tail) read(line []byte) {
	if line[0] == '#' { // a comment, whose end says nothing about the lines before it
		t.torn = false
		return
	}
	text := bytes.TrimRight(line, " \t\r\n")
	t.torn, t.blank = line[len(line)-1] != '\n', len(text) == 0
	if !t.blank {
		t.dangling = bytes.HasSuffix(text, []byte(":")) || bytes.HasSuffix(text, []byte(": |")) || bytes.HasSuffix(text, []byte(": >")) ||
			bytes.HasSuffix(text, []byte("-")) && len(bytes.TrimLeft(text, " -")) == 0
	}
}

// Why a document is not whole.
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

// check looks for signs that the document at hand, of which the YAML is valid, is not whole. One that is not whole is damaged. In a List
// whose items were being read at its end (open), the last item is.
func (s *yamlStream) check(open bool) {
	d := s.doc
	x, err := s.r.scan.scan(d.body)
	switch {
	case err != nil || d.damaged || x.isDiscovery() || x.about != (about{}) || !x.hasVersion() || isConfiguration(&x):
		return
	case d.listed && x.isList():
		s.checkList(x, open)
	case d.listed && x.kind == "" && x.name == "":
		s.refuse(cutKind, open)
	case x.kind == "":
		if s.tail.reached && !x.titled {
			s.refuse(cutKind, false)
		}
	case x.name == "":
		s.r.evidence.lose(schema.FromAPIVersionAndKind(x.apiVersion, x.kind).GroupKind())
		s.refuse(cutName, false)
	case s.tail.reached:
		if reason := s.doubt(d.body, x, false); reason != "" {
			s.r.evidence.lose(schema.FromAPIVersionAndKind(x.apiVersion, x.kind).GroupKind())
			s.refuse(reason, false)
		}
	default:
		s.tail.count(x)
	}
}

// checkList checks the end of a List. kubectl writes its kind after its items, so that a cut one has none; of another, whose items come
// last, the last item is checked.
func (s *yamlStream) checkList(x facts, open bool) {
	switch {
	case !s.tail.reached:
	case open && len(s.doc.items) > 0:
		s.tail.dated, s.tail.undated = 0, 0
		last := len(s.doc.items) - 1
		for _, it := range s.doc.items[:last] {
			if y, err := s.r.scan.scan(it.raw); err == nil {
				s.tail.count(y)
			}
		}
		raw := s.doc.items[last].raw
		y, err := s.r.scan.scan(raw)
		if y.kind == "" {
			y.apiVersion, y.kind = x.element()
		}
		if err == nil && y.name != "" {
			if reason := s.doubt(raw, y, true); reason != "" {
				s.refuse(reason, true)
			}
		}
	}
}

func (t *tail) count(x facts) {
	if x.uid != "" {
		t.dated++
	} else {
		t.undated++
	}
}

// doubt says why an object, or the item of a List, with which the file ends may be the beginning of one. In a file of several more is a
// sign than in a file of one, which people write without an end of the last line. Only an API server sets a resourceVersion and
// managedFields, and it sets a uid with them, which kubectl writes after them.
func (s *yamlStream) doubt(raw []byte, x facts, item bool) string {
	gk := schema.FromAPIVersionAndKind(x.apiVersion, x.kind).GroupKind()
	t := &s.tail
	flow := !item && isClosed(s.text.text)
	closed := flow || !item && s.number == 1
	switch member := lastMember[gk]; {
	case t.torn && !t.blank && !closed:
		return cutLine
	case t.dangling && (!closed || t.torn && !flow):
		return cutKey
	case x.namespace == "" && namespaced[gk]:
		return cutNamespace
	case x.uid == "" && t.dated > 0 && t.undated == 0:
		return cutUID
	case x.uid == "" && (x.managed || x.resourceVersion != "") && !flow && !item && s.number == 1:
		return cutNoUID
	case x.uid != "" && member != "" && !hasMember(raw, member):
		return cutMember + member
	}
	return ""
}

// refuse notes that the document at hand, or its last item, is not whole.
func (s *yamlStream) refuse(reason string, open bool) {
	effect := effectDocument
	if s.tail.reached && s.number > 1 {
		effect = effectRest
	}
	where := s.f.at(s.doc.line, 0, s.number)
	if n := len(s.doc.items); open && n > 0 {
		where = s.f.at(s.doc.items[n-1].line, 0, s.number) + fmt.Sprintf(", item %d", n)
	}
	s.doc.damaged, s.f.harmed = true, true
	s.f.gap(where, reason+": it is not whole", effect)
	s.cut(open)
}

// cut notes that what is read of the document at hand may be a part of it. In a stream, documents of any kind may be lost after it.
func (s *yamlStream) cut(open bool) {
	if n := len(s.doc.items); open && n > 0 && !s.tail.broken {
		s.doc.items = s.doc.items[:n-1]
	}
	if !s.tail.reached {
		return
	}
	s.f.harmed = true
	if s.number > 1 {
		s.r.evidence.cut(s.f.arg.index)
	}
}

// isClosed says whether a document is one map in flow style, whose end is there if it is valid.
func isClosed(text []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) }

// isConfiguration says whether a document of an apiVersion and a kind is a file of a program, which has no name and is never captured.
func isConfiguration(x *facts) bool {
	group := object.Group(x.apiVersion)
	return strings.HasSuffix(group, "config.k8s.io") || group == "kubeadm.k8s.io" || group == "kind.x-k8s.io" ||
		group == "" && (x.kind == "Config" || x.kind == "Status")
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
