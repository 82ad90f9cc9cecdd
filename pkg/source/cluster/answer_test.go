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

// widgetScript serves widgets and gadgets to discovery.
func widgetScript(a ...answer) map[string][]answer {
	return map[string][]answer{
		"/apis": {jsonAnswer(http.StatusOK,
			metav1.APIGroupList{Groups: []metav1.APIGroup{groupOf("example.com", "v1")}})},
		"/apis/example.com/v1": {jsonAnswer(http.StatusOK,
			resources("example.com/v1", resource("widgets", "Widget", true), resource("gadgets", "Gadget", true)))},
		widgets: a,
	}
}

// written answers with an unchanged document.
func written(document string) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(document)) // the client may hang up
	}
}

// configMapItem is an item that states its kind.
const configMapItem = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`

// TestListKind checks that an answer with another kind is a gap, and that no item of it is used.
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
		"the requested kind": {query: configMap,
			document: `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`,
			yields:   []string{"a"}},
		"another kind": {query: configMap,
			document: `{"kind":"SecretList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`,
			fails:    `"SecretList" of "v1"; the request was for ConfigMapList of v1`},
		"another kind, empty": {query: configMap, document: `{"kind":"SecretList","apiVersion":"v1","items":[]}`,
			fails: "the request was for ConfigMapList"},
		"another version": {query: configMap, document: `{"kind":"ConfigMapList","apiVersion":"v2","items":[]}`,
			fails: `"ConfigMapList" of "v2"`},
		"an untyped list": {query: configMap, document: `{"kind":"List","apiVersion":"v1","items":[]}`,
			fails: "the request was for ConfigMapList"},
		"a table": {query: configMap,
			document: `{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[],"rows":[]}`,
			fails:    `"Table" of "meta.k8s.io/v1"`},
		"a status": {query: configMap, document: `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
			fails: `"Status" of "v1"`},
		"one object": {query: configMap,
			document: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`, fails: `"ConfigMap" of "v1"`},
		"no kind": {query: configMap, document: `{"items":[]}`, fails: "the answer has no kind"},
		"no kind, and an item": {query: configMap, document: `{"items":[{"metadata":{"name":"a"}}]}`,
			fails: "the answer has no kind"},
		"the kind comes late": {query: configMap,
			document: `{"apiVersion":"v1","items":[{"metadata":{"name":"a"}}],"kind":"SecretList"}`,
			fails:    "the answer has no kind"},
		"another kind, and an item of the requested kind": {query: configMap,
			document: `{"kind":"PodList","apiVersion":"v1","items":[` + configMapItem + `]}`,
			fails:    `"PodList" of "v1"`},
		"another version, and an item of the requested kind": {query: configMap,
			document: `{"kind":"ConfigMapList","apiVersion":"v2","items":[` + configMapItem + `]}`,
			fails:    `"ConfigMapList" of "v2"`},
		"no kind, and an item of the requested kind": {query: configMap, document: `{"items":[` + configMapItem + `]}`,
			fails: "the answer has no kind"},
		"another version, and the kind comes late": {query: configMap, document: `{"apiVersion":"v2","items":[` +
			configMapItem + `],"kind":"ConfigMapList"}`,
			fails: "the answer has no kind"},
		"the version comes late": {query: configMap, document: `{"kind":"ConfigMapList","items":[` + configMapItem +
			`],"apiVersion":"v1"}`,
			yields: []string{"a"}},
		"an item of another kind": {query: configMap,
			document: `{"kind":"ConfigMapList","apiVersion":"v1",` +
				`"items":[{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}]}`,
			fails: `"Secret" of "v1"`},
		"metadata that was not requested": {query: configMap,
			document: `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[]}`,
			fails:    "the request was for ConfigMapList"},
		"metadata": {query: metadata,
			document: `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[` +
				`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}]}`,
			yields: []string{"a"}},
		"a custom resource": {query: widget,
			document: `{"apiVersion":"example.com/v1",` +
				`"items":[{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}],` +
				`"kind":"WidgetList","metadata":{}}`, yields: []string{"a"}},
		"a custom resource with a custom list kind": {query: widget,
			document: `{"apiVersion":"example.com/v1","items":[` +
				`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}],"kind":"WidgetCollection",` +
				`"metadata":{}}`, yields: []string{"a"}},
		"another custom resource": {query: widget,
			document: `{"apiVersion":"example.com/v1","items":[],"kind":"GadgetList","metadata":{}}`,
			fails:    `"GadgetList"`},
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
			if covered != (test.fails == "") || !strings.Contains(f.Detail, test.fails) || !covered &&
				f.Reason != source.ReadFailed {
				t.Errorf("covered %t: %+v, want %q", covered, f, test.fails)
			}
		})
	}
}

