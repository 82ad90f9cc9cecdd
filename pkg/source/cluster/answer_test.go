// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// widgetKind is a kind of a CustomResourceDefinition.
var widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

const widgets = "/apis/example.com/v1/widgets"

// widgetScript serves widgets, and gadgets beside them, to discovery.
func widgetScript(a ...answer) map[string][]answer {
	return map[string][]answer{
		"/apis":                {jsonAnswer(http.StatusOK, metav1.APIGroupList{Groups: []metav1.APIGroup{groupOf("example.com", "v1")}})},
		"/apis/example.com/v1": {jsonAnswer(http.StatusOK, resources("example.com/v1", resource("widgets", "Widget", true), resource("gadgets", "Gadget", true)))},
		widgets:                a,
	}
}

// written answers with a document as it is.
func written(document string) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(document)) // the client may hang up
	}
}

// configMapItem is an item that states its kind.
const configMapItem = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`

// TestListKind holds that an answer of another kind is a gap, and that nothing of it is taken.
func TestListKind(t *testing.T) {
	t.Parallel()
	configMap := source.Query{Kind: configMapKind}
	metadata := source.Query{Kind: configMapKind, MetadataOnly: true}
	widget := source.Query{Kind: widgetKind}
	for name, test := range map[string]struct {
		query    source.Query
		document string
		yields   []string
		fails    string // a part of the gap, "" for none
	}{
		"as asked":             {query: configMap, document: `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`, yields: []string{"a"}},
		"another kind":         {query: configMap, document: `{"kind":"SecretList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`, fails: `"SecretList" of "v1"; ConfigMapList of v1 was asked for`},
		"another kind, empty":  {query: configMap, document: `{"kind":"SecretList","apiVersion":"v1","items":[]}`, fails: "another kind"},
		"another version":      {query: configMap, document: `{"kind":"ConfigMapList","apiVersion":"v2","items":[]}`, fails: `"ConfigMapList" of "v2"`},
		"a list of anything":   {query: configMap, document: `{"kind":"List","apiVersion":"v1","items":[]}`, fails: "another kind"},
		"a table":              {query: configMap, document: `{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[],"rows":[]}`, fails: `"Table" of "meta.k8s.io/v1"`},
		"a status":             {query: configMap, document: `{"kind":"Status","apiVersion":"v1","status":"Success"}`, fails: `"Status" of "v1"`},
		"one object":           {query: configMap, document: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`, fails: `"ConfigMap" of "v1"`},
		"no kind":              {query: configMap, document: `{"items":[]}`, fails: "does not state its kind"},
		"no kind, and an item": {query: configMap, document: `{"items":[{"metadata":{"name":"a"}}]}`, fails: "does not state its kind"},
		"the kind comes late":  {query: configMap, document: `{"apiVersion":"v1","items":[{"metadata":{"name":"a"}}],"kind":"SecretList"}`, fails: "another kind"},
		"another kind, of which the items are as asked": {query: configMap, document: `{"kind":"PodList","apiVersion":"v1","items":[` + configMapItem + `]}`,
			fails: `"PodList" of "v1"`},
		"another version, of which the items are as asked": {query: configMap, document: `{"kind":"ConfigMapList","apiVersion":"v2","items":[` + configMapItem + `]}`,
			fails: `"ConfigMapList" of "v2"`},
		"no kind, and an item as asked": {query: configMap, document: `{"items":[` + configMapItem + `]}`, fails: "does not state its kind"},
		"another version, and the kind comes late": {query: configMap, document: `{"apiVersion":"v2","items":[` + configMapItem + `],"kind":"ConfigMapList"}`,
			fails: "does not state its kind"},
		"the version comes late": {query: configMap, document: `{"kind":"ConfigMapList","items":[` + configMapItem + `],"apiVersion":"v1"}`,
			yields: []string{"a"}},
		"an item of another kind": {query: configMap, document: `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}]}`,
			fails: `"Secret" of "v1"`},
		"metadata that were not asked for": {query: configMap, document: `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[]}`, fails: "another kind"},
		"metadata": {query: metadata, document: `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[` +
			`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}]}`, yields: []string{"a"}},
		"a custom resource": {query: widget, document: `{"apiVersion":"example.com/v1","items":[{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}],` +
			`"kind":"WidgetList","metadata":{}}`, yields: []string{"a"}},
		"a custom resource with a name for its lists": {query: widget, document: `{"apiVersion":"example.com/v1","items":[` +
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}],"kind":"WidgetCollection","metadata":{}}`, yields: []string{"a"}},
		"another custom resource": {query: widget, document: `{"apiVersion":"example.com/v1","items":[],"kind":"GadgetList","metadata":{}}`, fails: `"GadgetList"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := map[string][]answer{configMaps: {written(test.document)}}
			if test.query.Kind == widgetKind {
				script = widgetScript(written(test.document))
			}
			got, cover, err := collect(t, serve(t, script).open(), test.query)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]string{}, test.yields...), got); diff != "" {
				t.Errorf("yielded (-want +got):\n%s", diff)
			}
			f, covered := cover.Of("any")
			if covered != (test.fails == "") || !strings.Contains(f.Detail, test.fails) || !covered && f.Reason != source.ReadFailed {
				t.Errorf("covered %t: %+v, want %q", covered, f, test.fails)
			}
		})
	}
}

// TestListEndless holds that a list which comes to no end is given up, and is no complete one.
func TestListEndless(t *testing.T) {
	t.Parallel()
	tokens := func(names func(n int) []string) []answer { // pages that never end, each with a token of its own
		out := make([]answer, 20)
		for n := range out {
			out[n] = page(fmt.Sprint("token-", n), names(n)...)
		}
		return out
	}
	for name, test := range map[string]struct {
		answers  []answer
		says     string
		requests int
	}{
		"the same token":            {times(3, page("A", "x/1")), "the server gave the same continue token twice", 2},
		"the same objects for ever": {tokens(func(int) []string { return []string{"x/1", "x/2"} }), "it has more than 10 pages", 10},
		"nothing, for ever":         {tokens(func(int) []string { return nil }), "it has more than 10 pages", 10},
		"two tokens in turn":        {alternate(3, page("A", "x/1"), page("B", "x/2")), "the server gave the same continue token twice", 3},
		"other objects for ever":    {tokens(func(n int) []string { return []string{fmt.Sprint("x/", n), fmt.Sprint("y/", n)} }), "it has more than 8 objects", 5},
		"one page without an end":   {times(1, page("", strings.Fields("1 2 3 4 5 6 7 8 9 10")...)), "it has more than 8 objects", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string][]answer{configMaps: test.answers})
			_, cover, err := collect(t, s.openWith(cluster.Options{PageSize: 2, MaxPages: 10, MaxObjects: 8}), source.Query{Kind: configMapKind})
			if err != nil {
				t.Fatal(err)
			}
			if f, covered := cover.Of("x"); covered || f.Detail != "the list was given up: "+test.says || f.Reason != source.ReadFailed {
				t.Errorf("covered %t: %+v, want %q", covered, f, test.says)
			}
			if got := len(s.asked()); got != test.requests {
				t.Errorf("%d requests, want %d", got, test.requests)
			}
		})
	}
}

// alternate repeats two answers, n in all.
func alternate(n int, a, b answer) []answer {
	out := make([]answer, n)
	for i := range out {
		out[i] = a
		if i%2 == 1 {
			out[i] = b
		}
	}
	return out
}

// TestListBarren holds that a list which yields nothing new is given up long before it has as many pages as a list may have, and that an
// expired list may pass again over what it has yielded.
func TestListBarren(t *testing.T) {
	t.Parallel()
	const pages = 150
	numbered := func(prefix string, names func(n int) []string) []answer {
		out := make([]answer, pages)
		for n := range out {
			out[n] = page(fmt.Sprint(prefix, n), names(n)...)
		}
		return out
	}
	others := func(n int) []string { return []string{fmt.Sprint("x/", n)} }
	again := append(numbered("second-", others), page("", "x/last"))
	for name, test := range map[string]struct {
		answers  []answer
		requests int
		covered  bool
	}{
		"nothing":               {numbered("", func(int) []string { return nil }), 100, false},
		"the same objects":      {numbered("", func(int) []string { return []string{"x/1"} }), 101, false},
		"the same after a 410":  {slices.Concat(numbered("", others), []answer{expired("")}, again), 2*pages + 2, true},
		"tokens again, and 410": {slices.Concat(numbered("", others), []answer{expired("")}, numbered("", others), []answer{page("")}), 2*pages + 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string][]answer{configMaps: test.answers})
			_, cover, err := collect(t, s.open(), source.Query{Kind: configMapKind})
			f, covered := cover.Of("x")
			if err != nil || covered != test.covered || !covered && f.Detail != "the list was given up: 100 pages in a row have no new object" {
				t.Errorf("covered %t: %+v, %v", covered, f, err)
			}
			if got := len(s.asked()); got != test.requests {
				t.Errorf("%d requests, want %d", got, test.requests)
			}
		})
	}
}

// TestListFiltered holds that pages which a server has filtered down to nothing are read on.
func TestListFiltered(t *testing.T) {
	t.Parallel()
	var empty []answer
	for n := range 99 {
		empty = append(empty, page(fmt.Sprint("token-", n)))
	}
	s := serve(t, map[string][]answer{configMaps: append(empty, page("", "x/1"))})
	got, cover, err := collect(t, s.open(), source.Query{Kind: configMapKind})
	if _, covered := cover.Of("x"); err != nil || !covered || len(got) != 1 {
		t.Errorf("yielded %v, covered %t: %v", got, covered, err)
	}
}

// TestListWait holds that a server which asks for years of patience is not waited for, and what that is called.
func TestListWait(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string][]answer{configMaps: {status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "Retry-After", "315360000")}})
	_, cover, err := collect(t, s.open(), source.Query{Kind: configMapKind})
	if f, covered := cover.Of("x"); err != nil || covered || !strings.Contains(f.Detail, "asks to wait 315360000 s") {
		t.Errorf("covered %t: %+v, %v", covered, f, err)
	}
	if n := len(s.asked()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestListRedirect holds that the answer of a server that another one names is a gap.
func TestListRedirect(t *testing.T) {
	t.Parallel()
	other := serve(t, map[string][]answer{configMaps: {page("", "x/forged")}})
	s := serve(t, map[string][]answer{configMaps: {func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.String(), http.StatusTemporaryRedirect)
	}}})
	got, cover, err := collect(t, s.open(), source.Query{Kind: configMapKind})
	if f, covered := cover.Of("x"); err != nil || covered || len(got) > 0 || !strings.Contains(f.Detail, other.URL) {
		t.Errorf("yielded %v, covered %t: %+v, %v", got, covered, f, err)
	}
	if n := len(other.asked()); n > 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// TestListLarge holds that an object which decompresses to more than an object may have is a gap, and that large pages of small objects are none.
func TestListLarge(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	zipped := func(items func(write func(string))) answer {
		return func(w http.ResponseWriter, _ *http.Request) {
			var b bytes.Buffer
			zip := gzip.NewWriter(&b)
			write := func(s string) { _, _ = zip.Write([]byte(s)) } // to memory, which does not fail
			write(`{"kind":"ConfigMapList","apiVersion":"v1","items":[`)
			items(write)
			write(`]}`)
			_ = zip.Close()
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(b.Bytes())
		}
	}
	object := func(write func(string), name string, size int) {
		write(`{"metadata":{"name":"` + name + `"},"data":{"a":"`)
		for range size / mib {
			write(strings.Repeat("x", mib))
		}
		write(`"}}`)
	}
	s := serve(t, map[string][]answer{configMaps: {
		zipped(func(write func(string)) {
			for i := range 17 {
				if i > 0 {
					write(",")
				}
				object(write, fmt.Sprint(i), mib)
			}
		}),
		zipped(func(write func(string)) { object(write, "bomb", 17*mib) }),
	}})
	c := s.open()
	got, cover, err := collect(t, c, source.Query{Kind: configMapKind})
	if f, covered := cover.Of("x"); err != nil || !covered || len(got) != 17 {
		t.Errorf("large objects: yielded %d, covered %t: %+v, %v", len(got), covered, f, err)
	}
	got, cover, err = collect(t, c, source.Query{Kind: configMapKind})
	if f, covered := cover.Of("x"); err != nil || covered || len(got) > 0 || !strings.Contains(f.Detail, "larger than 16 MiB after decompression") {
		t.Errorf("a bomb: yielded %d, covered %t: %+v, %v", len(got), covered, f, err)
	}
	if n := len(s.asked()); n != 2 {
		t.Errorf("%d requests: what is too large is not asked for again", n)
	}
}
