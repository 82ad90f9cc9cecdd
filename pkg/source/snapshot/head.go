// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
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
	deletion, grace                       string    // the end and the seconds of the grace period
	partial                               bool      // of a List: the server has more items
	newest                                time.Time // a time at which the object existed on the cluster
	kubelet                               string    // of a Node: its version
}

// lenient accepts JSON that is not strictly valid. Package files has refused duplicate names.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// containers are the paths of the objects and lists that have something of a head. A path is the sequence of quoted
// names, so that no name can look like a path. The path of a list is also that of its elements.
var containers = map[string]jsontext.Kind{
	`"metadata"`: jsontext.KindBeginObject, `"metadata""managedFields"`: jsontext.KindBeginArray,
	`"spec"`:   jsontext.KindBeginObject,
	`"status"`: jsontext.KindBeginObject, `"status""conditions"`: jsontext.KindBeginArray,
	`"status""nodeInfo"`: jsontext.KindBeginObject,
}

// texts are the paths of texts, and numbers those of numbers.
var texts = map[string]func(*head, string){
	`"apiVersion"`:                             func(h *head, v string) { h.apiVersion = v },
	`"kind"`:                                   func(h *head, v string) { h.kind = v },
	`"type"`:                                   func(h *head, v string) { h.typ = v },
	`"metadata""name"`:                         func(h *head, v string) { h.name = v },
	`"metadata""namespace"`:                    func(h *head, v string) { h.namespace = v },
	`"metadata""uid"`:                          func(h *head, v string) { h.uid = v },
	`"metadata""resourceVersion"`:              func(h *head, v string) { h.resourceVersion = v },
	`"metadata""continue"`:                     func(h *head, v string) { h.partial = h.partial || v != "" },
	`"metadata""creationTimestamp"`:            func(h *head, v string) { h.created = true; h.existed(v) },
	`"metadata""deletionTimestamp"`:            func(h *head, v string) { h.deletion = v },
	`"metadata""managedFields""time"`:          func(h *head, v string) { h.created = true; h.existed(v) },
	`"spec""renewTime"`:                        (*head).existed, // of a Lease
	`"status""conditions""lastTransitionTime"`: (*head).existed,
	`"status""conditions""lastUpdateTime"`:     (*head).existed,
	`"status""conditions""lastHeartbeatTime"`:  (*head).existed,
	`"status""nodeInfo""kubeletVersion"`:       func(h *head, v string) { h.kubelet = v },
}

var numbers = map[string]func(*head, string){
	`"metadata""remainingItemCount"`:         func(h *head, v string) { h.partial = h.partial || v != "0" },
	`"metadata""deletionGracePeriodSeconds"`: func(h *head, v string) { h.grace = v },
}

// existed keeps a time at which the object existed, if it is newer.
func (h *head) existed(at string) {
	if t, err := time.Parse(time.RFC3339, at); err == nil {
		h.newest = later(h.newest, t)
	}
}

// deleted keeps the time of the deletion. A deletionTimestamp is the end of the grace period, which is in the future.
func (h *head) deleted() {
	end, err := time.Parse(time.RFC3339, h.deletion)
	grace, _ := time.ParseDuration(h.grace + "s")
	if err == nil {
		h.newest = later(h.newest, end.Add(-grace))
	}
}

// headReader reads heads. It keeps its decoder, so that an object costs few allocations.
type headReader struct {
	head
	buf  bytes.Buffer
	dec  *jsontext.Decoder
	path []byte
}

func newHeadReader() *headReader { return &headReader{dec: jsontext.NewDecoder(&bytes.Buffer{})} }

// read reads the head of one JSON object. If raw is not valid, the head is what precedes the error.
func (s *headReader) read(raw []byte) head {
	s.buf = *bytes.NewBuffer(raw)
	s.dec.Reset(&s.buf, lenient)
	s.head, s.path = head{}, s.path[:0]
	_ = s.container()
	s.deleted()
	return s.head
}

// container reads the members of an object, or of each object in a list.
func (s *headReader) container() error {
	switch s.dec.PeekKind() {
	case jsontext.KindBeginArray:
		return object.Elements(s.dec, s.container)
	case jsontext.KindBeginObject:
		length := len(s.path)
		defer func() { s.path = s.path[:length] }()
		return object.Members(s.dec, func(name jsontext.Value) error {
			s.path = append(s.path[:length], name...)
			return s.member()
		})
	}
	return s.dec.SkipValue()
}

// member reads the value of the member at the path.
func (s *headReader) member() error {
	kind := s.dec.PeekKind()
	if want, ok := containers[string(s.path)]; ok && kind == want {
		return s.container()
	}
	set := texts[string(s.path)]
	if kind == jsontext.KindNumber {
		set = numbers[string(s.path)]
	}
	if set == nil || kind != jsontext.KindNumber && kind != jsontext.KindString {
		return s.dec.SkipValue()
	}
	t, err := s.dec.ReadToken()
	if err == nil {
		set(&s.head, t.String())
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
