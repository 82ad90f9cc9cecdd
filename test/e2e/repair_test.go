// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/base64"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	named "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// shop has objects of several kinds: with atomic lists, lists with keys, a Secret and a custom resource.
const shop = guestbook + `---
{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {user: shop, password: planted-value}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:1", args: [serve, --fast], env: [{name: MODE, value: a}]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}]
---
{apiVersion: shop.example.com/v1, kind: Widget, metadata: {name: gear}, spec: {size: 3, tags: [a, b]}}
`

// gears defines the custom kind of shop.
const gears = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func shopObjects() []*unstructured.Unstructured {
	return append(guestbookObjects(), object("v1", "Secret", apps, "login"), deployment("web"), bound, gear)
}

var (
	login = object("v1", "Secret", apps, "login")
	bound = object("rbac.authorization.k8s.io/v1", "RoleBinding", apps, "readers")
	gear  = object("shop.example.com/v1", "Widget", apps, "gear")
)

// eachMethod runs a test with the shop deployed server-side, as by Fleet 0.15, and client-side, as before.
func eachMethod(t *testing.T, test func(*testing.T, *bundle)) {
	t.Helper()
	for name, clientSide := range map[string]bool{"server-side": false, "client-side": true} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			f.define(gears, "widgets.shop.example.com")
			b := f.bundle("shop", shop)
			b.options.ClientSideApply = clientSide
			for _, obj := range []*unstructured.Unstructured{bound, gear} {
				f.removeAtEnd(obj)
			}
			b.deploy()
			f.rollOut("web")
			expectReady(t, f, "before the test")
			test(t, b)
		})
	}
}

// expectReady checks that nothing is to be repaired.
func expectReady(t *testing.T, f *fleetServer, when string) {
	t.Helper()
	if r := f.audit(); r.report == nil || r.report.Summary.Counts.Ready != r.report.Summary.Counts.Desired {
		t.Errorf("%s: not all objects are ready: %s%s", when, r.stdout, r.stderr)
	}
}

// next deploys the next revision, with another value of fields that were repaired. Helm does not force it.
func (b *bundle) next() {
	b.t.Helper()
	b.upgrade(strings.NewReplacer("colour: blue", "colour: green", "greeting: hello", "greeting: welcome",
		"replicas: 2", "replicas: 3", "value: a", "value: b", "--fast", "--slow", "port: 80", "port: 8080",
		"size: 3", "size: 4", "planted-value", "next-value").Replace(b.options.Manifest))
	b.rollOut("web")
	expectReady(b.t, b.fleetServer, "after the next deploy")
}

