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

// look gives an object labels, annotations and whatever else a request is about.
type look func(*unstructured.Unstructured)

func bare(*unstructured.Unstructured) {}

func looks(all ...look) look {
	return func(obj *unstructured.Unstructured) {
		for _, l := range all {
			l(obj)
		}
	}
}

func label(key, value string) look {
	return func(obj *unstructured.Unstructured) {
		labels := obj.GetLabels()
		if labels == nil {
			labels = make(map[string]string)
		}
		labels[key] = value
		obj.SetLabels(labels)
	}
}

func annotation(key, value string) look {
	return func(obj *unstructured.Unstructured) {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = make(map[string]string)
		}
		annotations[key] = value
		obj.SetAnnotations(annotations)
	}
}

func unlabel(key string) look {
	return func(obj *unstructured.Unstructured) {
		unstructured.RemoveNestedField(obj.Object, "metadata", "labels", key)
	}
}

func unannotate(key string) look {
	return func(obj *unstructured.Unstructured) {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", key)
	}
}

func field(value any, path ...string) look {
	return func(obj *unstructured.Unstructured) {
		// The paths of this table lead through maps.
		_ = unstructured.SetNestedField(obj.Object, value, path...)
	}
}

var (
	other  = looks(label("app", "guestbook"), annotation("note", "other"))
	hash   = label(fleet.HashLabel, "c5c68538ff9800def965853a87784a250ad1f566")
	id     = annotation(fleet.IDAnnotation, "default-guestbook")
	helm   = looks(label(fleet.ManagedByLabel, fleet.ManagedByHelm), annotation(fleet.ReleaseNameAnnotation, "guestbook"), annotation(fleet.ReleaseNamespaceAnnotation, "guestbook"))
	full   = looks(hash, id, helm)
	ignore = label("fleetdoctor.io/ignore", "true")
	pinned = func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{"example.com/pinned"}) }
	child  = func(obj *unstructured.Unstructured) {
		controller := true
		obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "any", UID: "1", Controller: &controller}})
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

// act is what is done to an object, where it is no plain create, update or delete.
type act func(ctx context.Context, c client.Client, obj *unstructured.Unstructured) error

// request is one row: an object of a kind that is stored as old says, nil if it is not there yet, and a write that makes it new, nil if it is
// deleted; and the webhooks that the server asks.
type request struct {
	name      string
	kind      string // ConfigMap where it is not said
	namespace string // plain where it is not said
	user      string
	old, new  look
	act       act
	dying     bool // the object is being deleted when the request comes
	want      []string
}

// namespaces of the table and their labels.
var namespaces = map[string]map[string]string{
	"plain":     {"team": "web"},
	"exact":     {"fleetdoctor.io/adopt": "exact"},
	"ignored":   {"fleetdoctor.io/ignore": "true", "fleetdoctor.io/adopt": "exact"},
	"unguarded": {"fleetdoctor.io/guard": "off"},
	"denied":    {"fleetdoctor.io/guard": "deny"},
	// Where Fleet keeps a cluster's BundleDeployments.
	"cluster-fleet-default-c1":     {"fleet.cattle.io/managed": "true", "fleetdoctor.io/adopt": "exact"},
	"cattle-fleet-system":          {"fleetdoctor.io/adopt": "exact"},
	"cattle-fleet-clusters-system": nil,
	systemNamespace:                {"fleetdoctor.io/adopt": "exact"},
	// Not Fleet's: a bundle may well deploy into it.
	"cattle-system": nil,
}

// TestRequests makes every request against the API server and holds which webhooks it asks. These are the conditions' meaning, whatever their
// text is.
func TestRequests(t *testing.T) {
	for name, labels := range namespaces {
		shared.Apply(t, "test", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	w := newWitness(t)
	w.register("exact")
	w.await()
	run := rand.String(5) // no controller here ever removes a namespace
	for i, r := range slices.Concat(creations, updates, deletions, exactRequests) {
		t.Run(r.name, func(t *testing.T) { r.make(t, w, fmt.Sprintf("request-%s-%d", run, i)) })
	}
	if failed := counters(t, "apiserver_admission_match_condition_evaluation_errors_total"); len(failed) > 0 {
		t.Errorf("conditions failed: %s", strings.Join(failed, "\n"))
	}
	if none := counters(t, "apiserver_admission_match_condition_evaluation_seconds_count"); len(none) == 0 {
		t.Error("the server counts no conditions: nothing is known of those that failed")
	}
}

// await returns when the server asks every webhook: it learns of a configuration some time after it has stored it.
func (w *witness) await() {
	w.t.Helper()
	marked := object(w.t, "ConfigMap", "plain", "await")
	full(marked)
	if err := shared.Client().Create(w.t.Context(), marked); err != nil {
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
			shared.Client().Delete(w.t.Context(), marked.DeepCopy(), client.DryRunAll))
		if err != nil {
			return err
		}
		if diff := cmp.Diff([]string{"guard", "stamp", "stamp-exact"}, w.take()); diff != "" {
			return fmt.Errorf("asked (-want +got):\n%s", diff)
		}
		return nil
	})
	if err := shared.Client().Delete(w.t.Context(), marked); err != nil {
		w.t.Fatal(err)
	}
}

// make prepares what the request finds, makes it, and cleans up. No other request has an object of this name.
func (r request) make(t *testing.T, w *witness, name string) {
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
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// store creates the object that the request finds. It returns when the server sees it as it is: a write that comes right behind another may be
// judged by what the server remembers, and then again by what is stored.
func (r request) store(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	admin := shared.Client()
	if err := admin.Create(t.Context(), obj); err != nil {
		t.Fatalf("preparing: %v", err)
	}
	key := client.ObjectKeyFromObject(obj)
	if r.dying {
		if err := errors.Join(admin.Delete(t.Context(), obj.DeepCopy()), admin.Get(t.Context(), key, obj)); err != nil {
			t.Fatalf("preparing: %v", err)
		}
	}
	poll.Until(t, func() error {
		remembered := obj.DeepCopy()
		err := admin.Get(t.Context(), key, remembered, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}})
		if err == nil && remembered.GetResourceVersion() != obj.GetResourceVersion() {
			err = fmt.Errorf("the server remembers version %s, and has stored %s", remembered.GetResourceVersion(), obj.GetResourceVersion())
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

// remove takes an object away whose row is done, whatever holds it.
func (r request) remove(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	loosen := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	now := client.GracePeriodSeconds(0)
	err := errors.Join(
		client.IgnoreNotFound(shared.Client().Patch(t.Context(), obj.DeepCopy(), loosen)),
		client.IgnoreNotFound(shared.Client().Delete(t.Context(), obj, now)))
	if err != nil {
		t.Errorf("cleaning up: %v", err)
	}
}

// as returns a client of a user who may do everything.
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
