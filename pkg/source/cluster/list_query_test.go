// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

var (
	forbidden     = status(http.StatusForbidden, metav1.StatusReasonForbidden)
	whenForbidden = source.Failure{Reason: source.Forbidden, Detail: "server message: Forbidden"}
	whenUnserved  = source.Failure{Reason: source.KindNotServed,
		Detail: "the API server does not serve this kind in this version"}
)

// TestListQuery checks the requests of each query and the coverage of their answers.
func TestListQuery(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		query    source.Query
		script   map[string][]answer
		requests []string
		yields   []string
		// covers is the expected failure by namespace ("" for cluster-scoped objects). A zero Failure means that all
		// objects were yielded.
		covers map[string]source.Failure
	}{
		"everything": {
			query:    source.Query{Kind: configMapKind},
			script:   map[string][]answer{configMaps: {page("", "x/1")}},
			requests: []string{start},
			yields:   []string{"x/1"},
			covers:   map[string]source.Failure{"x": {}, "empty": {}, "": {}},
		},
		"another group": {
			query:    source.Query{Kind: deploymentKind},
			script:   map[string][]answer{"/apis/apps/v1/deployments": {pageOf("apps/v1", "Deployment", "x/1")}},
			requests: []string{"GET /apis/apps/v1/deployments?limit=2"},
			yields:   []string{"x/1"},
		},
		"selectors": {
			query:  source.Query{Kind: configMapKind, LabelSelector: "a in (b,c)", FieldSelector: "metadata.name=1"},
			script: map[string][]answer{configMaps: {page("A", "x/1"), page("", "y/1")}},
			requests: []string{
				"GET /api/v1/configmaps?fieldSelector=metadata.name=1&labelSelector=a in (b,c)&limit=2",
				"GET /api/v1/configmaps?continue=A&fieldSelector=metadata.name=1&labelSelector=a in (b,c)&limit=2"},
			yields: []string{"x/1", "y/1"},
		},
		"two namespaces": {
			query: source.Query{Kind: configMapKind, Namespaces: []string{"x", "y"}},
			script: map[string][]answer{
				"/api/v1/namespaces/x/configmaps": {page("A", "x/1", "x/2"), page("", "x/3")},
				"/api/v1/namespaces/y/configmaps": {forbidden}},
			requests: []string{
				"GET /api/v1/namespaces/x/configmaps?limit=2",
				"GET /api/v1/namespaces/x/configmaps?continue=A&limit=2",
				"GET /api/v1/namespaces/y/configmaps?limit=2"},
			yields: []string{"x/1", "x/2", "x/3"},
			covers: map[string]source.Failure{"x": {}, "y": whenForbidden},
		},
		"namespaces of a cluster-scoped kind": {
			query:    source.Query{Kind: namespaceKind, Namespaces: []string{"x"}},
			script:   map[string][]answer{namespaces: {pageOf("v1", "Namespace", "x")}},
			requests: []string{"GET /api/v1/namespaces?limit=2"},
			yields:   []string{"x"},
			covers:   map[string]source.Failure{"": {}},
		},
		"fallback": {
			query: source.Query{Kind: configMapKind, Fallback: []string{"x", "y"}, FieldSelector: "metadata.name=1"},
			script: map[string][]answer{configMaps: {forbidden},
				"/api/v1/namespaces/x/configmaps": {page("", "x/1")},
				"/api/v1/namespaces/y/configmaps": {forbidden}},
			requests: []string{
				"GET /api/v1/configmaps?fieldSelector=metadata.name=1&limit=2",
				"GET /api/v1/namespaces/x/configmaps?fieldSelector=metadata.name=1&limit=2",
				"GET /api/v1/namespaces/y/configmaps?fieldSelector=metadata.name=1&limit=2"},
			yields: []string{"x/1"},
			covers: map[string]source.Failure{"x": {}, "y": whenForbidden, "elsewhere": whenForbidden},
		},
		"fallback on a later page": { // the permission was revoked between two pages
			query: source.Query{Kind: configMapKind, Fallback: []string{"x"}},
			script: map[string][]answer{configMaps: {page("A", "x/1", "y/1"), forbidden},
				"/api/v1/namespaces/x/configmaps": {page("", "x/1", "x/2")}},
			requests: []string{start, onA, "GET /api/v1/namespaces/x/configmaps?limit=2"},
			yields:   []string{"x/1", "y/1", "x/2"},
			covers:   map[string]source.Failure{"x": {}, "y": whenForbidden},
		},
		"no fallback from other failures": {
			query: source.Query{Kind: configMapKind, Fallback: []string{"x"}},
			script: map[string][]answer{configMaps: {status(http.StatusInternalServerError,
				metav1.StatusReasonInternalError)}},
			requests: []string{start},
			covers: map[string]source.Failure{"x": {Reason: source.ReadFailed,
				Detail: "server message: InternalError"}},
		},
		"no fallback of a cluster-scoped kind": {
			query:    source.Query{Kind: namespaceKind, Fallback: []string{"x"}},
			script:   map[string][]answer{namespaces: {forbidden}},
			requests: []string{"GET /api/v1/namespaces?limit=2"},
			covers:   map[string]source.Failure{"": whenForbidden},
		},
		"a kind that is not served": {
			query:  source.Query{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Widget"}, Fallback: []string{"x"}},
			covers: map[string]source.Failure{"x": whenUnserved, "": whenUnserved},
		},
		"a version that is not served": {
			query:  source.Query{Kind: schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}},
			covers: map[string]source.Failure{"x": whenUnserved},
		},
		"a kind that cannot be listed": {
			query:  source.Query{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Binding"}},
			covers: map[string]source.Failure{"x": whenUnserved},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, test.script)
			got, cover, err := collect(t, s.open(), test.query)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]string{}, test.yields...), got); diff != "" {
				t.Errorf("yielded (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.requests, s.sent()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			for ns, want := range test.covers {
				got, covered := cover.Of(ns)
				if diff := cmp.Diff(want, got); diff != "" || covered != (want == source.Failure{}) {
					t.Errorf("coverage of namespace %q: %t, failure (-want +got):\n%s", ns, covered, diff)
				}
			}
		})
	}
}

