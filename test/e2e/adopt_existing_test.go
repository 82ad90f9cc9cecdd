// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// reader is a cluster-scoped object, which Fleet labels like any other.
const reader = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: e2e-reader}, " +
	"rules: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]}"

func clusterRole() *unstructured.Unstructured {
	return object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "e2e-reader")
}

// recreateByHand replaces an object of a release by one that was created with client-side kubectl apply.
func (f *fleetServer) recreateByHand(obj *unstructured.Unstructured, document string) {
	f.t.Helper()
	f.remove(obj)
	f.ApplyYAML(f.t, "kubectl", document)
	lastApplied := `{"apiVersion":"v1","kind":"` + obj.GetKind() + `"}`
	f.merge("kubectl-client-side-apply", obj, fmt.Sprintf(
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q}}}`, lastApplied))
}

// TestAdoptExistingObjects adopts existing objects that the bundle does not own, in each way that is known from
// running clusters (docs/fleet-behavior.md, 1.7).
func TestAdoptExistingObjects(t *testing.T) {
	gone := ownership.Metadata{SetID: "default-gone", Hash: fleet.Hash("default-gone"), ManagedBy: "Helm",
		ReleaseName: "gone", ReleaseNamespace: apps}.Values()
	const settingsByHand = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: apps, labels: " +
		"{app: guestbook, mine: \"1\"}}, " +
		"data: {colour: blue, size: large, extra: more}, binaryData: {b: AAECAw==}, immutable: true}"
	for name, test := range map[string]struct {
		manifest string
		object   *unstructured.Unstructured
		change   func(*bundle)
		expected string // action and situation
	}{
		"created by hand over the installed release": {
			manifest: guestbook, object: configMap("settings"), expected: "Adopt NoMark",
			change: func(b *bundle) { b.recreateByHand(configMap("settings"), settingsByHand) },
		},
		"takeOwnership, with Helm's metadata only": {
			manifest: guestbook, object: configMap("settings"), expected: "Adopt OwnRelease",
			change: func(b *bundle) {
				b.setOwnership(configMap("settings"), ownership.Metadata{ManagedBy: "Helm", ReleaseName: "guestbook",
					ReleaseNamespace: apps}.Values())
			},
		},
		"a custom resource that no write changed": {
			manifest: widget, object: object("example.com/v1", "Widget", apps, "one"), expected: "Adopt NoMark",
			change: func(b *bundle) {
				b.recreateByHand(object("example.com/v1", "Widget", apps, "one"),
					"{apiVersion: example.com/v1, kind: Widget, metadata: {name: one, namespace: apps}, spec: {rules: "+
						"[{name: mine, port: 1}]}}")
			},
		},
		"a cluster-scoped object of a deleted set": {
			manifest: reader, object: clusterRole(), expected: "Adopt UnknownHash",
			change: func(b *bundle) { b.setOwnership(clusterRole(), gone) },
		},
		"an object of a deleted release": {
			manifest: guestbook, object: configMap("settings"), expected: "Adopt UnknownHash",
			change: func(b *bundle) { b.setOwnership(configMap("settings"), gone) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			if test.manifest == widget {
				f.define(widgets, "widgets.example.com")
			}
			b := f.deploy("guestbook", test.manifest)
			f.removeAtEnd(clusterRole())
			test.change(b)
			before := f.get(test.object)
			ref := fmt.Sprintf("%s/%s", strings.ToLower(test.object.GetKind()), test.object.GetName())
			a := f.adopt("--yes", ref)
			if len(a.document.Objects) != 1 || a.status != 0 {
				t.Fatalf("status %d, objects %+v: %s", a.status, a.document.Objects, a.stderr)
			}
			if o := a.document.Objects[0]; string(o.Action)+" "+o.Situation != test.expected || o.Outcome != "Done" {
				t.Errorf("%s %s %s, want %s", o.Action, o.Situation, o.Outcome, test.expected)
			}
			f.expectOnlyOwnership(b.ownership(), before)
			if got := f.audit("--server-check", "never"); len(outcomeOf(got).Objects) > 0 {
				t.Errorf("not ready after it was adopted: %v", outcomeOf(got).Objects)
			}
			if u := f.undo(a.receipt); u.status != 0 {
				t.Errorf("the undo failed: status %d, %s, %+v", u.status, u.stderr, u.document.Objects)
			}
			f.expectRestored(before)
		})
	}
}

// TestTakeFromExistingOwner adopts an object of another bundle that desires it too.
func TestTakeFromExistingOwner(t *testing.T) {
	f := newFleet(t, shared)
	f.removeAtEnd(clusterRole())
	first := f.deploy("first", reader)
	second := f.bundle("second", reader)
	second.options.TakeOwnership = true
	second.deploy()
	before := f.get(clusterRole())
	const key = "clusterrole e2e-reader"

	a := f.adopt("--yes")
	expectAdoption(t, a, 1, map[string]string{key: "Refuse KnownHash"})
	expectContains(t, "the refusal", a.object(t, key).Refusals[0], second.key(), "--dangerous-take-from="+second.key())
	f.expectUnchanged(before)

	a = f.adopt("--yes", "--dangerous-take-from", second.key(), "bundle/first")
	expectAdoption(t, a, 0, map[string]string{key: "Adopt KnownHash Done"})
	expectContains(t, "the effect", a.object(t, key).Effects[0], second.key()+" loses it")
	f.expectOnlyOwnership(first.ownership(), before)
	r := f.audit()
	if got := outcomeOf(r).Deployments; got["first"] != "Ready" || got["second"] != "Modified" {
		t.Errorf("deployments: %v", got)
	}
	refused := f.undo(a.receipt)
	expectAdoption(t, refused, 1, map[string]string{key: "Refuse"})
	expectContains(t, "the refusal", refused.object(t, key).Refusals[0], "before the adoption", second.key())
	expectAdoption(t, f.undo(a.receipt, "--dangerous-take-from", second.key()), 0,
		map[string]string{key: "Restore Done"})
	f.expectRestored(before)

	f.removeOwnership(clusterRole()) // no owner now, and desired by both
	expectAdoption(t, f.adopt("--yes", "bundle/first"), 1, map[string]string{key: "Refuse Contested"})
}

// TestNeverAdopted asks for objects that no policy takes.
func TestNeverAdopted(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.removeOwnership(configMap("settings"), configMap("texts"))
	f.merge("wait", configMap("settings"), `{"metadata":{"finalizers":["example.com/wait"]}}`)
	t.Cleanup(func() { f.removeFinalizers(configMap("settings")) })
	f.remove(configMap("settings"))
	frontend := f.get(object("v1", "Service", apps, "frontend"))
	f.merge("controller", configMap("texts"), fmt.Sprintf(`{"metadata":{"ownerReferences":[
		{"apiVersion":"v1","kind":"Service","name":"frontend","uid":%q,"controller":true}]}}`, frontend.GetUID()))
	before := f.getAll(configMap("settings"), configMap("texts"))
	a := f.adopt("--yes")
	expectAdoption(t, a, 1, map[string]string{settings: "Refuse NoMark", "configmap apps/texts": "Refuse NoMark"})
	expectContains(t, "the refusals", a.object(t, settings).Refusals[0], "being deleted")
	expectContains(t, "the refusals", a.object(t, "configmap apps/texts").Refusals[0], "controlled by Service frontend")
	f.expectUnchanged(before...)
}

// TestNamedObjects names objects: ready ones and absent ones need no change, and an object that no bundle desires
// is an error.
func TestNamedObjects(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.remove(configMap("texts"))
	a := f.adopt("--yes", "configmap/settings", "cm/apps/texts", "svc/frontend")
	expectAdoption(t, a, 0, map[string]string{settings: "None", "configmap apps/texts": "None",
		"service apps/frontend": "None"})
	expectContains(t, "the message of the absent one", a.object(t, "configmap apps/texts").Message, "does not exist")
	expectContains(t, "the message of the owned one", a.object(t, settings).Message, "already")
	a = f.adopt("--yes", "configmap/settings", "deployment/undesired")
	if a.status != 3 || a.stdout != "" {
		t.Errorf("status %d: %s", a.status, a.stdout)
	}
	expectContains(t, "stderr", a.stderr, "no bundle in scope desires deployment/undesired")
}

// TestHelmAfterAdoption has Helm upgrade the release after the adoption, with client-side apply (before Fleet
// 0.15) and with server-side apply.
func TestHelmAfterAdoption(t *testing.T) {
	for name, clientSide := range map[string]bool{"client-side": true, "server-side": false} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			b := f.bundle("guestbook", guestbook)
			b.options.ClientSideApply = clientSide
			b.deploy()
			f.remove(configMap("texts"))
			f.ApplyYAML(t, "kubectl",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: texts, namespace: apps}, data: {greeting: hello}}")
			f.removeOwnership(configMap("settings"), object("v1", "Service", apps, "frontend"))
			a := f.adopt("--yes")
			if a.status != 0 || a.document.Summary.Done != 3 {
				t.Fatalf("status %d, summary %+v: %s", a.status, a.document.Summary, a.stderr)
			}
			b.upgrade(strings.NewReplacer("colour: blue", "colour: green", "port: 80", "port: 81").Replace(guestbook))
			expect(t, f.audit(), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
			if got, _, _ := unstructured.NestedString(f.get(configMap("settings")).Object, "data",
				"colour"); got != "green" {
				t.Errorf("after the upgrade the colour is %q", got)
			}
			// The undo works, and a note says that the next deploy writes the metadata again.
			undone := f.undo(a.receipt)
			if undone.status != 0 || undone.document.Summary.Done != 3 || len(undone.document.Notes) != 1 {
				t.Fatalf("undoing after the upgrade: status %d, notes %q: %s", undone.status, undone.document.Notes,
					undone.stderr)
			}
			expectContains(t, "the note", undone.document.Notes[0], b.key(), "next deploy")
		})
	}
}

// TestHelmInstallAfterAdoption has Helm install a release again. Helm refuses this for unowned objects and accepts
// it after the adoption. The record is deleted in between: only a release with a record can adopt.
func TestHelmInstallAfterAdoption(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.removeOwnership(configMap("settings"), configMap("texts"), object("v1", "Service", apps, "frontend"))
	record := f.get(b.record(1))
	f.remove(record)
	_, err := f.Install(t.Context(), b.options)
	if err == nil {
		t.Fatal("Helm installs over unowned objects")
	}
	expectContains(t, "Helm's error", err.Error(), "invalid ownership metadata")
	f.removeRecords(b)
	restore(t, f, record)
	if a := f.adopt("--yes"); a.status != 0 || a.document.Summary.Done != 3 {
		t.Fatalf("status %d: %s", a.status, a.stderr)
	}
	f.remove(record)
	if _, err := f.Install(t.Context(), b.options); err != nil {
		t.Errorf("after the adoption: %v", err)
	}
	expect(t, f.audit(), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
}

// restore creates an object again as it was read.
func restore(t *testing.T, f *fleetServer, obj *unstructured.Unstructured) {
	t.Helper()
	again := obj.DeepCopy()
	again.SetResourceVersion("")
	again.SetUID("")
	again.SetManagedFields(nil)
	if err := f.Client().Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
}

// TestNotInstalled has a bundle without a release record and without contents: its desired objects are not known,
// and nothing is adopted.
func TestNotInstalled(t *testing.T) {
	f := newFleet(t, shared)
	b := f.bundle("guestbook", guestbook)
	b.revision = 1
	b.report()
	f.ApplyYAML(t, "kubectl", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: apps}}")
	before := f.get(configMap("settings"))
	a := f.adopt("--yes")
	if a.status != 3 || a.stdout != "" {
		t.Errorf("status %d, want 3; printed %q", a.status, a.stdout)
	}
	expectContains(t, "stderr", a.stderr, "revision 1 of release apps/guestbook is no longer recorded")
	f.expectUnchanged(before)
}

// TestAdoptAfterRefusal adopts the objects because of which Helm refused to install a bundle. The agent does not try
// again by itself: adopt names the next step.
func TestAdoptAfterRefusal(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.removeOwnership(configMap("settings"))
	f.merge(controller, object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, b.name),
		`{"status":{"conditions":[{"type":"Installed","status":"False","message":"not installed: it exists"}]}}`,
		"status")
	a := f.adopt("--yes")
	if a.status != 0 || len(a.document.Deployments) != 1 {
		t.Fatalf("status %d: %+v", a.status, a.document)
	}
	got := a.document.Deployments[0]
	if want := "the last deploy failed: not installed: it exists"; got.Failed != want {
		t.Errorf("the failure is %q, want %q", got.Failed, want)
	}
	if len(got.Remedies) != 1 || !strings.Contains(got.Remedies[0].Command, `{"spec":{"forceSyncGeneration":1}}`) {
		t.Errorf("no step makes Fleet install it: %+v", got.Remedies)
	}
}
