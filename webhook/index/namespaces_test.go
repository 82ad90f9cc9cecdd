// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

// start runs a Releases until the test ends.
func startNamespaces(t *testing.T, client metadata.Interface) *index.Namespaces {
	t.Helper()
	w := index.NewNamespaces(client, logr.Discard())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(t.Context()) }()
	t.Cleanup(func() { // after the test's context is done
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	return w
}

func awaitNamespaces(t *testing.T, w *index.Namespaces) {
	t.Helper()
	poll.Until(t, func() error {
		if !w.Synced() {
			return errors.New("it is not synced")
		}
		return nil
	})
}

// await waits until a namespace has these labels.
func awaitLabels(t *testing.T, w *index.Namespaces, name string, want map[string]string) {
	t.Helper()
	poll.Until(t, func() error {
		if diff := cmp.Diff(want, w.Labels(name)); diff != "" {
			return fmt.Errorf("labels of namespace %q (-want +got):\n%s", name, diff)
		}
		return nil
	})
}

// TestLabels follows namespaces of a real API server, behind a proxy that loses connections.
func TestLabels(t *testing.T) {
	forward, client := metadataProxy(t)
	apply := func(name, labels string) {
		t.Helper()
		shared.ApplyYAML(t, "someone", fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s}}}", name, labels))
	}
	shared.RemoveNamespacesAfter(t, "guarded", "absent")
	apply("guarded", "fleetdoctor.io/guard: deny, fleetdoctor.iox: none, team: a")
	w := startNamespaces(t, client)
	awaitNamespaces(t, w)
	awaitLabels(t, w, "guarded", map[string]string{"fleetdoctor.io/guard": "deny"})

	apply("guarded", `fleetdoctor.io/guard: warn, fleetdoctor.io/ignore: "true"`)
	apply("absent", "fleetdoctor.io/adopt: exact")
	awaitLabels(t, w, "guarded", map[string]string{"fleetdoctor.io/guard": "warn", "fleetdoctor.io/ignore": "true"})
	awaitLabels(t, w, "absent", map[string]string{"fleetdoctor.io/adopt": "exact"})

	poll.True(t, "it is live", w.Live)
	forward.CloseClientConnections()
	apply("absent", "")
	awaitLabels(t, w, "absent", nil)
	if !w.Synced() {
		t.Error("it is no longer synced")
	}
	poll.True(t, "it is live again", w.Live)
}

// metadataProxy stands before the API server, as an administrator, and lets pass only what asks for metadata.
func metadataProxy(t *testing.T) (*httptest.Server, metadata.Interface) {
	t.Helper()
	config := shared.Config()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // events are passed on as they come
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // the client left
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accept := r.Header.Get("Accept"); !strings.Contains(accept, "as=PartialObjectMetadata") {
			t.Errorf("asked for more than metadata: %s", accept)
		}
		defer func() { _ = recover() }() // so a proxy tells a server that an answer broke off
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { // when the test's context is done, and with it every request
		server.CloseClientConnections()
		server.Close()
	})
	client, err := metadata.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

// TestGone deletes a namespace; where no controllers are a real one is never gone.
func TestGone(t *testing.T) {
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	gvr := corev1.SchemeGroupVersion.WithResource("namespaces")
	of := func(name string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"fleetdoctor.io/guard": "warn"}}}
	}
	var objects []runtime.Object
	for _, name := range []string{"a", "b"} {
		objects = append(objects, of(name))
	}
	client := fake.NewSimpleMetadataClient(scheme, objects...)
	w := startNamespaces(t, client)
	awaitNamespaces(t, w)
	awaitLabels(t, w, "a", map[string]string{"fleetdoctor.io/guard": "warn"})
	poll.Until(t, func() error { // of a fake what happens before it is watched is lost
		for _, a := range client.Actions() {
			if a.GetVerb() == "watch" {
				return nil
			}
		}
		return errors.New("nothing is watched")
	})
	if err := client.Resource(gvr).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitLabels(t, w, "a", nil)
	awaitLabels(t, w, "b", map[string]string{"fleetdoctor.io/guard": "warn"})
}