// TestListAccept checks the Accept header, and that whole objects are accepted from a server that does not support
// metadata only.
func TestListAccept(t *testing.T) {
	t.Parallel()
	for want, query := range map[string]source.Query{
		"application/json": {Kind: configMapKind},
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json": {Kind: configMapKind,
			MetadataOnly: true},
	} {
		s := serve(t, map[string][]answer{configMaps: {page("A", "x/1"), page("", "x/2")}})
		got, _, err := collect(t, s.open(), query)
		if err != nil || len(got) != 2 {
			t.Fatalf("yielded %v, %v", got, err)
		}
		for i, header := range s.headers {
			if diff := cmp.Diff([]string{want}, header.Values("Accept")); diff != "" {
				t.Errorf("%s: Accept (-want +got):\n%s", s.requests[i], diff)
			}
		}
	}
}

// TestListReadsToTheEnd checks that each answer is read to its end. Otherwise the connection could not be used again.
func TestListReadsToTheEnd(t *testing.T) {
	t.Parallel()
	large := make([]string, 1000) // too large for a Content-Length, like real pages
	for i := range large {
		large[i] = fmt.Sprintf("x/%d", i)
	}
	s := serve(t, map[string][]answer{configMaps: append(times(20, page("A", large...)), page("", "x/1"))})
	var early atomic.Int32
	config := &rest.Config{Host: s.URL, WrapTransport: func(rt http.RoundTripper) http.RoundTripper {
		return watchEnds{rt, &early}
	}}
	c, err := cluster.New(config, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := collect(t, c, source.Query{Kind: configMapKind}); err != nil {
		t.Fatal(err)
	}
	if n := early.Load(); n > 0 {
		t.Errorf("%d answers were closed before their end", n)
	}
}

// watchEnds counts the answers that are closed before their end.
type watchEnds struct {
	http.RoundTripper
	early *atomic.Int32
}

// RoundTrip implements http.RoundTripper.
func (w watchEnds) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = &watchedBody{ReadCloser: response.Body, early: w.early}
	}
	return response, err
}

type watchedBody struct {
	io.ReadCloser
	early *atomic.Int32
	ended bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}

func (b *watchedBody) Close() error {
	if !b.ended {
		b.early.Add(1)
	}
	return b.ReadCloser.Close()
}
