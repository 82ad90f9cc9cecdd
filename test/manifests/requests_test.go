// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// modifier sets labels, annotations and other fields of an object.
type modifier func(*unstructured.Unstructured)

func bare(*unstructured.Unstructured) {}

func with(all ...modifier) modifier {
	return func(obj *unstructured.Unstructured) {
		for _, l := range all {
			l(obj)
		}
	}
}

func label(key, value string) modifier {
	return func(obj *unstructured.Unstructured) {
		labels := obj.GetLabels()
		if labels == nil {
			labels = make(map[string]string)
		}
		labels[key] = value
		obj.SetLabels(labels)
	}
}

func annotation(key, value string) modifier {
	return func(obj *unstructured.Unstructured) {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = make(map[string]string)
		}
		annotations[key] = value
		obj.SetAnnotations(annotations)
	}
}

func unlabel(key string) modifier {
	return func(obj *unstructured.Unstructured) {
		unstructured.RemoveNestedField(obj.Object, "metadata", "labels", key)
	}
}

func unannotate(key string) modifier {
	return func(obj *unstructured.Unstructured) {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", key)
	}
}

func field(value any, path ...string) modifier {
	return func(obj *unstructured.Unstructured) {
		// The paths of this table contain only maps.
		_ = unstructured.SetNestedField(obj.Object, value, path...)
	}
}

var (
	other = with(label("app", "guestbook"), annotation("note", "other"))
	hash  = label(fleet.HashLabel, "c5c68538ff9800def965853a87784a250ad1f566")
	id    = annotation(fleet.IDAnnotation, "default-guestbook")
	helm  = with(label(fleet.ManagedByLabel, fleet.ManagedByHelm), annotation(fleet.ReleaseNameAnnotation,
		"guestbook"), annotation(fleet.ReleaseNamespaceAnnotation, "guestbook"))
	full   = with(hash, id, helm)
	ignore = label("fleetdoctor.io/ignore", "true")
	pinned = func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{"example.com/pinned"}) }
	child  = func(obj *unstructured.Unstructured) {
		controller := true
		obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "any",
			UID: "1", Controller: &controller}})
	}
	record = field("helm.sh/release.v1", "type")
)

// Users of the table; the empty one is an administrator.
const (
	agent       = "system:serviceaccount:cattle-fleet-system:fleet-agent"
	collector   = "system:serviceaccount:kube-system:generic-garbage-collector"
	nsManager   = "system:serviceaccount:kube-system:namespace-controller"
	kubeManager = "system:kube-controller-manager"
)