// TestListEndless checks that a list without an end is a gap after a limited number of requests.
func TestListEndless(t *testing.T) {
	t.Parallel()
	tokens := func(names func(n int) []string) []answer { // pages without an end, each with another token
		out := make([]answer, 20)
		for n := range out {
			out[n] = page(fmt.Sprint("token-", n), names(n)...)
		}
		return out
	}
	for name, test := range map[string]struct {
		answers  []answer
		reason   string
		requests int
	}{
		"the same token": {times(3, page("A", "x/1")), "the server sent the same continue token twice", 2},
		"the same objects always": {tokens(func(int) []string {
			return []string{"x/1", "x/2"}
		}), "it has more than 10 pages", 10},
		"no objects": {tokens(func(int) []string { return nil }), "it has more than 10 pages", 10},
		"alternating tokens": {alternate(3, page("A", "x/1"), page("B", "x/2")),
			"the server sent the same continue token twice", 3},
		"other objects always": {tokens(func(n int) []string {
			return []string{fmt.Sprint("x/", n), fmt.Sprint("y/", n)}
		}), "it has more than 8 objects", 5},
		"one page without an end": {times(1, page("", strings.Fields("1 2 3 4 5 6 7 8 9 10")...)),
			"it has more than 8 objects", 1},
		"one page of one object": {times(1, page("", slices.Repeat([]string{"x/1"}, 1002)...)),
			"a page repeats the same objects", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string][]answer{configMaps: test.answers})
			_, cover, err := collect(t, s.openWith(cluster.Options{PageSize: 2, MaxPages: 10, MaxObjects: 8}),
				source.Query{Kind: configMapKind})
			if err != nil {
				t.Fatal(err)
			}
			if f, covered := cover.Of("x"); covered || f.Detail != "reading of the list stopped: "+test.reason ||
				f.Reason != source.ReadFailed {
				t.Errorf("covered %t: %+v, want %q", covered, f, test.reason)
			}
			if got := len(s.sent()); got != test.requests {
				t.Errorf("%d requests, want %d", got, test.requests)
			}
		})
	}
}

// alternate returns n answers, a and b in turn.
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

// TestListRepeated checks that reading stops after 100 consecutive pages without a new object, and that a list which
// expired may repeat the objects that were yielded before.
func TestListRepeated(t *testing.T) {
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
		"nothing":              {numbered("", func(int) []string { return nil }), 100, false},
		"the same objects":     {numbered("", func(int) []string { return []string{"x/1"} }), 101, false},
		"the same after a 410": {slices.Concat(numbered("", others), []answer{expired("")}, again), 2*pages + 2, true},
		"tokens again, and 410": {slices.Concat(numbered("", others), []answer{expired("")}, numbered("", others),
			[]answer{page("")}), 2*pages + 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string][]answer{configMaps: test.answers})
			_, cover, err := collect(t, s.open(), source.Query{Kind: configMapKind})
			f, covered := cover.Of("x")
			if err != nil || covered != test.covered || !covered &&
				f.Detail != "reading of the list stopped: 100 consecutive pages have no new object" {
				t.Errorf("covered %t: %+v, %v", covered, f, err)
			}
			if got := len(s.sent()); got != test.requests {
				t.Errorf("%d requests, want %d", got, test.requests)
			}
		})
	}
}

// TestListFiltered checks that reading continues after empty pages: a server may filter all objects of a page.
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

// TestListWait checks that a Retry-After of years is a gap.
func TestListWait(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string][]answer{configMaps: {status(http.StatusServiceUnavailable,
		metav1.StatusReasonServiceUnavailable, "Retry-After", "315360000")}})
	_, cover, err := collect(t, s.open(), source.Query{Kind: configMapKind})
	if f, covered := cover.Of("x"); err != nil || covered || !strings.Contains(f.Detail, "Retry-After of 315360000 s") {
		t.Errorf("covered %t: %+v, %v", covered, f, err)
	}
	if n := len(s.sent()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestListRedirect checks that a redirect to another server is a gap.
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
	if n := len(other.sent()); n > 0 {
		t.Errorf("the other server received %d requests", n)
	}
}

// TestListLarge checks that an object above the limit after decompression is a gap, and that a large page of small
// objects is not.
func TestListLarge(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	zipped := func(items func(write func(string))) answer {
		return func(w http.ResponseWriter, _ *http.Request) {
			var b bytes.Buffer
			zip := gzip.NewWriter(&b)
			write := func(s string) { _, _ = zip.Write([]byte(s)) } // writes to memory do not fail
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
	if f, covered := cover.Of("x"); err != nil || covered || len(got) > 0 ||
		!strings.Contains(f.Detail, "larger than 16 MiB after decompression") {
		t.Errorf("a bomb: yielded %d, covered %t: %+v, %v", len(got), covered, f, err)
	}
	if n := len(s.sent()); n != 2 {
		t.Errorf("%d requests, want 2: an object above the limit is not requested again", n)
	}
}
