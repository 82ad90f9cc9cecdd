// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// head is what reading a snapshot needs of a document: its identity, whether it is a whole List, its times, and what documents that are
// not objects say of the capture. A member of another type than the API gives it counts as absent.
type head struct {
	apiVersion, kind                      string
	namespace, name, uid, resourceVersion string
	typ                                   string    // the field "type" of a Secret, of an Event
	managed                               bool      // it has managedFields
	titled                                bool      // it has a name at its top, like a Helm chart's Chart.yaml
	partial                               bool      // of a List: the server has more items
	newest                                time.Time // when the object was certainly on the cluster
	kubelet                               string    // of a Node: its version
	server                                string    // of a version.yaml, `kubectl version` or a support bundle: the server's version
	taken                                 time.Time // of a support bundle
}

// lenient accepts what API servers and collectors have been seen to write. Duplicate names are left to compact, so that one damages its
// own document or item only.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// headReader reads heads. It keeps its decoder, so that an object costs few allocations.
type headReader struct {
	head
	buf      bytes.Buffer
	dec      *jsontext.Decoder
	path     []byte
	deletion time.Time
	grace    time.Duration
	shared   map[string]string // strings that many objects have, so that each is held once
}

func newHeadReader() *headReader {
	return &headReader{dec: jsontext.NewDecoder(&bytes.Buffer{}), shared: map[string]string{}}
}

// read reads the head of one JSON object. Its error says that raw is not valid JSON; the head is what precedes the fault.
func (s *headReader) read(raw []byte) (head, error) {
	s.buf = *bytes.NewBuffer(raw)
	s.dec.Reset(&s.buf, lenient)
	s.head, s.path, s.deletion, s.grace = head{}, s.path[:0], time.Time{}, 0
	err := s.object()
	// A deletionTimestamp is in the future: it is when the grace period ends.
	s.newest = later(s.newest, s.deletion.Add(-s.grace))
	return s.head, err
}

// member reads the value of the member at the path, which is the names as JSON has them, one after the other, with their quotes: no name
// can be mistaken for a path. The path of a list is that of its elements.
func (s *headReader) member() error {
	switch string(s.path) {
	case `"apiVersion"`:
		return s.text(&s.apiVersion)
	case `"kind"`:
		return s.text(&s.kind)
	case `"type"`:
		return s.text(&s.typ)
	case `"name"`:
		s.titled = true
	case `"metadata"`, `"spec"`, `"status"`, `"status""nodeInfo"`, `"serverVersion"`:
		return s.object()
	case `"metadata""managedFields"`:
		s.managed = true
		return s.list()
	case `"status""conditions"`:
		return s.list()
	case `"metadata""name"`:
		return s.text(&s.name)
	case `"metadata""namespace"`:
		return s.text(&s.namespace)
	case `"metadata""uid"`:
		return s.text(&s.uid)
	case `"metadata""resourceVersion"`:
		return s.text(&s.resourceVersion)
	case `"metadata""continue"`, `"metadata""remainingItemCount"`:
		v, err := s.dec.ReadValue()
		s.partial = s.partial || v.Kind() == jsontext.KindString && string(v) != `""` || v.Kind() == jsontext.KindNumber && string(v) != "0"
		return err
	case `"metadata""creationTimestamp"`, `"metadata""managedFields""time"`, `"spec""renewTime"`, // of a Lease
		`"status""conditions""lastTransitionTime"`, `"status""conditions""lastUpdateTime"`, `"status""conditions""lastHeartbeatTime"`:
		return s.time(&s.newest)
	case `"metadata""deletionTimestamp"`:
		return s.time(&s.deletion)
	case `"metadata""deletionGracePeriodSeconds"`:
		v, err := s.dec.ReadValue()
		if n, bad := strconv.ParseUint(string(v), 10, 31); bad == nil {
			s.grace = time.Duration(n) * time.Second
		}
		return err
	case `"status""nodeInfo""kubeletVersion"`:
		return s.text(&s.kubelet)
	case `"gitVersion"`, `"serverVersion""gitVersion"`, `"kubernetesVersion"`, `"kubernetesversion"`:
		return s.text(&s.server)
	case `"bundleCreatedAt"`, `"bundlecreatedat"`:
		return s.time(&s.taken)
	}
	return s.dec.SkipValue()
}

// object reads the members of an object.
func (s *headReader) object() error {
	if s.dec.PeekKind() != jsontext.KindBeginObject {
		return s.dec.SkipValue()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	length := len(s.path)
	for s.dec.PeekKind() != jsontext.KindEndObject {
		name, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		s.path = append(s.path[:length], name...)
		if err := s.member(); err != nil {
			return err
		}
	}
	s.path = s.path[:length]
	_, err := s.dec.ReadToken()
	return err
}

// list reads the members of each object in a list.
func (s *headReader) list() error {
	if s.dec.PeekKind() != jsontext.KindBeginArray {
		return s.dec.SkipValue()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != jsontext.KindEndArray {
		if err := s.object(); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// text reads a string.
func (s *headReader) text(into *string) error {
	if s.dec.PeekKind() != jsontext.KindString {
		return s.dec.SkipValue()
	}
	t, err := s.dec.ReadToken()
	if err != nil {
		return err
	}
	*into = t.String()
	return nil
}

// time reads a time, and keeps it if it is newer.
func (s *headReader) time(newest *time.Time) error {
	var v string
	err := s.text(&v)
	if t, bad := time.Parse(time.RFC3339, v); bad == nil {
		*newest = later(*newest, t)
	}
	return err
}

// share returns a string that is held once, however many objects have it. A hostile file cannot fill the table: the strings that are
// worth it are few and short.
func (s *headReader) share(v string) string {
	if known, ok := s.shared[v]; ok {
		return known
	}
	if len(s.shared) < 10_000 && len(v) < 256 {
		s.shared[v] = v
	}
	return v
}

func (h *head) groupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(h.apiVersion, h.kind)
}

func (h *head) isObject() bool { return h.hasVersion() && h.kind != "" && h.name != "" }

// hasVersion says whether the apiVersion is valid: "v1", "apps/v1".
func (h *head) hasVersion() bool {
	gv, err := schema.ParseGroupVersion(h.apiVersion)
	return err == nil && gv.Version != ""
}

// isList says whether the document is a List, provided that it has items. Lists have no name.
func (h *head) isList() bool {
	return h.name == "" && h.hasVersion() && strings.HasSuffix(h.kind, "List") && !h.isDiscovery()
}

// isDiscovery recognizes /api and /apis as crust-gather keeps them (api.json, apis.json), and their older forms.
func (h *head) isDiscovery() bool {
	switch h.kind {
	case "APIVersions", "APIGroup", "APIGroupList", "APIResourceList":
		return h.name == "" || h.kind == "APIGroup"
	}
	return strings.HasPrefix(h.apiVersion, "apidiscovery.k8s.io/")
}

// element is the kind of a typed List's items, which do not repeat it.
func (h *head) element() (apiVersion, kind string) {
	if kind = strings.TrimSuffix(h.kind, "List"); kind == "" || !h.isList() {
		return "", ""
	}
	return h.apiVersion, kind
}