// act is the request, if it is not a plain create, update or delete.
type act func(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error

// request is one row: an object of a kind that is stored as old describes (nil if it does not exist yet), a write
// that changes it to new (nil for a deletion), and the webhooks that the server calls.
type request struct {
	name      string
	kind      string // default ConfigMap
	namespace string // default plain
	user      string
	old, new  modifier
	act       act
	deleting  bool // the object is being deleted when the request is sent
	want      []string
}

// namespaces has the labels of the namespaces in the table.
var namespaces = map[string]map[string]string{
	"plain":     {"team": "web"},
	"exact":     {"fleetdoctor.io/adopt": "exact"},
	"ignored":   {"fleetdoctor.io/ignore": "true", "fleetdoctor.io/adopt": "exact"},
	"unguarded": {"fleetdoctor.io/guard": "off"},
	"denied":    {"fleetdoctor.io/guard": "deny"},
	// The namespace of a cluster's BundleDeployments.
	"cluster-fleet-default-c1":     {"fleet.cattle.io/managed": "true", "fleetdoctor.io/adopt": "exact"},
	"cattle-fleet-system":          {"fleetdoctor.io/adopt": "exact"},
	"cattle-fleet-clusters-system": nil,
	systemNamespace:                {"fleetdoctor.io/adopt": "exact"},
	// Not a namespace of Fleet: a bundle may deploy into it.
	"cattle-system": nil,
}

// TestRequests sends every request to the API server and compares which webhooks it calls. This tests the meaning
// of the conditions, not their text.
func TestRequests(t *testing.T) {
	for name, labels := range namespaces {
		shared.Apply(t, "test", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	w := newWitness(t)
	w.register("exact")
	w.await()
	run := rand.String(5) // namespaces are never deleted here, so names must be unique
	for i, r := range slices.Concat(creations, updates, deletions, exactRequests) {
		t.Run(r.name, func(t *testing.T) { r.make(t, w, fmt.Sprintf("request-%s-%d", run, i)) })
	}
	if failed := counters(t, "apiserver_admission_match_condition_evaluation_errors_total"); len(failed) > 0 {
		t.Errorf("conditions failed: %s", strings.Join(failed, "\n"))
	}
	if none := counters(t, "apiserver_admission_match_condition_evaluation_seconds_count"); len(none) == 0 {
		t.Error("the server counts no conditions: failed ones would not be counted either")
	}
}

// await returns when the server calls every webhook: it uses a configuration some time after it is stored.
func (w *recordingWebhook) await() {
	w.t.Helper()
	owned := object(w.t, "ConfigMap", "plain", "await")
	full(owned)
	if err := shared.Client().Create(w.t.Context(), owned); err != nil {
		w.t.Fatal(err)
	}
	poll.Until(w.t, func() error {
		w.take()
		err := errors.Join(
			shared.Client().Create(w.t.Context(), object(w.t, "ConfigMap", "exact", "await"), client.DryRunAll),
			func() error {
				obj := object(w.t, "ConfigMap", "plain", "await-helm")
				helm(obj)
				return shared.Client().Create(w.t.Context(), obj, client.DryRunAll)
			}(),
			shared.Client().Delete(w.t.Context(), owned.DeepCopy(), client.DryRunAll))
		if err != nil {
			return err
		}
		if diff := cmp.Diff([]string{"guard", "stamp", "stamp-exact"}, w.take()); diff != "" {
			return fmt.Errorf("called webhooks (-want +got):\n%s", diff)
		}
		return nil
	})
	if err := shared.Client().Delete(w.t.Context(), owned); err != nil {
		w.t.Fatal(err)
	}
}

// make stores the old object, sends the request, and deletes the object. No other request has an object with this
// name.
func (r request) make(t *testing.T, w *recordingWebhook, name string) {
	t.Helper()
	kind, namespace := r.kind, r.namespace
	if kind == "" {
		kind = "ConfigMap"
	}
	switch {
	case kind == "Namespace" || kind == "ClusterRole" || kind == "SubjectAccessReview" || kind == "TokenReview":
		namespace = ""
	case namespace == "":
		namespace = "plain"
	}
	obj := object(t, kind, namespace, name)
	if r.old != nil {
		r.old(obj)
		r.store(t, obj)
	}
	if !strings.HasSuffix(kind, "Review") {
		defer r.remove(t, obj.DeepCopy())
	}
	w.take()
	if err := r.send(t.Context(), as(t, r.user), obj); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.want, w.take(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("called webhooks (-want +got):\n%s", diff)
	}
}

// store creates the old object. It returns when the watch cache of the server has it: otherwise the server may
// first evaluate a write with an older version from its cache, and then again with the stored one.
func (r request) store(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	admin := shared.Client()
	if err := admin.Create(t.Context(), obj); err != nil {
		t.Fatalf("preparing: %v", err)
	}
	key := client.ObjectKeyFromObject(obj)
	if r.deleting {
		if err := errors.Join(admin.Delete(t.Context(), obj.DeepCopy()), admin.Get(t.Context(), key, obj)); err != nil {
			t.Fatalf("preparing: %v", err)
		}
	}
	poll.Until(t, func() error {
		cached := obj.DeepCopy()
		err := admin.Get(t.Context(), key, cached, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}})
		if err == nil && cached.GetResourceVersion() != obj.GetResourceVersion() {
			err = fmt.Errorf("the watch cache has version %s, and etcd has %s", cached.GetResourceVersion(),
				obj.GetResourceVersion())
		}
		return err
	})
}

func (r request) send(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error {
	if r.new != nil {
		obj.SetLabels(nil)
		obj.SetAnnotations(nil)
		r.new(obj)
	}
	switch {
	case r.act != nil:
		return r.act(ctx, c, obj)
	case r.old == nil:
		return c.Create(ctx, obj)
	case r.new == nil:
		return c.Delete(ctx, obj)
	}
	return c.Update(ctx, obj)
}

// remove deletes the object of a row, with its finalizers.
func (r request) remove(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	removeFinalizers := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	now := client.GracePeriodSeconds(0)
	err := errors.Join(
		client.IgnoreNotFound(shared.Client().Patch(t.Context(), obj.DeepCopy(), removeFinalizers)),
		client.IgnoreNotFound(shared.Client().Delete(t.Context(), obj, now)))
	if err != nil {
		t.Errorf("cleaning up: %v", err)
	}
}

// as returns a client of a user with all permissions.
func as(t *testing.T, user string) client.Client {
	t.Helper()
	if user == "" {
		return shared.Client()
	}
	config := shared.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// counters returns the server's counters of a name that are not zero.
func counters(t *testing.T, name string) []string {
	t.Helper()
	clients, err := kubernetes.NewForConfig(shared.Config())
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := clients.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(metrics)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, name) && !strings.HasSuffix(line, " 0") {
			out = append(out, line)
		}
	}
	return out
}