// content is an object without what a server sets when it is created or written.
func content(obj *unstructured.Unstructured) map[string]any {
	out := &unstructured.Unstructured{Object: withoutVersions(obj)}
	out.SetUID("")
	out.SetGeneration(0)
	unstructured.RemoveNestedField(out.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(out.Object, "status")
	for _, name := range []string{"clusterIP", "clusterIPs"} {
		unstructured.RemoveNestedField(out.Object, "spec", name)
	}
	return out.Object
}

// expectContent compares objects with their earlier content.
func (f *fleetServer) expectContent(when string, want ...*unstructured.Unstructured) {
	f.t.Helper()
	for _, w := range want {
		if diff := cmp.Diff(content(w), content(f.get(w))); diff != "" {
			f.t.Errorf("%s: %s %s is not as expected (-want +got):\n%s", when, w.GetKind(), w.GetName(), diff)
		}
	}
}

// expectSteps compares the status of a run, and what it did with objects that it did not leave.
func expectSteps(t *testing.T, a adoption, status int, want map[string]string) {
	t.Helper()
	expectAdoption(t, a, status, want)
	if strings.Contains(a.stdout+a.stderr, "planted") ||
		strings.Contains(a.stdout, base64.StdEncoding.EncodeToString([]byte("planted-value"))) {
		t.Errorf("the value of a Secret was printed: %s%s", a.stdout, a.stderr)
	}
	receipt, err := os.ReadFile(a.receipt)
	if err == nil && (bytes.Contains(receipt, []byte("planted")) ||
		bytes.Contains(receipt, []byte(base64.StdEncoding.EncodeToString([]byte("planted-value"))))) {
		t.Errorf("the receipt has the value of a Secret: %s", receipt)
	}
}

// keyOf names an object as documents do.
func keyOf(obj *unstructured.Unstructured) string {
	return named.Ref{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(),
		Name: obj.GetName()}.Key().String()
}

// allOf says the same of all objects.
func allOf(what string, objs ...*unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for _, obj := range objs {
		out[keyOf(obj)] = what
	}
	return out
}

// TestRepairCreates deletes all objects of a bundle, and creates them again. They are as before, also for the next
// deploy. The undo deletes them.
func TestRepairCreates(t *testing.T) {
	eachMethod(t, func(t *testing.T, b *bundle) {
		t.Helper()
		before := b.getAll(shopObjects()...)
		for _, obj := range before {
			b.remove(obj)
		}
		done := b.repair("--yes", "--code", "FD101", "bundle/shop")
		expectSteps(t, done, 0, allOf("Create Done", before...))
		b.expectContent("created", before...)
		for i, obj := range b.getAll(before...) {
			if got, want := writers(obj), writers(before[i]); !slices.Equal(got, want) {
				t.Errorf("%s %s was written by %v, at first by %v", obj.GetKind(), obj.GetName(), got, want)
			}
		}
		if !b.options.ClientSideApply {
			b.expectNoConflict(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings",` +
				`"namespace":"apps"},"data":{"colour":"yellow"}}`)
		}
		expectSteps(t, b.repair("--yes"), 0, map[string]string{})

		expectSteps(t, b.repair("--yes", "--undo", done.receipt), 0, allOf("Remove Done", before...))
		for _, obj := range before {
			b.expectGone(obj)
		}
		expectSteps(t, b.repair("--yes", "--undo", done.receipt), 0, allOf("None", before...))

		expectSteps(t, b.repair("--yes"), 0, allOf("Create Done", before...))
		b.rollOut("web")
		b.next()
	})
}

// writers are the managers of an object, without that of its status.
func writers(obj *unstructured.Unstructured) []string {
	var out []string
	for _, m := range obj.GetManagedFields() {
		if m.Subresource == "" {
			out = append(out, m.Manager+" "+string(m.Operation))
		}
	}
	slices.Sort(out)
	return out
}

// expectNoConflict applies an object as Fleet's Helm does, which does not force. Nothing is stored.
func (f *fleetServer) expectNoConflict(text string) {
	f.t.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(text)); err != nil {
		f.t.Fatal(err)
	}
	err := f.Client().Patch(f.t.Context(), obj, client.RawPatch(types.ApplyPatchType, []byte(text)),
		client.FieldOwner(cluster.AgentManager), client.DryRunAll)
	if err != nil {
		f.t.Errorf("the next deploy: %v", err)
	}
}

// change is what somebody did to an object of the shop.
type change struct {
	obj   *unstructured.Unstructured
	patch string
}

// pods is a patch of the Deployment of the shop, with an element of a list and a container that are not in the bundle.
func pods(image, args, mode string) string {
	return `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"` + image + `","args":` + args +
		`,"env":[{"name":"MODE","value":"` + mode + `"},{"name":"MORE","value":"x"}]},` +
		`{"name":"side","image":"example.com/side:1"}]}}}}`
}

// shopChanges are changes of fields, of parts of atomic lists, and removals.
func shopChanges() []change {
	return []change{
		{configMap("settings"), `{"data":{"colour":"red"}}`},
		{configMap("texts"), `{"data":{"greeting":null}}`},
		{object("v1", "Service", apps, "frontend"), `{"spec":{"selector":{"app":"other"}}}`},
		{deployment("web"), `{"spec":{"replicas":5}}`},
		{deployment("web"), pods("example.com/web:2", `["serve","--fast","--more"]`, "z")},
		{bound, `{"subjects":[{"kind":"User","name":"ann","apiGroup":"rbac.authorization.k8s.io"},` +
			`{"kind":"User","name":"eve","apiGroup":"rbac.authorization.k8s.io"}]}`},
		{gear, `{"spec":{"size":9,"tags":["a"]}}`},
	}
}

