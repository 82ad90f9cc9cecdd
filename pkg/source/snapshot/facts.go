// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lenientUTF8 takes what API servers and collectors have been seen to write. lenient leaves duplicate names to compact, so that one
// damages its own document or item only.
var lenient = jsontext.AllowDuplicateNames(true)
var lenientUTF8 = jsontext.AllowInvalidUTF8(true)

// facts is what reading a snapshot needs to know of a document: who it is, whether it is a List and a whole one, and its times.
// What has another type than the API gives it counts as absent.
type facts struct {
	apiVersion, kind                      string
	namespace, name, uid, resourceVersion string
	typ                                   string // the top-level field "type": of a Secret, of an Event
	labels                                [2]int // where their JSON begins and ends
	continued                             bool   // of a List: there is more of it
	newest                                time.Time
	kubelet                               string // of a Node: its version
	about                                 about
	titled                                bool // it has a name at its top, as a Helm chart's Chart.yaml
	managed                               bool // it has managedFields
}

// about is what documents that are no objects say of the capture.
type about struct {
	gitVersion string    // of a version.yaml, of `kubectl version -o yaml`, of a support bundle's metadata.yaml
	taken      time.Time // of a support bundle's metadata.yaml
}

func (f *facts) isObject() bool { return f.hasVersion() && f.kind != "" && f.name != "" }

// hasVersion says whether the apiVersion is one: "v1", "apps/v1".
func (f *facts) hasVersion() bool {
	gv, err := schema.ParseGroupVersion(f.apiVersion)
	return err == nil && gv.Version != ""
}

// isList says whether the document is a List, provided that it has items. Lists have no name.
func (f *facts) isList() bool {
	return f.name == "" && f.hasVersion() && strings.HasSuffix(f.kind, "List") && !f.isDiscovery()
}

// isDiscovery recognises /api and /apis as crust-gather keeps them (api.json, apis.json), and their older forms.
func (f *facts) isDiscovery() bool {
	switch f.kind {
	case "APIVersions", "APIGroup", "APIGroupList", "APIResourceList":
		return f.name == "" || f.kind == "APIGroup"
	}
	return strings.HasPrefix(f.apiVersion, "apidiscovery.k8s.io/")
}

// element is the kind of a typed List's items, which do not repeat it.
func (f *facts) element() (apiVersion, kind string) {
	if f.kind == "List" {
		return "", ""
	}
	return f.apiVersion, strings.TrimSuffix(f.kind, "List")
}

// scanner reads facts. It keeps its decoder, so that an object costs few allocations.
type scanner struct {
	buf bytes.Buffer
	dec *jsontext.Decoder
	out facts

	deletion time.Time
	grace    time.Duration
	// interned keeps the strings that repeat from object to object from being held once for each.
	interned map[string]string
}

func newScanner() *scanner {
	return &scanner{dec: jsontext.NewDecoder(&bytes.Buffer{}), interned: map[string]string{}}
}

// scan reads the facts of one JSON object. Its error says that raw is no JSON.
func (s *scanner) scan(raw []byte) (facts, error) {
	s.buf = *bytes.NewBuffer(raw)
	s.dec.Reset(&s.buf, lenient, lenientUTF8)
	s.out, s.deletion, s.grace = facts{}, time.Time{}, 0
	err := s.members(s.top)
	// A deletionTimestamp lies in the future: it is when the grace period will be over.
	if t := s.deletion.Add(-s.grace); t.After(s.out.newest) {
		s.out.newest = t
	}
	return s.out, err
}

func (s *scanner) top(name []byte) error {
	switch string(name) {
	case `"apiVersion"`:
		return s.text(&s.out.apiVersion)
	case `"kind"`:
		return s.text(&s.out.kind)
	case `"type"`:
		return s.text(&s.out.typ)
	case `"name"`:
		s.out.titled = true
		return s.dec.SkipValue()
	case `"metadata"`:
		return s.members(s.metadata)
	case `"status"`:
		return s.members(s.status)
	case `"spec"`:
		return s.members(s.spec)
	case `"gitVersion"`, `"kubernetesVersion"`, `"kubernetesversion"`:
		return s.text(&s.out.about.gitVersion)
	case `"bundleCreatedAt"`, `"bundlecreatedat"`:
		return s.time(&s.out.about.taken)
	case `"serverVersion"`:
		return s.members(func(name []byte) error {
			if string(name) == `"gitVersion"` {
				return s.text(&s.out.about.gitVersion)
			}
			return s.dec.SkipValue()
		})
	}
	return s.dec.SkipValue()
}

