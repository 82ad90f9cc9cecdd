// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

const (
	configMaps = "/api/v1/configmaps"
	namespaces = "/api/v1/namespaces"
)

var (
	configMapKind  = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	namespaceKind  = corev1.SchemeGroupVersion.WithKind("Namespace")
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// now is the time of the clock in these tests.
var now = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// answer answers one request.
type answer func(http.ResponseWriter, *http.Request)

// apiServer is an API server that sends the answers of a script, by path and in order. For discovery paths without a
// script it serves ConfigMaps, Namespaces and Deployments in the legacy format. It records every other request.
type apiServer struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex // guards the fields below
	script   map[string][]answer
	requests []string // "GET /api/v1/configmaps?limit=2"
	headers  []http.Header
}

func serve(t *testing.T, script map[string][]answer) *apiServer {
	t.Helper()
	s := &apiServer{t: t, script: script}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.next(r)(w, r)
}

// next records the request and returns its answer from the script.
func (s *apiServer) next(r *http.Request) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	answers, scripted := s.script[r.URL.Path]
	if known, ok := legacyDiscovery[r.URL.Path]; ok && !scripted {
		return jsonAnswer(http.StatusOK, known)
	}
	s.requests = append(s.requests, describe(r))
	s.headers = append(s.headers, r.Header.Clone())
	if len(answers) == 0 {
		s.t.Errorf("unexpected request: %s", describe(r))
		return status(http.StatusNotFound, metav1.StatusReasonNotFound)
	}
	s.script[r.URL.Path] = answers[1:]
	return answers[0]
}

func describe(r *http.Request) string {
	query, err := url.QueryUnescape(r.URL.Query().Encode()) // sorted and readable
	if err != nil || query == "" {
		return r.Method + " " + r.URL.Path
	}
	return r.Method + " " + r.URL.Path + "?" + query
}

// open returns a Cluster of the server, with a page size of 2.
func (s *apiServer) open() *cluster.Cluster {
	s.t.Helper()
	return s.openWith(cluster.Options{PageSize: 2})
}

func (s *apiServer) openWith(o cluster.Options) *cluster.Cluster {
	s.t.Helper()
	o.Now = func() time.Time { return now }
	c, err := cluster.New(&rest.Config{Host: s.URL}, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// sent returns the recorded requests.
func (s *apiServer) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// jsonAnswer answers with a document.
func jsonAnswer(code int, document any) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(document) // the client may close the connection
	}
}

// list is a list with the field order of API servers, except that metadata is last.
type list struct {
	Kind       string           `json:"kind,omitempty"`
	APIVersion string           `json:"apiVersion,omitempty"`
	Items      []map[string]any `json:"items"`
	Metadata   map[string]any   `json:"metadata"`
}

// listOf is a list of objects ("namespace/name" or "name") of a kind of v1, with the token of the next page.
func listOf(kind, token string, names ...string) list {
	items := make([]map[string]any, len(names))
	for i, name := range names {
		items[i] = map[string]any{"metadata": metadataOf(name)}
	}
	return list{kind + "List", "v1", items, map[string]any{"continue": token, "resourceVersion": "7"}}
}

// page answers with ConfigMaps.
func page(token string, names ...string) answer {
	return jsonAnswer(http.StatusOK, listOf("ConfigMap", token, names...))
}

// pageOf answers with objects of another kind and version.
func pageOf(apiVersion, kind string, names ...string) answer {
	l := listOf(kind, "", names...)
	l.APIVersion = apiVersion
	return jsonAnswer(http.StatusOK, l)
}

func metadataOf(name string) map[string]any {
	ns, rest, ok := strings.Cut(name, "/")
	if !ok {
		return map[string]any{"name": name}
	}
	return map[string]any{"namespace": ns, "name": rest}
}

// status answers with a Status and, in pairs, headers.
func status(code int, reason metav1.StatusReason, headers ...string) answer {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		jsonAnswer(code, failed(code, reason))(w, r)
	}
}

func failed(code int, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: fmt.Sprintf("server message: %s", reason),
	}
}

// expired answers 410, with a token to continue if it is not empty.
func expired(token string) answer {
	s := failed(http.StatusGone, metav1.StatusReasonExpired)
	s.Continue = token
	return jsonAnswer(http.StatusGone, s)
}

// cut sends an answer up to and including a text. The server closes the connection, because the answer is shorter than
// its Content-Length.
func cut(whole answer, text string) answer {
	return func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		whole(rec, r)
		before, _, _ := strings.Cut(rec.Body.String(), text)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(rec.Body.Len()))
		_, _ = w.Write([]byte(before + text))
	}
}

// times repeats an answer.
func times(n int, a answer) []answer {
	out := make([]answer, n)
	for i := range out {
		out[i] = a
	}
	return out
}

// collect lists and returns the names of what was yielded.
func collect(t *testing.T, c *cluster.Cluster, q source.Query) ([]string, source.Coverage, error) {
	t.Helper()
	names := []string{}
	cover, err := c.List(t.Context(), q, func(o source.Object) error {
		names = append(names, nameOf(t, o))
		return nil
	})
	return names, cover, err
}

func nameOf(t *testing.T, o source.Object) string {
	t.Helper()
	var m metav1.PartialObjectMetadata
	if err := json.Unmarshal(o.Raw, &m); err != nil {
		t.Errorf("the yielded JSON is not an object: %v", err)
	}
	if m.Namespace == "" {
		return m.Name
	}
	return m.Namespace + "/" + m.Name
}

var legacyDiscovery = map[string]any{
	"/api": metav1.APIVersions{Versions: []string{"v1"}},
	"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{
		groupOf("apps", "v1"),
	}},
	"/api/v1": resources("v1",
		metav1.APIResource{Name: "componentstatuses", Kind: "ComponentStatus", Verbs: []string{"get", "list"}},
		resource("configmaps", "ConfigMap", true),
		resource("namespaces", "Namespace", false),
		resource("pods/log", "Pod", true),
		metav1.APIResource{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: []string{"create"}}),
	"/apis/apps/v1": resources("apps/v1", resource("deployments", "Deployment", true)),
}

// groupOf is a group that prefers the first of its versions.
func groupOf(name string, versions ...string) metav1.APIGroup {
	g := metav1.APIGroup{Name: name}
	for _, v := range versions {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	g.PreferredVersion = g.Versions[0]
	return g
}

func resources(groupVersion string, list ...metav1.APIResource) metav1.APIResourceList {
	return metav1.APIResourceList{GroupVersion: groupVersion, APIResources: list}
}

func resource(name, kind string, namespaced bool) metav1.APIResource {
	return metav1.APIResource{Name: name, Kind: kind, Namespaced: namespaced, Verbs: []string{"create", "get", "list"}}
}