// TestRepairRestores changes all objects of a bundle, and restores the fields that differ. Nothing else changes, and
// the undo brings the changes back, except those of the Secret.
func TestRepairRestores(t *testing.T) {
	eachMethod(t, func(t *testing.T, b *bundle) {
		t.Helper()
		const note = `{"metadata":{"labels":{"team":"blue"},"annotations":{"note":"mine"}}}`
		for _, obj := range shopObjects() {
			b.merge("someone", obj, note)
		}
		b.merge("someone", deployment("web"), pods("example.com/web:1", `["serve","--fast"]`, "a"))
		b.rollOut("web")
		right := b.getAll(shopObjects()...)
		for _, c := range shopChanges() {
			b.merge("someone", c.obj, c.patch)
		}
		b.merge("someone", login, `{"stringData":{"password":"changed"},"data":{"user":null}}`)
		b.rollOut("web")
		changed := b.getAll(shopObjects()...)

		done := b.repair("--yes", "--code", "FD104", "bundle/shop")
		expectSteps(t, done, 0, allOf("Restore Done", right...))
		b.expectContent("restored", right...)
		b.rollOut("web")
		expectReady(t, b.fleetServer, "after the repair")
		expectSteps(t, b.repair("--yes"), 0, map[string]string{})

		want := allOf("Restore Done", right...)
		want["secret apps/login"] = "None"
		expectSteps(t, b.repair("--yes", "--undo", done.receipt), 0, want)
		for i, obj := range changed {
			if obj.GetKind() == "Secret" {
				b.expectContent("after the undo", right[i])
			} else {
				b.expectContent("after the undo", obj)
			}
		}
		want = allOf("None", right...)
		expectSteps(t, b.repair("--yes", "--undo", done.receipt), 0, want)

		delete(want, "secret apps/login")
		for key := range want {
			want[key] = "Restore Done"
		}
		b.rollOut("web")
		expectSteps(t, b.repair("--yes"), 0, want)
		b.rollOut("web")
		b.next()
	})
}

// TestRepairKeepsExcused restores a ConfigMap and a Deployment of which comparePatches excuse a field. The excused
// fields keep their live values.
func TestRepairKeepsExcused(t *testing.T) {
	for name, clientSide := range map[string]bool{"server-side": false, "client-side": true} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			b := f.bundle("shop", guestbook+"---\n"+web)
			b.options.ClientSideApply = clientSide
			b.spec = `{diff: {comparePatches: [
  {apiVersion: v1, kind: ConfigMap, name: settings, namespace: apps, jsonPointers: [/data/size]},
  {apiVersion: v1, kind: ConfigMap, name: texts, namespace: apps, operations: [{op: remove, path: /data/more}]},
  {apiVersion: apps/v1, kind: Deployment, name: web, namespace: apps, jsonPointers: [/spec/replicas]}]}}`
			b.deploy()
			f.rollOut("web")
			f.merge("someone", configMap("settings"), `{"data":{"colour":"red","size":"small"}}`)
			f.merge("someone", configMap("texts"), `{"data":{"greeting":"bye","more":"mine"}}`)
			f.merge("someone", deployment("web"), `{"spec":{"replicas":4,"template":{"spec":{"containers":[`+
				`{"name":"web","image":"example.com/web:2"}]}}}}`)
			f.rollOut("web")
			done := f.repair("--yes")
			expectSteps(t, done, 0, allOf("Restore Done", configMap("settings"), configMap("texts"), deployment("web")))
			for _, want := range []struct {
				obj   *unstructured.Unstructured
				path  []string
				value any
			}{
				{configMap("settings"), []string{"data", "colour"}, "blue"},
				{configMap("settings"), []string{"data", "size"}, "small"},
				{configMap("texts"), []string{"data", "greeting"}, "hello"},
				{configMap("texts"), []string{"data", "more"}, "mine"},
				{deployment("web"), []string{"spec", "replicas"}, int64(4)},
			} {
				got, _, err := unstructured.NestedFieldNoCopy(f.get(want.obj).Object, want.path...)
				if err != nil || got != want.value {
					t.Errorf("%s of %s is %v (%v), want %v", strings.Join(want.path, "."), want.obj.GetName(), got, err,
						want.value)
				}
			}
			f.rollOut("web")
			expectReady(t, f, "after the repair")
		})
	}
}
