// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// fixed has objects of which a server does not change some fields.
const fixed = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, immutable: true, data: {colour: blue}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: "example.com/migrate:1"}]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
`

var (
	job  = object("batch/v1", "Job", apps, "migrate")
	disk = object("v1", "PersistentVolumeClaim", apps, "disk")
)

// replace deletes an object, and creates it as somebody changed it.
func (f *fleetServer) replace(obj *unstructured.Unstructured, value any, path ...string) {
	f.t.Helper()
	live := f.get(obj)
	f.removeNow(live)
	next := &unstructured.Unstructured{Object: content(live)}
	if obj.GetKind() == "Job" { // the server writes them
		unstructured.RemoveNestedField(next.Object, "spec", "selector")
		unstructured.RemoveNestedField(next.Object, "spec", "template", "metadata", "labels")
	}
	if err := unstructured.SetNestedField(next.Object, value, path...); err != nil {
		f.t.Fatal(err)
	}
	if err := f.Client().Create(f.t.Context(), next, client.FieldOwner("someone")); err != nil {
		f.t.Fatalf("creating %s %s again: %v", obj.GetKind(), obj.GetName(), err)
	}
}

// removeNow deletes an object, also a Job: no controller runs that would leave its pods to nobody first.
func (f *fleetServer) removeNow(obj *unstructured.Unstructured) {
	f.t.Helper()
	if err := f.Client().Delete(f.t.Context(), obj, client.PropagationPolicy("Background")); err != nil {
		f.t.Fatalf("deleting %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
}

// TestRepairRecreates changes fields that a server does not change in an object that exists. The objects are deleted
// and created again only with --allow=recreate, a claim of a volume never. The undo brings them back.
func TestRepairRecreates(t *testing.T) {
	for name, clientSide := range map[string]bool{"server-side": false, "client-side": true} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			for _, obj := range []*unstructured.Unstructured{bound, disk} {
				f.removeAtEnd(obj)
			}
			t.Cleanup(func() { f.removeFinalizers(disk) })
			b := f.bundle("shop", fixed)
			b.options.ClientSideApply = clientSide
			b.deploy()
			right := f.getAll(configMap("settings"), bound)
			f.replace(configMap("settings"), "red", "data", "colour")
			f.replace(bound, "writer", "roleRef", "name")
			f.replace(job, []any{map[string]any{"name": "migrate", "image": "example.com/migrate:2"}}, "spec",
				"template", "spec", "containers")
			f.removeFinalizers(disk)
			f.merge("protection", disk, `{"metadata":{"finalizers":null}}`)
			f.replace(disk, "slow", "spec", "storageClassName")
			changed := f.getAll(configMap("settings"), bound, job, disk)

			recreated := []*unstructured.Unstructured{configMap("settings"), bound, job}
			want := allOf("Refuse", append(slices.Clone(recreated), disk)...)
			without := f.repair("--yes")
			expectSteps(t, without, 1, want)
			expectRefusals(t, without, "--allow=recreate", recreated...)
			f.expectUnchanged(changed...)

			for key := range allOf("", recreated...) {
				want[key] = "Recreate Done"
			}
			done := f.repair("--yes", "--allow", "recreate")
			expectSteps(t, done, 1, want)
			expectRefusals(t, done, "it holds data", disk)
			expectContains(t, "the effects of a Job", strings.Join(done.object(t, "job apps/migrate").Effects, "\n"),
				"the Job runs again")
			f.expectContent("created again", right...)
			f.expectUnchanged(changed[3])
			if image := containerImage(t, f.get(job)); image != "example.com/migrate:1" {
				t.Errorf("the Job has the image %s", image)
			}

			want = allOf("Create Done", recreated...)
			expectSteps(t, f.repair("--yes", "--undo", done.receipt), 0, want)
			f.expectContent("after the undo", changed[:2]...)
			if image := containerImage(t, f.get(job)); image != "example.com/migrate:2" {
				t.Errorf("after the undo, the Job has the image %s", image)
			}
			expectSteps(t, f.repair("--yes", "--undo", done.receipt), 0, allOf("None", recreated...))
			f.removeNow(job)
		})
	}
}

func containerImage(t *testing.T, obj *unstructured.Unstructured) any {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("the containers of %s: %v, %v", obj.GetName(), containers, err)
	}
	container, _ := containers[0].(map[string]any)
	return container["image"]
}

// expectRefusals checks the reasons for which objects were refused.
func expectRefusals(t *testing.T, a adoption, why string, objs ...*unstructured.Unstructured) {
	t.Helper()
	for _, obj := range objs {
		o := a.object(t, keyOf(obj))
		expectContains(t, "the reason of "+obj.GetName(), strings.Join(o.Refusals, "\n"), why)
		if o.Action != report.ActionRefuse {
			t.Errorf("%s of %s: %s", o.Action, obj.GetName(), why)
		}
	}
}

// TestRepairCreatesJob creates a Job that is missing only with --allow=recreate: it runs again.
func TestRepairCreatesJob(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("shop", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate}\nspec: {template: {spec: {"+
		`restartPolicy: Never, containers: [{name: migrate, image: "example.com/migrate:1"}]}}}`)
	f.removeNow(job)
	without := f.repair("--yes", "--code", "FD101")
	expectSteps(t, without, 1, allOf("Refuse", job))
	expectRefusals(t, without, "--allow=recreate", job)
	command := commandWith(f.audit(), "FD101", keyOf(job), " repair ")
	f.shell(command)
	if image := containerImage(t, f.get(job)); image != "example.com/migrate:1" {
		t.Errorf("the Job has the image %s", image)
	}
	f.removeNow(job)
}

// TestRepairRemoves deletes what is left over, a Secret too, and creates it again, except for the Secret.
func TestRepairRemoves(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("shop", theme+"\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, "+keep+"}, "+
		"data: {a: b}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: kept, "+keep+"}, "+
		"stringData: {a: planted-value}}\n")
	b.upgrade(theme + "\n---\n{apiVersion: v1, kind: Secret, metadata: {name: other}, stringData: {a: b}}")
	left := []*unstructured.Unstructured{configMap("kept"), object("v1", "Secret", apps, "kept")}
	before := f.getAll(left...)
	without := f.repair("--yes", "--code", "FD105")
	expectSteps(t, without, 1, allOf("Refuse", left...))
	expectRefusals(t, without, "--allow=delete", left...)
	f.expectUnchanged(before...)

	done := f.repair("--yes", "--code", "FD105", "--allow", "delete")
	expectSteps(t, done, 0, allOf("Remove Done", left...))
	for _, obj := range left {
		f.expectGone(obj)
	}
	expect(t, f.audit(), outcome{Status: 0, Deployments: map[string]string{"shop": "Ready"}})

	want := allOf("Create Done", left...)
	want["secret apps/kept"] = "None"
	expectSteps(t, f.repair("--yes", "--undo", done.receipt), 0, want)
	f.expectContent("after the undo", before[0])
	f.expectGone(left[1])
}

func (f *fleetServer) expectGone(obj *unstructured.Unstructured) {
	f.t.Helper()
	err := f.Client().Get(f.t.Context(), client.ObjectKeyFromObject(obj), obj.DeepCopy())
	if !apierrors.IsNotFound(err) {
		f.t.Errorf("%s %s exists: %v", obj.GetKind(), obj.GetName(), err)
	}
}

// TestRepairRefuses has objects for which a step would not hold, or would take what is not the bundle's.
func TestRepairRefuses(t *testing.T) {
	t.Run("two bundles desire it", func(t *testing.T) {
		f := newFleet(t, shared)
		f.deploy("shop", guestbook)
		f.deploy("other", theme)
		b := f.bundle("third", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {colour: green}}")
		b.options.TakeOwnership = true
		b.deploy()
		f.remove(configMap("settings"))
		done := f.repair("--yes", "--code", "FD101", "--code", "FD104")
		for _, o := range done.document.Objects {
			if o.Name == "settings" && o.Action != report.ActionRefuse {
				t.Errorf("%s of bundle deployment %s", o.Action, o.BundleDeployment)
			}
		}
		expectRefusals(t, done, "2 bundles desire it", configMap("settings"))
		f.expectGone(configMap("settings"))
	})
	t.Run("it is being deleted", func(t *testing.T) {
		f := newFleet(t, shared)
		f.deploy("shop", guestbook)
		f.merge("wait", configMap("settings"),
			`{"metadata":{"finalizers":["example.com/wait"]},"data":{"colour":"red"}}`)
		t.Cleanup(func() { f.removeFinalizers(configMap("settings")) })
		f.remove(configMap("settings"))
		before := f.get(configMap("settings"))
		done := f.repair("--yes", "--allow", "recreate")
		for _, o := range done.document.Objects {
			if o.Action != report.ActionRefuse {
				t.Errorf("%s: %+v", o.Action, o)
			}
		}
		f.expectUnchanged(before)
	})
	t.Run("an autoscaler writes it", func(t *testing.T) {
		f := newFleet(t, shared)
		f.deploy("shop", web)
		f.ApplyYAML(t, "kubectl", autoscaler)
		f.scale("someone", "web", 9) // outside of its range
		before := f.get(deployment("web"))
		done := f.repair("--yes")
		expectSteps(t, done, 1, map[string]string{webKey: "Refuse"})
		expectRefusals(t, done, "autoscaler", deployment("web"))
		f.expectUnchanged(before)
	})
	t.Run("no record confirms it", func(t *testing.T) {
		f := newFleet(t, shared)
		b := f.bundle("forged", theme)
		b.options.AgentNamespace = "tenant"
		f.InstallRelease(t, b.options)
		f.remove(configMap("theme"))
		done := f.repair("--yes")
		if done.document != nil && done.document.Summary.Change > 0 {
			t.Errorf("%+v", done.document.Objects)
		}
		f.expectGone(configMap("theme"))
	})
	t.Run("a kind that is never deleted", func(t *testing.T) {
		f := newFleet(t, shared)
		const name = "gears.shop.example.com"
		ctx := context.WithoutCancel(t.Context())
		t.Cleanup(func() {
			if err := f.undefine(ctx, name); err != nil {
				t.Error(err)
			}
		})
		b := f.deploy("shop", theme+"\n---"+strings.NewReplacer("widgets", "gears", "kind: Widget", "kind: Gear",
			"singular: widget", "singular: gear").Replace(gears))
		b.upgrade(theme)
		r := f.audit()
		crd := "customresourcedefinition " + name
		if command := commandWith(r, "FD105", crd, " delete "); command == "" || commandWith(r, "FD105", crd,
			" repair ") != "" {
			t.Errorf("the commands about %s: %q\n%s", crd, command, r.stdout)
		}
		if done := f.repair("--yes", "--allow", "delete"); done.document.Summary.Change > 0 {
			t.Errorf("%+v", done.document.Objects)
		}
	})
}

// TestRepairTakesFields repairs a release that Helm refuses to upgrade: another manager wrote a field that Fleet does
// not compare. The object is restored, the agent is asked to deploy again, and Helm's next upgrade succeeds.
func TestRepairTakesFields(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	service := object("v1", "Service", apps, "frontend")
	right := f.get(service)
	f.merge("someone", service, `{"spec":{"selector":{"added":"by-hand"}}}`)
	changed := f.get(service)
	expectReady(t, f, "with a field that Fleet does not compare")

	next := b.options
	next.Manifest = strings.Replace(next.Manifest, "selector: {app: guestbook}", "selector: {app: other}", 1)
	_, err := f.Upgrade(t.Context(), next)
	if err == nil {
		t.Fatal("Helm takes the field")
	}
	expectContains(t, "Helm's error", err.Error(), `conflict with "someone"`)
	bd := object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, b.name)
	f.merge(controller, bd, `{"spec":{"deploymentID":"s-2:1"}}`)
	failed, _ := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": "Deployed", "status": "False", "message": err.Error()}}}})
	f.merge(controller, bd, string(failed), "status")

	f.expectContent("audited", changed)
	done := f.repair("--yes")
	expectSteps(t, done, 1, map[string]string{keyOf(service): "Restore Done", keyOf(bd): "Refuse"})
	f.expectContent("restored", right)
	expectSteps(t, f.repair("--yes", "--undo", done.receipt), 0, map[string]string{keyOf(service): "Restore Done"})
	f.expectContent("after the undo", changed)
	f.shell(commandWith(f.audit(), "FD604", keyOf(bd), " repair "))
	f.expectContent("restored again", right)
	if _, err := f.Upgrade(t.Context(), next); err != nil {
		t.Errorf("after the repair: %v", err)
	}
}
