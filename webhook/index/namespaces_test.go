// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/fake"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/proxy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

// startNamespaces runs a Namespaces until the test ends.
func startNamespaces(t *testing.T, client metadata.Interface) *index.Namespaces {
	t.Helper()
	w := index.NewNamespaces(client, logr.Discard())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(t.Context()) }()
	t.Cleanup(func() { // after the test's context is done
		if err := <-ended; err != nil {
			t.Errorf("the watch ended with %v", err)
		}
	})
	return w
}

func awaitNamespaces(t *testing.T, w *index.Namespaces) {
	t.Helper()
	poll.Until(t, func() error {
		if !w.Synced() {
			return errors.New("not synced")
		}
		return nil
	})
}

// awaitLabels waits until a namespace has these labels.
func awaitLabels(t *testing.T, w *index.Namespaces, name string, want map[string]string) {
	t.Helper()
	poll.Until(t, func() error {
		if diff := cmp.Diff(want, w.Labels(name)); diff != "" {
			return fmt.Errorf("labels of namespace %q (-want +got):\n%s", name, diff)
		}
		return nil
	})
}

// TestLabels watches namespaces of a real API server through a proxy that closes connections.
func TestLabels(t *testing.T) {
	p := proxy.New(t, shared.Config())
	client, err := metadata.NewForConfig(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	apply := func(name, labels string) {
		t.Helper()
		shared.ApplyYAML(t, "user", fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s}}}",
			name, labels))
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

	poll.True(t, "the watch is live", w.Live)
	p.CloseConnections()
	apply("absent", "")
	awaitLabels(t, w, "absent", nil)
	if !w.Synced() {
		t.Error("not synced after the connections were lost")
	}
	poll.True(t, "the watch is live again", w.Live)
	for _, r := range p.Received() {
		if accept := r.Header.Get("Accept"); !strings.Contains(accept, "as=PartialObjectMetadata") {
			t.Errorf("requested more than metadata: %s", accept)
		}
	}
}

// TestDeletedNamespace deletes a namespace. It uses a fake API server: a real one without controllers never removes a
// namespace.
func TestDeletedNamespace(t *testing.T) {
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
	poll.Until(t, func() error { // the fake sends no events from before the watch
		for _, a := range client.Actions() {
			if a.GetVerb() == "watch" {
				return nil
			}
		}
		return errors.New("no watch")
	})
	if err := client.Resource(gvr).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitLabels(t, w, "a", nil)
	awaitLabels(t, w, "b", map[string]string{"fleetdoctor.io/guard": "warn"})
}
