// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"path"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// TestWriteConflicts has another client write to every object just before it is adopted, three times. All objects
// are adopted, and the other client's values are kept.
func TestWriteConflicts(t *testing.T) {
	const conflictsPerObject = 3
	b, before := unownedItems(t)
	p := b.proxy()
	var mu sync.Mutex
	written := map[string]int{}
	p.onRequest(func(r *http.Request) {
		if r.Method != http.MethodPatch {
			return
		}
		name := path.Base(r.URL.Path)
		mu.Lock()
		n := min(written[name]+1, conflictsPerObject+1)
		written[name] = n
		mu.Unlock()
		if n > conflictsPerObject {
			return
		}
		patch := client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{"writer":"%d"}},"data":{"writer":"%d"}}`, n, n))
		if err := b.Client().Patch(t.Context(), configMap(name), patch, client.FieldOwner("writer")); err != nil {
			t.Error(err)
		}
	})
	a := b.adopt("--yes", "--kubeconfig", p.kubeconfig)
	if a.status != 0 || a.document.Summary.Done != itemCount {
		t.Fatalf("status %d, %+v: %s", a.status, a.document.Summary, a.stderr)
	}
	conflicts := 0
	for _, r := range p.seen() {
		if r.status == http.StatusConflict {
			conflicts++
		}
	}
	if conflicts != conflictsPerObject*itemCount {
		t.Errorf("%d conflicts, want %d", conflicts, conflictsPerObject*itemCount)
	}
	for _, obj := range before { // the expected objects without ownership metadata
		if err := unstructured.SetNestedField(obj.Object, "3", "metadata", "annotations", "writer"); err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedField(obj.Object, "3", "data", "writer"); err != nil {
			t.Fatal(err)
		}
		now := b.get(obj)
		if got := now.GetAnnotations()["writer"]; got != "3" {
			t.Errorf("%s: the other writer's value is %q", obj.GetName(), got)
		}
		if got, _, _ := unstructured.NestedString(now.Object, "data", "writer"); got != "3" {
			t.Errorf("%s: the other writer's data is %q", obj.GetName(), got)
		}
	}
	if u := b.undo(a.receipt); u.status != 0 || u.document.Summary.Done != itemCount {
		t.Errorf("undoing: status %d, %+v", u.status, u.document.Summary)
	}
	b.expectRestored(before...)
}

// TestChangedAfterPlan changes objects between the plan and the writes. Objects with a changed identity or owner
// are not written.
func TestChangedAfterPlan(t *testing.T) {
	f := newFleet(t, shared)
	objs, manifest := configMaps(8)
	b := f.deploy("items", manifest)
	f.removeOwnership(objs...)
	before := f.getAll(objs...)
	left := map[string]string{ // the messages
		"item-00": "deleted in the meantime", "item-01": "deleted and created again",
		"item-02": "ownership metadata was changed", "item-03": "being deleted",
		"item-04": "controlled by Service owner",
	}
	f.merge("wait", objs[3], `{"metadata":{"finalizers":["example.com/wait"]}}`)
	t.Cleanup(func() { f.removeFinalizers(objs[3]) })
	var once sync.Once
	p := f.proxy()
	p.onRequest(func(r *http.Request) {
		if r.Method != http.MethodPatch {
			return
		}
		once.Do(func() {
			f.remove(objs[0])
			f.remove(objs[1])
			f.ApplyYAML(t, "kubectl", "{apiVersion: v1, kind: ConfigMap, metadata: {name: item-01, namespace: apps}}")
			f.merge("other", objs[2], `{"metadata":{
				"annotations":{"objectset.rio.cattle.io/id":"default-other"},
				"labels":{"objectset.rio.cattle.io/hash":"`+fleet.Hash("default-other")+`"}}}`)
			f.remove(objs[3])
			f.merge("controller", objs[4], `{"metadata":{"ownerReferences":[
				{"apiVersion":"v1","kind":"Service","name":"owner","uid":"u","controller":true}]}}`)
			// another client that adopts the object
			f.merge("adopter", objs[5], ownershipPatch(t, anyValues(b.ownership())))
		})
	})
	a := f.adopt("--yes", "--kubeconfig", p.kubeconfig)
	want := map[string]string{}
	for _, obj := range objs {
		want["configmap apps/"+obj.GetName()] = "Adopt NoMark Done"
		if _, ok := left[obj.GetName()]; ok {
			want["configmap apps/"+obj.GetName()] = "Adopt NoMark Changed"
		}
	}
	expectAdoption(t, a, 3, want)
	for name, why := range left {
		expectContains(t, "the message of "+name, a.object(t, "configmap apps/"+name).Message, why)
		if name == "item-00" || name == "item-02" {
			continue
		}
		if got := ownershipOf(f.get(configMap(name))); len(got) > 0 {
			t.Errorf("%s was written to: %v", name, got)
		}
	}
	if got := f.get(objs[2]).GetAnnotations()[fleet.IDAnnotation]; got != "default-other" {
		t.Errorf("the id of the object with another owner is %q now", got)
	}
	f.expectOnlyOwnership(b.ownership(), before[6:]...)
}

// TestResponsesLost drops the responses to writes that the server has stored. They count as done.
func TestResponsesLost(t *testing.T) {
	b, before := unownedItems(t)
	p := b.proxy()
	p.dropResponses(func(r *http.Request) bool { return r.Method == http.MethodPatch })
	a := b.adopt("--yes", "--kubeconfig", p.kubeconfig)
	if a.status != 0 || a.document.Summary.Done != itemCount {
		t.Errorf("status %d, %+v: %s", a.status, a.document.Summary, a.stderr)
	}
	b.expectOnlyOwnership(b.ownership(), before...)
	if n := len(p.matching(http.MethodPatch)); n != itemCount {
		t.Errorf("%d writes for %d objects", n, itemCount)
	}
}
