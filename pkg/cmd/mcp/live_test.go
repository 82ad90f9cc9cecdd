// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// apiServer serves the objects of a captured cluster. It fails the test on each request that is not a GET: there is no
// exception, because none of the verbs asks what it may do.
type apiServer struct {
	t       *testing.T
	objects map[string][]unstructured.Unstructured // by the path of their list without a namespace
	kinds   map[string][]metav1.APIResource        // by the path of their group and version

	mu       sync.Mutex
	requests int
	blocked  chan context.Context // receives the context of each request, which then waits for its end; nil for none
}

// serveSick starts the server, and returns a kubeconfig. Its current context has another address: the cluster and the
// context of the server are named sick.
func serveSick(t *testing.T) (s *apiServer, kubeconfig string) {
	t.Helper()
	s = &apiServer{t: t, objects: map[string][]unstructured.Unstructured{},
		kinds: map[string][]metav1.APIResource{}}
	files, err := filepath.Glob(filepath.Join(sick, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		s.load(file)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"clusters": [{"name": "sick", "cluster": {"server": "` + server.URL + `"}},
{"name": "other", "cluster": {"server": "http://127.0.0.1:1"}}],
"users": [{"name": "reader", "user": {"token": "invented-token"}}],
"contexts": [{"name": "other", "context": {"cluster": "other", "user": "reader"}},
{"name": "sick", "context": {"cluster": "sick", "user": "reader"}}], "current-context": "other"}`
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, kubeconfig
}

// load adds the objects of a file, which are of one kind.
func (s *apiServer) load(file string) {
	s.t.Helper()
	content, err := os.ReadFile(file)
	var list unstructured.UnstructuredList
	if err == nil {
		err = json.Unmarshal(content, &list)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", file, err)
	}
	if len(list.Items) == 0 {
		return
	}
	plural, _, _ := strings.Cut(filepath.Base(file), ".")
	first := list.Items[0]
	path := "/apis/" + first.GetAPIVersion()
	if !strings.Contains(first.GetAPIVersion(), "/") {
		path = "/api/" + first.GetAPIVersion()
	}
	s.objects[path+"/"+plural] = list.Items
	s.kinds[path] = append(s.kinds[path], metav1.APIResource{Name: plural, Kind: first.GetKind(),
		Namespaced: first.GetNamespace() != "", Verbs: metav1.Verbs{"get", "list", "patch"}})
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		s.t.Errorf("%s %s", r.Method, r.URL)
		http.Error(w, "", http.StatusForbidden)
		return
	}
	s.mu.Lock()
	s.requests++
	blocked := s.blocked
	s.mu.Unlock()
	if blocked != nil {
		blocked <- r.Context()
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(s.answer(r)); err != nil {
		s.t.Error(err)
	}
}

// answer returns the answer to a request: discovery, or a list.
func (s *apiServer) answer(r *http.Request) any {
	path := r.URL.Path
	switch {
	case path == "/version":
		return map[string]string{"gitVersion": "v1.34.0"}
	case path == "/api":
		return metav1.APIVersions{Versions: []string{"v1"}}
	case path == "/apis":
		return s.groups()
	case s.kinds[path] != nil:
		return metav1.APIResourceList{GroupVersion: strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/"),
			APIResources: s.kinds[path]}
	}
	return s.list(r)
}

// groups returns the groups with their only version.
func (s *apiServer) groups() metav1.APIGroupList {
	var out metav1.APIGroupList
	for path := range s.kinds {
		if gv, ok := strings.CutPrefix(path, "/apis/"); ok {
			name, version, _ := strings.Cut(gv, "/")
			v := metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: version}
			out.Groups = append(out.Groups, metav1.APIGroup{Name: name, PreferredVersion: v,
				Versions: []metav1.GroupVersionForDiscovery{v}})
		}
	}
	return out
}

// list returns the objects that a request selects, or the one that it names.
func (s *apiServer) list(r *http.Request) any {
	path, namespace := r.URL.Path, ""
	if before, after, ok := strings.Cut(path, "/namespaces/"); ok {
		parts := strings.Split(after, "/")
		path, namespace = before+"/"+parts[1], parts[0]
		for _, o := range s.objects[path] {
			if len(parts) == 3 && o.GetNamespace() == namespace && o.GetName() == parts[2] {
				return &o
			}
		}
	}
	byLabel, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		s.t.Error(err)
	}
	byField, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		s.t.Error(err)
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "1"}}}
	if all := s.objects[path]; len(all) > 0 {
		list.SetAPIVersion(all[0].GetAPIVersion())
		list.SetKind(all[0].GetKind() + "List")
	}
	for _, o := range s.objects[path] {
		kind, _, _ := unstructured.NestedString(o.Object, "type")
		field := fields.Set{"type": kind, "metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
		selected := byLabel.Matches(labels.Set(o.GetLabels())) && byField.Matches(field)
		if selected && (namespace == "" || o.GetNamespace() == namespace) {
			list.Items = append(list.Items, o)
		}
	}
	return list
}

// TestReadOnly calls every tool about a live cluster with objects to adopt. Each must answer as the command line does,
// without a write and without a file, and no result has the credentials.
func TestReadOnly(t *testing.T) {
	server, kubeconfig := serveSick(t)
	source := []string{"--kubeconfig", kubeconfig, "--cluster", "sick"}
	c := connect(t, source...)
	for _, q := range questions {
		got, _ := c.call(q.tool, q.arguments)
		if strings.Contains(got, "invented-token") {
			t.Errorf("%s has the token: %s", q.tool, got)
		}
		if diff := cmp.Diff(run(t, q.line, q.from(source...)...), got); diff != "" {
			t.Errorf("%s %v (-command line +tool):\n%s", q.tool, q.arguments, diff)
		}
		for tool, want := range map[string]string{"adoption_plan": "adopt   service ingress/edge",
			"repair_plan": "The server was not asked whether it accepts these steps"} {
			if q.tool == tool && !strings.Contains(got, want) {
				t.Errorf("the answer of %s has no %q: %s", tool, want, got)
			}
		}
	}
	if server.requests < 10*len(questions) {
		t.Errorf("only %d requests", server.requests)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("error %v, files %v", err, left)
	}
}

// TestGuard checks the second protection: in the environment of a call, even a verb that writes sends no write.
func TestGuard(t *testing.T) {
	_, kubeconfig := serveSick(t)
	t.Chdir(t.TempDir())
	for _, verb := range []string{"adopt", "repair"} {
		streams, _, out, errOut := genericiooptions.NewTestIOStreams()
		env := environment(streams)
		env.ReadOnly = true
		status := cmd.Main(t.Context(), []string{program, verb, "--yes", "--kubeconfig", kubeconfig,
			"--cluster", "sick"}, env)
		if printed := out.String() + errOut.String(); status == cli.ExitOK ||
			!strings.Contains(printed, "is not sent: the program may only read") {
			t.Errorf("%s: status %d: %s", verb, status, printed)
		}
	}
}

// TestIgnoreFile checks that no ignore file changes an answer, and that the clusters of the server's flags are read by
// the tools that can.
func TestIgnoreFile(t *testing.T) {
	_, kubeconfig := serveSick(t)
	current := filepath.Join(t.TempDir(), "current") // in a list of kubeconfigs, the first current context decides
	if err := os.WriteFile(current, []byte(`{"current-context": "sick"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", current+string(filepath.ListSeparator)+kubeconfig)
	c := start(t, "--contexts=other")
	const ignored = "ignore: [{code: FD101, reason: invented}]\n"
	if err := os.WriteFile(".fleetdoctor.yaml", []byte(ignored), 0o600); err != nil {
		t.Fatal(err)
	}
	if run(t, "audit") == run(t, "audit --ignore-file=") {
		t.Error("the ignore file has no effect on the command line")
	}
	want := run(t, "audit --contexts=other --ignore-file=")
	if got, _ := c.call("audit", nil); got != want || !strings.Contains(got, "--contexts other") {
		t.Errorf("audit (-command line +tool):\n%s", cmp.Diff(want, got))
	}
	for tool, line := range map[string]string{"agents": "agents", "adoption_plan": "adopt --dry-run=client",
		"repair_plan": "repair --contexts=other --dry-run=client"} {
		if got, _ := c.call(tool, nil); got != run(t, line) {
			t.Errorf("%s (-command line +tool):\n%s", tool, cmp.Diff(run(t, line), got))
		}
	}
}

// TestCancelled checks that a call ends when the client cancels it, and that the server goes on.
func TestCancelled(t *testing.T) {
	server, kubeconfig := serveSick(t)
	server.blocked = make(chan context.Context, 1)
	c := connect(t, "--kubeconfig", kubeconfig, "--cluster", "sick")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "audit"})
		ended <- err
	}()
	request := <-server.blocked
	cancel()
	<-request.Done() // the connection was closed
	if err := <-ended; err == nil {
		t.Error("the call has a result")
	}
	if got, result := c.call("explain", map[string]any{"words": []string{"FD101"}}); result.IsError {
		t.Errorf("the next call: %s", got)
	}
}

// TestInterrupted checks that an interruption ends the server during a call, without an error.
func TestInterrupted(t *testing.T) {
	server, kubeconfig := serveSick(t)
	server.blocked = make(chan context.Context, 1)
	c := connect(t, "--kubeconfig", kubeconfig, "--cluster", "sick")
	succeeded := make(chan bool, 1)
	go func() {
		result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "audit"})
		succeeded <- err == nil && !result.IsError // an error may arrive before the connection is closed
	}()
	request := <-server.blocked
	c.interrupt()
	<-request.Done()
	if status := <-c.ended; status != cli.ExitOK || c.errOut.Len() > 0 {
		t.Errorf("the server ended with status %d: %s", status, c.errOut)
	}
	if <-succeeded {
		t.Error("the call has a result")
	}
}
