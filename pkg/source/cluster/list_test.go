// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// The requests of a list of config maps, two a page.
const (
	start = "GET /api/v1/configmaps?limit=2"
	onA   = "GET /api/v1/configmaps?continue=A&limit=2"
	onB   = "GET /api/v1/configmaps?continue=B&limit=2"
)

// TestListPages defines the answers page by page, and checks the requests, the yielded objects and the coverage.
func TestListPages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers  []answer
		requests []string
		yields   []string
		failures map[string]source.Failure
	}{
		"none": {
			answers:  []answer{page("")},
			requests: []string{start},
		},
		"null": {
			answers:  []answer{jsonAnswer(http.StatusOK, list{Kind: "ConfigMapList", APIVersion: "v1"})},
			requests: []string{start},
		},
		"three pages": {
			answers:  []answer{page("A", "x/1", "x/2"), page("B", "y/1", "y/2"), page("", "z/1")},
			requests: []string{start, onA, onB},
			yields:   []string{"x/1", "x/2", "y/1", "y/2", "z/1"},
		},
		"the same object on two pages": { // it was created anew between them
			answers:  []answer{page("A", "x/1", "x/2"), page("", "x/2", "x/3")},
			requests: []string{start, onA},
			yields:   []string{"x/1", "x/2", "x/3"},
		},
		"expired, with a token": {
			answers:  []answer{page("A", "x/1", "x/2"), expired("B"), page("", "x/3")},
			requests: []string{start, onA, onB},
			yields:   []string{"x/1", "x/2", "x/3"},
		},
		"expired, without a token": {
			answers:  []answer{page("A", "x/1", "x/2"), expired(""), page("B", "x/1", "x/2"), page("", "x/2", "x/3")},
			requests: []string{start, onA, start, onB},
			yields:   []string{"x/1", "x/2", "x/3"},
		},
		"always expired": {
			answers:  times(6, expired("")),
			requests: slices.Repeat([]string{start}, 6),
			failures: map[string]source.Failure{"*": {Reason: source.ReadFailed, Detail: "server message: Expired"}},
		},
		"cut within an object": {
			answers: []answer{page("A", "x/1", "x/2"), cut(page("B", "x/3", "x/4"), `"x"}},{"meta`),
				page("", "x/3", "x/4")},
			requests: []string{start, onA, onA},
			yields:   []string{"x/1", "x/2", "x/3", "x/4"},
		},
		"cut between objects": {
			answers:  []answer{cut(page("A", "x/1", "x/2"), `"x"}}`), page("A", "x/1", "x/2"), page("", "x/3")},
			requests: []string{start, start, onA},
			yields:   []string{"x/1", "x/2", "x/3"},
		},
		"cut after the objects, before the token": {
			answers: []answer{cut(page("A", "x/1", "x/2"), `"metadata":{"continue"`), page("A", "x/1", "x/2"),
				page("", "x/3")},
			requests: []string{start, start, onA},
			yields:   []string{"x/1", "x/2", "x/3"},
		},
		"always cut": {
			answers:  times(6, cut(page("", "x/1", "x/2"), `"x"}}`)),
			requests: slices.Repeat([]string{start}, 6),
			yields:   []string{"x/1"},
			failures: map[string]source.Failure{"*": {Reason: source.ReadFailed,
				Detail: "the answer could not be read: jsontext: read error: unexpected EOF"}},
		},
		"too many requests": {
			answers: []answer{page("A", "x/1", "x/2"), status(http.StatusTooManyRequests,
				metav1.StatusReasonTooManyRequests, "Retry-After", "1"),
				page("", "x/3")},
			requests: []string{start, onA, onA},
			yields:   []string{"x/1", "x/2", "x/3"},
		},
		"unavailable for a while": {
			answers: []answer{status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
				"Retry-After", "1"),
				page("", "x/1")},
			requests: []string{start, start},
			yields:   []string{"x/1"},
		},
		"an error without Retry-After": {
			answers: []answer{page("A", "x/1", "x/2"), status(http.StatusInternalServerError,
				metav1.StatusReasonInternalError)},
			requests: []string{start, onA},
			yields:   []string{"x/1", "x/2"},
			failures: map[string]source.Failure{"*": {Reason: source.ReadFailed,
				Detail: "server message: InternalError"}},
		},
		"not found": { // its CustomResourceDefinition was deleted after discovery
			answers:  []answer{status(http.StatusNotFound, metav1.StatusReasonNotFound)},
			requests: []string{start},
			failures: map[string]source.Failure{"*": {Reason: source.KindNotServed,
				Detail: "server message: NotFound"}},
		},
		"not listable": {
			answers:  []answer{status(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed)},
			requests: []string{start},
			failures: map[string]source.Failure{"*": {Reason: source.KindNotServed,
				Detail: "server message: MethodNotAllowed"}},
		},
		"forbidden": {
			answers:  []answer{status(http.StatusForbidden, metav1.StatusReasonForbidden)},
			requests: []string{start},
			failures: map[string]source.Failure{"*": {Reason: source.Forbidden, Detail: "server message: Forbidden"}},
		},
		"unauthorized": {
			answers:  []answer{status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized)},
			requests: []string{start},
			failures: map[string]source.Failure{"*": {Reason: source.Forbidden,
				Detail: "server message: Unauthorized"}},
		},
		"not a list": { // a proxy may answer each request with 200
			answers:  times(6, jsonAnswer(http.StatusOK, map[string]any{"message": "please log in"})),
			requests: slices.Repeat([]string{start}, 6),
			failures: map[string]source.Failure{"*": {Reason: source.ReadFailed,
				Detail: "the answer could not be read: it is not a list"}},
		},
		"not an object": {
			answers:  times(6, jsonAnswer(http.StatusOK, []string{})),
			requests: slices.Repeat([]string{start}, 6),
			failures: map[string]source.Failure{"*": {Reason: source.ReadFailed,
				Detail: "the answer could not be read: it is not a JSON object"}},
		},
		"not JSON": {
			answers:  times(6, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }),
			requests: slices.Repeat([]string{start}, 6),
			failures: map[string]source.Failure{"*": {Reason: source.ReadFailed,
				Detail: "the answer could not be read: it is not a JSON object: jsontext: invalid character '<' at " +
					"start of value"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string][]answer{configMaps: test.answers})
			got, cover, err := collect(t, s.open(), source.Query{Kind: configMapKind})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]string{}, test.yields...), got); diff != "" {
				t.Errorf("yielded (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.requests, s.sent()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if _, all := cover.Of("any"); all != (test.failures == nil) {
				t.Errorf("all objects were yielded: %t", all)
			}
			want := map[string]source.Failure{}
			if test.failures != nil {
				want = test.failures
			}
			if diff := cmp.Diff(want, cover.Failures()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}
