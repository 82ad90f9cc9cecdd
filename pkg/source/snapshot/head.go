// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot/files"
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
func (h *head) existed(when string) {
	if t, err := time.Parse(time.RFC3339, when); err == nil {
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

const effectNoManifest = "only the objects themselves prove what was captured"

// use replaces what the objects prove by what the manifest states.
func (s *Snapshot) use(m *Manifest) {
	kinds := m.kinds()
	for _, k := range s.kinds.Every() {
		if _, known := kinds.Preferred(k.GroupKind()); !known {
			kinds.Add(k)
		}
	}
	s.kinds = kinds
	for _, k := range kinds.All() {
		if _, stated := s.coverage[k.GroupKind()]; !stated {
			s.coverage[k.GroupKind()] = extent{}.coverage()
		}
	}
	for _, g := range m.Gaps {
		if !g.Listed {
			s.description.Gaps = append(s.description.Gaps, g.Gap)
		}
	}
	whole := s.cover(m)
	d := &s.description
	d.TakenAt, d.Earliest = cmp.Or(m.TakenAt, d.TakenAt), m.Earliest
	d.KubernetesVersion = cmp.Or(m.Versions.Kubernetes, d.KubernetesVersion)
	d.Complete, d.Unmasked = m.Complete && whole, m.Unmasked
	d.Notes = append(slices.Clone(m.Notes), d.Notes...)
	if m.Masked != nil && m.Unmasked == nil {
		d.Unmasked = &source.Unmasked{}
	}
	if d.Complete {
		s.separate()
	}
}

// cover uses the statement of a manifest about each kind of which no object is lost. It reports whether none is lost.
func (s *Snapshot) cover(m *Manifest) bool {
	whole := true
	s.selected = map[schema.GroupKind]string{}
	for i := range m.Captured {
		c := &m.Captured[i]
		if lost := c.Objects - len(s.objects[c.groupKind()]); lost > 0 {
			s.description.Gaps = append(s.description.Gaps, source.Gap{
				What:   fmt.Sprintf("%d of %d objects of kind %s", lost, c.Objects, files.Shown(c.Kind)),
				Reason: "they are not in the snapshot any more, or are damaged",
				Effect: "they are not known to be missing on the cluster; take the snapshot again",
			})
			whole = false
			s.coverage[c.groupKind()] = source.NotCovered(source.Failure{
				Reason: source.NotInSnapshot, Detail: "objects of this kind were lost after the snapshot was taken",
			})
			continue
		}
		s.coverage[c.groupKind()] = c.coverage()
		if c.LabelSelector != "" {
			s.selected[c.groupKind()] = c.LabelSelector
		}
	}
	return whole
}

// markPartial marks the objects of which not all fields were captured.
func (s *Snapshot) markPartial() {
	for _, entries := range s.objects {
		for i := range entries {
			e := &entries[i]
			if !bytes.Contains(e.raw, []byte(CapturedAnnotation)) {
				continue
			}
			m, err := object.ReadMeta(e.raw)
			e.partial = err == nil && m.Metadata.Annotations[CapturedAnnotation] == CapturedMetadata
		}
	}
}

// separate takes the managedFields out of the objects, as a cluster yields them: an audit uses them for fewer objects
// then.
func (s *Snapshot) separate() {
	var reader object.ItemReader
	for _, entries := range s.objects {
		for i := range entries {
			e := &entries[i]
			item, err := reader.Read(jsontext.NewDecoder(bytes.NewBuffer(e.raw), lenient))
			if err == nil && len(item.ManagedFields) > 0 {
				e.raw, e.managed = bytes.Clone(item.Raw), bytes.Clone(item.ManagedFields)
			}
		}
	}
}

// list is one List. The documentation of the package has the rules by which it proves that an object is missing.
type list struct {
	file            string // name of the file without folders, which may be the name of a resource
	whole           bool
	kinds           map[schema.GroupKind]bool // of the items, and whether they have namespaces
	namespacedKinds int                       // of the items
	namespace       string                    // of its items
	namespaces      int                       // of its items: 0, 1, or 2 for more
	element         schema.GroupVersionKind   // the kind of the items of a typed List
}

// newList returns a List without items.
func newList(file string, element schema.GroupVersionKind) list {
	l := list{file: file, whole: true, element: element, kinds: map[schema.GroupKind]bool{}}
	if element.Kind != "" {
		l.kinds[element.GroupKind()] = false
	}
	return l
}

// add adds an item.
func (l *list) add(k object.Key) {
	gk, namespaced := k.GroupKind(), k.Namespace != ""
	if namespaced && !l.kinds[gk] {
		l.namespacedKinds++
	}
	l.kinds[gk] = l.kinds[gk] || namespaced
	if namespaced && k.Namespace != l.namespace {
		l.namespaces = min(l.namespaces+1, 2)
		l.namespace = k.Namespace
	}
}

// everywhere reports whether the List proves absence in all namespaces. wide states that a List of the snapshot has
// items in several namespaces, narrow that one may have items in one namespace only.
func (l *list) everywhere(wide, narrow bool) bool {
	switch l.namespaces {
	case 0:
		return wide || !narrow
	case 1:
		return wide && l.namespacedKinds == 1
	}
	return true
}

// extent is the set of namespaces in which all objects of a kind were captured. "" stands for cluster-scoped objects.
type extent struct {
	everywhere bool
	namespaces []string
}

// notCaptured is the failure in all namespaces in which nothing proves that all objects of a kind were captured. The
// text does not name the kind, so that kinds with the same failure can be shown together.
var notCaptured = source.Failure{
	Reason: source.NotInSnapshot, Detail: "no whole List of the kind was captured in that namespace",
}

// coverage is the coverage of a kind.
func (x extent) coverage() source.Coverage {
	if x.everywhere {
		return source.Covered()
	}
	return source.CoveredIn(x.namespaces, notCaptured)
}

// extents evaluates the Lists. named returns the kind of the resource in the name of a file. cut states that data was
// not read.
func extents(lists []list, cut bool, named func(file string) (schema.GroupKind, bool)) map[schema.GroupKind]extent {
	out := map[schema.GroupKind]extent{}
	wide, narrow := false, cut
	for _, l := range lists {
		wide = wide || l.namespaces > 1
		narrow = narrow || l.namespaces == 1
	}
	for _, l := range lists {
		if !l.whole {
			continue
		}
		if k, ok := named(l.file); ok && len(l.kinds) == 0 {
			l.kinds[k] = false
		}
		for k, namespaced := range l.kinds {
			x := out[k]
			x.everywhere = x.everywhere || l.everywhere(wide, narrow)
			x.namespaces = append(x.namespaces, "")
			if namespaced {
				x.namespaces = append(x.namespaces, l.namespace)
			}
			out[k] = x
		}
	}
	return out
}