func (s *scanner) metadata(name []byte) error {
	switch string(name) {
	case `"name"`:
		return s.unique(&s.out.name)
	case `"namespace"`:
		return s.text(&s.out.namespace)
	case `"uid"`:
		return s.unique(&s.out.uid)
	case `"resourceVersion"`:
		return s.unique(&s.out.resourceVersion)
	case `"labels"`:
		v, err := s.dec.ReadValue()
		end := int(s.dec.InputOffset())
		s.out.labels = [2]int{end - len(v), end}
		return err
	case `"continue"`:
		var token string
		err := s.unique(&token)
		s.out.continued = s.out.continued || token != ""
		return err
	case `"remainingItemCount"`:
		v, err := s.dec.ReadValue()
		s.out.continued = s.out.continued || v.Kind() == '0' && string(v) != "0"
		return err
	case `"creationTimestamp"`:
		return s.time(&s.out.newest)
	case `"deletionTimestamp"`:
		return s.time(&s.deletion)
	case `"deletionGracePeriodSeconds"`:
		return s.seconds(&s.grace)
	case `"managedFields"`:
		s.out.managed = true
		return s.times(`"time"`)
	}
	return s.dec.SkipValue()
}

func (s *scanner) status(name []byte) error {
	switch string(name) {
	case `"conditions"`:
		return s.times(`"lastTransitionTime"`, `"lastUpdateTime"`, `"lastHeartbeatTime"`)
	case `"nodeInfo"`:
		return s.members(func(name []byte) error {
			if string(name) == `"kubeletVersion"` {
				return s.text(&s.out.kubelet)
			}
			return s.dec.SkipValue()
		})
	}
	return s.dec.SkipValue()
}

// spec reads the renewTime of a Lease. Other kinds do not have one.
func (s *scanner) spec(name []byte) error {
	if string(name) == `"renewTime"` {
		return s.time(&s.out.newest)
	}
	return s.dec.SkipValue()
}

// times reads the named times of each element of a list.
func (s *scanner) times(names ...string) error {
	if s.dec.PeekKind() != '[' {
		return s.dec.SkipValue()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != ']' {
		err := s.members(func(name []byte) error {
			for _, n := range names {
				if string(name) == n {
					return s.time(&s.out.newest)
				}
			}
			return s.dec.SkipValue()
		})
		if err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// members calls visit, which must read the value, with each name of an object, as it is written, with its quotes.
func (s *scanner) members(visit func(name []byte) error) error {
	if s.dec.PeekKind() != '{' {
		return s.dec.SkipValue()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		if err := visit(name); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// time keeps the time that is read, if it is newer.
func (s *scanner) time(newest *time.Time) error {
	var v string
	if err := s.unique(&v); err != nil {
		return err
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil && t.After(*newest) {
		*newest = t.UTC()
	}
	return nil
}

func (s *scanner) seconds(into *time.Duration) error {
	if s.dec.PeekKind() != '0' {
		return s.dec.SkipValue()
	}
	t, err := s.dec.ReadToken()
	if err != nil {
		return err
	}
	if n, err := strconv.ParseInt(t.String(), 10, 32); err == nil && n > 0 {
		*into = time.Duration(n) * time.Second
	}
	return nil
}

// unique reads a string that hardly another object has.
func (s *scanner) unique(into *string) error {
	if s.dec.PeekKind() != '"' {
		return s.dec.SkipValue()
	}
	t, err := s.dec.ReadToken()
	if err != nil {
		return err
	}
	*into = t.String()
	return nil
}

// text reads a string that many objects share.
func (s *scanner) text(into *string) error {
	if err := s.unique(into); err != nil {
		return err
	}
	// A hostile file must not be able to fill the table: the strings that are worth it are few and short.
	if known, ok := s.interned[*into]; ok {
		*into = known
	} else if len(s.interned) < 10_000 && len(*into) < 256 {
		s.interned[*into] = *into
	}
	return nil
}
