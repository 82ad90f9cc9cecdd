// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// adoptBehind adopts through a proxy.
func (f *fleetServer) adoptBehind(p *proxy) adoption {
	f.t.Helper()
	a := adoption{receipt: filepath.Join(f.t.TempDir(), "receipt.jsonl")}
	a.result = run(f.t.Context(), f.t, "adopt", "--kubeconfig", p.kubeconfig, "--yes", "-o", "json", "--receipt", a.receipt)
	a.document = adoptionOf(f.t, a.stdout)
	return a
}

// TestConflictStorm has another writer write to every object just before it is adopted, three times over. Everything is adopted in the end,
// and what the other one wrote is there.
func TestConflictStorm(t *testing.T) {
	const gusts = 3
	b, before := items(t)
	p := b.proxy()
	var mu sync.Mutex
	written := map[string]int{}
	p.intercept(func(r *http.Request) {
		if r.Method != http.MethodPatch {
			return
		}
		name := path.Base(r.URL.Path)
		mu.Lock()
		n := min(written[name]+1, gusts+1)
		written[name] = n
		mu.Unlock()
		if n > gusts {
			return
		}
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"storm":"%d"}},"data":{"storm":"%d"}}`, n, n))
		if err := b.Client().Patch(t.Context(), configMap(name), patch, client.FieldOwner("storm")); err != nil {
			t.Error(err)
		}
	})
	a := b.adoptBehind(p)
	if a.status != 0 || a.document.Summary.Done != many {
		t.Fatalf("status %d, %+v: %s", a.status, a.document.Summary, a.stderr)
	}
	conflicts := 0
	for _, r := range p.seen() {
		if r.status == http.StatusConflict {
			conflicts++
		}
	}
	if conflicts != gusts*many {
		t.Errorf("%d conflicts, want %d: the storm did not blow", conflicts, gusts*many)
	}
	for _, obj := range before { // what is to be there beside the marks
		if err := unstructured.SetNestedField(obj.Object, "3", "metadata", "annotations", "storm"); err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedField(obj.Object, "3", "data", "storm"); err != nil {
			t.Fatal(err)
		}
		now := b.get(obj)
		if got := now.GetAnnotations()["storm"]; got != "3" {
			t.Errorf("%s: the other writer's value is %q", obj.GetName(), got)
		}
		if got, _, _ := unstructured.NestedString(now.Object, "data", "storm"); got != "3" {
			t.Errorf("%s: the other writer's data is %q", obj.GetName(), got)
		}
	}
	if u := b.undo(a.receipt); u.status != 0 || u.document.Summary.Done != many {
		t.Errorf("undoing: status %d, %+v", u.status, u.document.Summary)
	}
	b.restored(before...)
}

// TestChangedMeanwhile lets something happen to objects between the plan and the write. What is not what it was is left alone, the rest is
// adopted.
func TestChangedMeanwhile(t *testing.T) {
	f := newFleet(t, shared)
	objs, manifest := configMaps(8)
	b := f.deploy("items", manifest)
	f.strip(objs...)
	before := f.getAll(objs...)
	left := map[string]string{ // what is said of it
		"item-00": "deleted in the meantime", "item-01": "deleted and created again", "item-02": "ownership metadata was changed", "item-03": "being deleted",
		"item-04": "controlled by Service boss",
	}
	f.merge("wait", objs[3], `{"metadata":{"finalizers":["example.com/wait"]}}`)
	t.Cleanup(func() { f.unfinalize(objs[3]) })
	var once sync.Once
	p := f.proxy()
	p.intercept(func(r *http.Request) {
		if r.Method != http.MethodPatch {
			return
		}
		once.Do(func() {
			f.remove(objs[0])
			f.remove(objs[1])
			f.ApplyYAML(t, "kubectl", "{apiVersion: v1, kind: ConfigMap, metadata: {name: item-01, namespace: apps}}")
			f.merge("thief", objs[2], `{"metadata":{"annotations":{"objectset.rio.cattle.io/id":"default-thief"},"labels":{"objectset.rio.cattle.io/hash":"`+
				fleet.Hash("default-thief")+`"}}}`)
			f.remove(objs[3])
			f.merge("boss", objs[4], `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Service","name":"boss","uid":"u","controller":true}]}}`)
			f.merge("adopter", objs[5], stampPatch(b)) // somebody else with the same aim
		})
	})
	a := f.adoptBehind(p)
	want := map[string]string{}
	for _, obj := range objs {
		want["configmap apps/"+obj.GetName()] = "Adopt NoMark Done"
		if _, ok := left[obj.GetName()]; ok {
			want["configmap apps/"+obj.GetName()] = "Adopt NoMark Changed"
		}
	}
	expectAdoption(t, a, 3, want)
	for name, why := range left {
		says(t, "what is said of "+name, a.object(t, "configmap apps/"+name).Message, why)
		if name == "item-00" || name == "item-02" {
			continue
		}
		if got := stampsOf(f.get(configMap(name))); len(got) > 0 {
			t.Errorf("%s was written to: %v", name, got)
		}
	}
	if got := f.get(objs[2]).GetAnnotations()[fleet.IDAnnotation]; got != "default-thief" {
		t.Errorf("what was taken by another is of %q now", got)
	}
	f.onlyMarks(b.stamps(), before[6:]...)
}

// stampPatch writes a bundle's marks, as adopt does it.
func stampPatch(b *bundle) string {
	return fmt.Sprintf(`{"metadata":{"labels":{"objectset.rio.cattle.io/hash":%q,"app.kubernetes.io/managed-by":"Helm"},"annotations":{
		"objectset.rio.cattle.io/id":%q,"meta.helm.sh/release-name":%q,"meta.helm.sh/release-namespace":%q}}}`,
		b.options.Hash, b.options.SetID, b.name, b.options.Namespace)
}

// TestAnswersLost has the server store what was written, and its answers lost. What was stored is done.
func TestAnswersLost(t *testing.T) {
	b, before := items(t)
	p := b.proxy()
	p.lose(func(r *http.Request) bool { return r.Method == http.MethodPatch })
	a := b.adoptBehind(p)
	if a.status != 0 || a.document.Summary.Done != many {
		t.Errorf("status %d, %+v: %s", a.status, a.document.Summary, a.stderr)
	}
	b.onlyMarks(b.stamps(), before...)
	if n := len(p.matching(http.MethodPatch)); n != many {
		t.Errorf("%d writes for %d objects", n, many)
	}
}
