// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// head is the part of a document that is needed to read a snapshot. A member that does not have the type that the API
// gives it counts as absent.
type head struct {
	apiVersion, kind                      string
	namespace, name, uid, resourceVersion string
	typ                                   string    // the member "type", for example of a Secret
	created                               bool      // it has a creationTimestamp or managedFields
	partial                               bool      // of a List: the server has more items
	newest                                time.Time // a time at which the object existed on the cluster
	kubelet                               string    // of a Node: its version
}

// lenient accepts JSON that is not strictly valid. Package files has refused duplicate names.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// headReader reads heads. It keeps its decoder, so that an object costs few allocations.
type headReader struct {
	head
	buf      bytes.Buffer
	dec      *jsontext.Decoder
	path     []byte
	creation time.Time
	deletion time.Time
	grace    time.Duration
	strings  map[string]*string    // by path
	times    map[string]*time.Time // by path
}

func newHeadReader() *headReader {
	s := &headReader{dec: jsontext.NewDecoder(&bytes.Buffer{})}
	s.strings = map[string]*string{
		`"apiVersion"`: &s.apiVersion, `"kind"`: &s.kind, `"type"`: &s.typ,
		`"metadata""name"`: &s.name, `"metadata""namespace"`: &s.namespace,
		`"metadata""uid"`: &s.uid, `"metadata""resourceVersion"`: &s.resourceVersion,
		`"status""nodeInfo""kubeletVersion"`: &s.kubelet,
	}
	s.times = map[string]*time.Time{
		`"metadata""creationTimestamp"`: &s.creation, `"metadata""managedFields""time"`: &s.newest,
		`"status""conditions""lastTransitionTime"`: &s.newest, `"status""conditions""lastUpdateTime"`: &s.newest,
		`"status""conditions""lastHeartbeatTime"`: &s.newest, `"spec""renewTime"`: &s.newest, // of a Lease
		`"metadata""deletionTimestamp"`: &s.deletion,
	}
	return s
}

// read reads the head of one JSON object. If raw is not valid, the head is what precedes the error.
func (s *headReader) read(raw []byte) head {
	s.buf = *bytes.NewBuffer(raw)
	s.dec.Reset(&s.buf, lenient)
	s.head, s.path = head{}, s.path[:0]
	s.creation, s.deletion, s.grace = time.Time{}, time.Time{}, 0
	_ = s.object()
	s.newest = later(s.newest, s.creation)
	// A deletionTimestamp is the end of the grace period, which is in the future.
	s.newest = later(s.newest, s.deletion.Add(-s.grace))
	return s.head
}

// member reads the value of the member at the path. The path is the sequence of quoted names, so that no name can look
// like a path. The path of a list is also that of its elements.
func (s *headReader) member() error {
	if into, ok := s.strings[string(s.path)]; ok {
		return s.text(into)
	}
	if newest, ok := s.times[string(s.path)]; ok {
		s.created = s.created || newest == &s.creation
		return s.time(newest)
	}
	switch string(s.path) {
	case `"metadata"`, `"spec"`, `"status"`, `"status""nodeInfo"`:
		return s.object()
	case `"metadata""managedFields"`:
		s.created = true
		return s.list()
	case `"status""conditions"`:
		return s.list()
	case `"metadata""continue"`, `"metadata""remainingItemCount"`:
		v, err := s.dec.ReadValue()
		s.partial = s.partial || !slices.Contains([]string{`""`, "0", "null"}, string(v))
		return err
	case `"metadata""deletionGracePeriodSeconds"`:
		v, err := s.dec.ReadValue()
		if n, invalid := strconv.ParseUint(string(v), 10, 31); invalid == nil {
			s.grace = time.Duration(n) * time.Second
		}
		return err
	}
	return s.dec.SkipValue()
}

// object reads the members of an object.
func (s *headReader) object() error {
	if s.dec.PeekKind() != jsontext.KindBeginObject {
		return s.dec.SkipValue()
	}
	length := len(s.path)
	err := object.Members(s.dec, func(name jsontext.Value) error {
		s.path = append(s.path[:length], name...)
		return s.member()
	})
	s.path = s.path[:length]
	return err
}

// list reads the members of each object in a list.
func (s *headReader) list() error {
	if s.dec.PeekKind() != jsontext.KindBeginArray {
		return s.dec.SkipValue()
	}
	return object.Elements(s.dec, s.object)
}

// text reads a string.
func (s *headReader) text(into *string) error {
	if s.dec.PeekKind() != jsontext.KindString {
		return s.dec.SkipValue()
	}
	t, err := s.dec.ReadToken()
	if err == nil {
		*into = t.String()
	}
	return err
}

// time reads a time, and keeps it if it is newer.
func (s *headReader) time(newest *time.Time) error {
	var v string
	err := s.text(&v)
	if t, invalid := time.Parse(time.RFC3339, v); invalid == nil {
		*newest = later(*newest, t)
	}
	return err
}

func (h *head) groupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(h.apiVersion, h.kind)
}

// isObject reports whether a document is a Kubernetes object.
func (h *head) isObject() bool {
	named := h.kind != "" && h.name != ""
	return named && h.hasVersion()
}

// hasVersion reports whether the apiVersion is valid: "v1", "apps/v1".
func (h *head) hasVersion() bool {
	gv, err := schema.ParseGroupVersion(h.apiVersion)
	return err == nil && gv.Version != ""
}

// isList reports whether a document with items is a List. A List has no name. The discovery of the API server looks
// like one.
func (h *head) isList() bool {
	if h.name != "" || !strings.HasSuffix(h.kind, "List") {
		return false
	}
	return h.hasVersion() && object.Group(h.apiVersion) != "apidiscovery.k8s.io"
}

// element is the kind of the items of a typed List, which need not state it.
func (h *head) element() schema.GroupVersionKind {
	if h.kind == "List" || !h.isList() {
		return schema.GroupVersionKind{}
	}
	return schema.FromAPIVersionAndKind(h.apiVersion, strings.TrimSuffix(h.kind, "List"))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b.UTC()
	}
	return a
}
