// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// tenOfEleven is the predicted count of a bundle of eleven objects that lost one.
const tenOfEleven = "10/11"

// deployEleven deploys bundle eleven to namespace guarded.
func (f *fleetServer) deployEleven() (b *bundle, objs []*unstructured.Unstructured) {
	f.t.Helper()
	objs, manifest := configMaps(11)
	b = f.bundle("eleven", manifest)
	b.options.Namespace, b.options.ServiceAccount = "guarded", "deployer"
	for _, obj := range objs {
		obj.SetNamespace("guarded")
	}
	return b.deploy(), objs
}

// setGuardMode labels the namespace with a mode, and returns when the server and the webhook use it.
func (b *bundle) setGuardMode(mode string, probe *unstructured.Unstructured) {
	b.t.Helper()
	b.labelNamespace("guarded", map[string]string{"fleetdoctor.io/guard": mode})
	b.awaitGuardMode(mode, probe)
}

// awaitGuardMode tests a mode with dry runs: a deletion, which reaches the validating handler, and a removal of
// ownership metadata, which reaches the mutating handler first.
func (b *bundle) awaitGuardMode(mode string, probe *unstructured.Unstructured) {
	b.t.Helper()
	p := b.clientAs("")
	result := func(err error) string {
		warned := p.takeWarnings() != ""
		switch {
		case apierrors.IsForbidden(err):
			return "deny"
		case err != nil:
			return err.Error()
		case warned:
			return "warn"
		}
		return "off"
	}
	if mode == "" {
		mode = "warn"
	}
	poll.Until(b.t, func() error {
		deleted := result(p.Delete(b.t.Context(), probe.DeepCopy(), client.DryRunAll))
		stripped := result(p.patchOwnership(probe, noOwnership(), client.DryRunAll))
		if deleted != mode || stripped != mode {
			return fmt.Errorf("deletions: %s, removals: %s, want %s", deleted, stripped, mode)
		}
		return nil
	})
}

// violation is a change of an owned object that the webhook warns about or denies.
type violation struct {
	apply    func(*userClient, *unstructured.Unstructured) error
	contains []string
	// count is the predicted count; empty if the count stays.
	count string
	// code is the code of the warning.
	code admission.WarningCode
	// restored reports whether the metadata is restored if the request is not denied.
	restored bool
}

// violations are the changes that the webhook warns about or denies. other is another bundle that exists.
func violations(other *bundle) map[string]violation {
	write := func(keys map[string]any) func(*userClient, *unstructured.Unstructured) error {
		return func(p *userClient, obj *unstructured.Unstructured) error { return p.patchOwnership(obj, keys) }
	}
	const owned = "bundle eleven"
	return map[string]violation{
		"remove all": {write(noOwnership()), []string{owned, fleet.HashLabel}, tenOfEleven, admission.WarnStripped,
			true},
		"remove every label": {func(p *userClient, obj *unstructured.Unstructured) error {
			return p.patch(obj, `{"metadata":{"labels":null,"annotations":null}}`)
		}, []string{owned, fleet.HashLabel}, tenOfEleven, admission.WarnStripped, true},
		"remove the hash": {write(map[string]any{fleet.HashLabel: nil}), []string{owned, fleet.HashLabel},
			tenOfEleven, admission.WarnStripped, true},
		"remove the id": {write(map[string]any{fleet.IDAnnotation: nil}), []string{owned, fleet.IDAnnotation}, "",
			admission.WarnStripped, true},
		"remove Helm's name": {write(map[string]any{fleet.ReleaseNameAnnotation: nil}),
			[]string{owned, fleet.ReleaseNameAnnotation}, "", admission.WarnStripped, false},
		"change Helm's label": {write(map[string]any{fleet.ManagedByLabel: "kustomize"}),
			[]string{owned, fleet.ManagedByLabel}, "", admission.WarnChanged, false},
		"change the hash": {write(map[string]any{fleet.HashLabel: fleet.Hash("default-gone")}),
			[]string{owned, fleet.HashLabel}, tenOfEleven, admission.WarnChanged, true},
		"change the owner": {write(anyValues(other.ownership())), []string{owned, fleet.HashLabel}, tenOfEleven,
			admission.WarnChanged, false},
		"delete": {func(p *userClient, obj *unstructured.Unstructured) error {
			return p.Delete(p.t.Context(), obj.DeepCopy())
		},
			[]string{owned}, tenOfEleven, admission.WarnDeleted, false},
		"delete a collection": {func(p *userClient, obj *unstructured.Unstructured) error {
			return p.DeleteAllOf(p.t.Context(), obj.DeepCopy(), client.InNamespace(obj.GetNamespace()),
				client.MatchingFields{"metadata.name": obj.GetName()})
		}, []string{owned}, tenOfEleven, admission.WarnDeleted, false},
	}
}

func anyValues(metadata map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range metadata {
		out[k] = v
	}
	return out
}

// countWarnings counts the warnings with one of these codes.
func countWarnings(warnings string, codes ...admission.WarningCode) int {
	n := 0
	for line := range strings.Lines(warnings) {
		if w := admission.ParseWarning(strings.TrimSpace(line)); slices.Contains(codes, w.Code) {
			n++
		}
	}
	return n
}

// TestWebhookGuardModes makes each violation under each mode.
func TestWebhookGuardModes(t *testing.T) {
	f := newFleet(t, shared)
	b, objs := f.deployEleven()
	other := f.deploy("other", theme)
	f.serveWebhook("default")
	whole, victim := map[string]*unstructured.Unstructured{}, objs[0]
	for _, obj := range f.getAll(objs...) {
		whole[obj.GetName()] = withoutServerFields(obj)
	}
	agent := f.clientAs(account(agentNamespace, "fleet-agent"))
	for _, mode := range []string{"", "off", "warn", "deny"} {
		t.Run("mode "+mode, func(t *testing.T) {
			b.setGuardMode(mode, objs[1])
			for name, violation := range violations(other) {
				t.Run(name, func(t *testing.T) {
					agent.must("deleting it", client.IgnoreNotFound(agent.Delete(t.Context(), victim.DeepCopy())))
					agent.must("creating it again", agent.Create(t.Context(), whole[victim.GetName()].DeepCopy()))
					testViolation(t, b, mode, violation, victim)
				})
			}
			admin := f.clientAs("")
			admin.must("changing data", admin.patch(objs[2], `{"data":{"number":"`+mode+`1"}}`))
			if got := admin.takeWarnings(); got != "" {
				t.Errorf("a write that does no violation: warnings %s", got)
			}
		})
	}
	if got := agent.takeWarnings(); got != "" {
		t.Errorf("Fleet got warnings: %s", got)
	}
}

// testViolation makes a violation as administrator.
func testViolation(t *testing.T, b *bundle, mode string, violation violation, obj *unstructured.Unstructured) {
	t.Helper()
	admin, before := b.clientAs(""), b.get(obj)
	err := violation.apply(admin, obj)
	warnings := admin.takeWarnings()
	if text := fmt.Sprint(warnings, err); violation.count == "" && strings.Contains(text, tenOfEleven) {
		t.Errorf("a predicted count although the count stays: %s", text)
	}
	switch mode {
	case "deny":
		if !apierrors.IsForbidden(err) {
			t.Fatalf("the request is not denied: %v", err)
		}
		expectContains(t, "the refusal", err.Error(), append(violation.contains, violation.count,
			admission.IgnoreLabel+"=true")...)
		b.expectUnchanged(before)
		return
	case "off":
		if strings.Contains(warnings, "fleetdoctor/"+string(violation.code)) {
			t.Errorf("warnings: %s", warnings)
		}
	default:
		expectContains(t, "the warning", warnings, append(violation.contains, violation.count,
			"fleetdoctor/"+string(violation.code))...)
	}
	if err != nil {
		t.Fatal(err)
	}
	live := object(obj.GetAPIVersion(), obj.GetKind(), obj.GetNamespace(), obj.GetName())
	err = b.Client().Get(t.Context(), client.ObjectKeyFromObject(live), live)
	switch {
	case violation.restored && err != nil:
		t.Fatal(err)
	case violation.restored:
		if err := compareOwnership(b.ownership(), live); err != nil {
			t.Error(err)
		}
		if restored := strings.Contains(warnings, "fleetdoctor/Restored"); restored != (mode != "off") {
			t.Errorf("warnings: %s", warnings)
		}
	case err == nil && compareOwnership(b.ownership(), live) == nil:
		t.Error("the request changed nothing")
	}
}

// TestWebhookGuardClusterScoped changes a cluster-scoped object: its own label sets the mode, and without it the
// flag does.
func TestWebhookGuardClusterScoped(t *testing.T) {
	for _, fallback := range []string{"off", "warn", "deny"} {
		t.Run("default "+fallback, func(t *testing.T) {
			f := newFleet(t, shared)
			f.removeAtEnd(clusterRole())
			b := f.deploy("eleven", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: e2e-reader}
rules: []
`)
			f.serveWebhook("default", "--guard-default="+fallback)
			for _, label := range []string{"off", "warn", "deny", "invalid mode", ""} {
				mode := label
				if label == "" || label == "invalid mode" {
					mode = fallback
				}
				value := `null`
				if label != "" {
					value = fmt.Sprintf("%q", strings.ReplaceAll(label, " ", "-"))
				}
				f.merge("admin", clusterRole(), `{"metadata":{"labels":{"fleetdoctor.io/guard":`+value+`}}}`)
				t.Run("label "+label, func(t *testing.T) { testClusterScoped(t, b, mode, label == "invalid mode") })
			}
		})
	}
}

func testClusterScoped(t *testing.T, b *bundle, mode string, invalid bool) {
	t.Helper()
	admin := b.clientAs("")
	for name, err := range map[string]error{
		"delete": admin.Delete(t.Context(), clusterRole(), client.DryRunAll),
		"remove Helm's name": admin.patchOwnership(clusterRole(), map[string]any{fleet.ReleaseNameAnnotation: nil},
			client.DryRunAll),
		"remove all": admin.patchOwnership(clusterRole(), noOwnership(), client.DryRunAll),
		"remove the hash and change the mode": admin.patch(clusterRole(),
			`{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null,"fleetdoctor.io/guard":"off"}}}`,
			client.DryRunAll),
	} {
		if apierrors.IsForbidden(err) != (mode == "deny") || err != nil && mode != "deny" {
			t.Errorf("%s under %s: %v", name, mode, err)
		}
	}
	warnings := admin.takeWarnings()
	if got := countWarnings(warnings, admission.WarnStripped,
		admission.WarnDeleted); got != map[string]int{"warn": 4}[mode] {
		t.Errorf("%d warnings under %s: %s", got, mode, warnings)
	}
	if invalid && mode != "off" {
		expectContains(t, "the note", warnings, "fleetdoctor/InvalidGuardMode", `"invalid-mode"`)
	}
	if mode == "warn" {
		expectContains(t, "the warning", warnings, "bundle eleven", "0/1")
	}
	b.expectOwnership(b.ownership(), clusterRole())
}

// TestWebhookGuardNamespace changes a Namespace that a bundle desires: its labels set its own mode.
func TestWebhookGuardNamespace(t *testing.T) {
	f := newFleet(t, shared)
	team := object("v1", "Namespace", "", "e2e-team")
	f.finalizeAtEnd(team)
	b := f.deploy("eleven", "{apiVersion: v1, kind: Namespace, metadata: {name: e2e-team}}")
	f.serveWebhook("default")
	admin := f.clientAs("")
	for _, mode := range []string{"warn", "deny", "off"} {
		admin.must("labelling it", admin.patch(team, `{"metadata":{"labels":{"fleetdoctor.io/guard":"`+mode+`"}}}`))
		warnings := admin.takeWarnings()
		if warnings != "" {
			t.Errorf("warnings about a label: %s", warnings)
		}
		for name, err := range map[string]error{
			"delete":     admin.Delete(t.Context(), team.DeepCopy(), client.DryRunAll),
			"remove all": admin.patchOwnership(team, noOwnership(), client.DryRunAll),
		} {
			if apierrors.IsForbidden(err) != (mode == "deny") || err != nil && mode != "deny" {
				t.Errorf("%s under %s: %v", name, mode, err)
			}
		}
		if got := countWarnings(admin.takeWarnings(), admission.WarnStripped,
			admission.WarnDeleted); got != map[string]int{"warn": 2}[mode] {
			t.Errorf("%d warnings under %s", got, mode)
		}
	}
	admin.must("removing the metadata", admin.patchOwnership(team, noOwnership()))
	f.expectOwnership(b.ownership(), team)
}

// finalizeAtEnd deletes a namespace when the test ends, as the namespace controller does.
func (f *fleetServer) finalizeAtEnd(ns *unstructured.Unstructured) {
	ctx := context.WithoutCancel(f.t.Context())
	f.t.Cleanup(func() {
		live := ns.DeepCopy()
		err := errors.Join(f.Client().Delete(ctx, ns.DeepCopy()), f.Client().Get(ctx, client.ObjectKeyFromObject(ns),
			live))
		unstructured.RemoveNestedField(live.Object, "spec", "finalizers")
		if err = errors.Join(err, f.Client().SubResource("finalize").Update(ctx, live)); err != nil {
			f.t.Errorf("deleting namespace %s: %v", ns.GetName(), err)
		}
	})
}

// TestWebhookGuardUsers makes violations under deny as each user who may, and as users with similar names.
func TestWebhookGuardUsers(t *testing.T) {
	f := newFleet(t, shared)
	b, objs := f.deployEleven()
	f.serveWebhook("default")
	b.setGuardMode("deny", objs[0])
	const kube = "kube-system"
	may := map[string]bool{
		account(agentNamespace, "fleet-agent"): true, account(agentNamespace, "fleet-default"): true,
		account(agentNamespace, "deployer"):        true,
		account(kube, "generic-garbage-collector"): true, account(kube, "namespace-controller"): true,
		"system:kube-controller-manager": true,
		account(apps, "fleet-agent"):     false, account("guarded", "fleet-default"): false,
		account(apps, "deployer"): false, account("guarded", "deployer"): false,
		account(agentNamespace, "default"): false, account(agentNamespace, ""): false,
		account(kube, "job-controller"):       false,
		account(apps, "namespace-controller"): false, "fleet-agent": false, "system:admin": false, "": false,
	}
	for name, want := range may {
		t.Run(strings.ReplaceAll("as "+name, ":", " "), func(t *testing.T) {
			t.Parallel() // a denied request waits for a record that may arrive late
			p := f.clientAs(name)
			for what, err := range map[string]error{
				"delete": p.Delete(t.Context(), objs[0].DeepCopy(), client.DryRunAll),
				"delete all": p.DeleteAllOf(t.Context(), objs[0].DeepCopy(), client.InNamespace("guarded"),
					&client.DeleteAllOfOptions{DeleteOptions: client.DeleteOptions{DryRun: []string{"All"}}}),
				"remove all": p.patchOwnership(objs[0], noOwnership(), client.DryRunAll),
				"change Helm's label": p.patchOwnership(objs[0], map[string]any{fleet.ManagedByLabel: "me"},
					client.DryRunAll),
				"change everything": p.patchOwnership(objs[0],
					map[string]any{fleet.HashLabel: fleet.Hash("default-gone"), fleet.IDAnnotation: "default-gone"},
					client.DryRunAll),
			} {
				if (err == nil) != want || err != nil && !apierrors.IsForbidden(err) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if warnings := p.takeWarnings(); warnings != "" {
				t.Errorf("warnings: %s", warnings)
			}
		})
	}
}

// TestWebhookUpgradeUnderDeny has Helm upgrade a release under deny: one object is removed, one changes, one is
// new. Fleet's users may do this; for another user the removed object stays.
func TestWebhookUpgradeUnderDeny(t *testing.T) {
	f := newFleet(t, shared)
	_, objs := f.deployEleven()
	first := f.bundles[0]
	f.serveWebhook("default")
	first.setGuardMode("deny", objs[0])
	manifest := func(data map[string]string) string {
		var out strings.Builder
		for name, value := range data {
			fmt.Fprintf(&out, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {value: %q}}\n", name,
				value)
		}
		return out.String()
	}
	for name, user := range map[string]string{"agent": account(agentNamespace, "fleet-agent"),
		"default":  account(agentNamespace, "fleet-default"),
		"deployer": account(agentNamespace, "deployer"), "other-user": account(apps, "fleet-agent")} {
		t.Run(name, func(t *testing.T) {
			key := func(part string) string { return name + "-" + part }
			of := func(part string) *unstructured.Unstructured {
				return object("v1", "ConfigMap", "guarded", key(part))
			}
			b := f.bundle(name, manifest(map[string]string{key("goes"): "1", key("changes"): "1", key("stays"): "1"}))
			b.options.Namespace, b.options.ServiceAccount, b.options.User = "guarded", "deployer", user
			b.deploy()
			b.awaitGuardMode("deny", of("goes")) // the index has the release
			b.options.Manifest = manifest(map[string]string{key("changes"): "2", key("stays"): "1", key("new"): "1"})
			_, err := f.Upgrade(t.Context(), b.options)
			gone := apierrors.IsNotFound(f.Client().Get(t.Context(), client.ObjectKeyFromObject(of("goes")),
				of("goes")))
			if name == "other-user" {
				if gone || err == nil {
					t.Fatalf("upgrading: %v; object removed: %v", err, gone)
				}
				expectContains(t, "Helm's error", err.Error(), "bundle other-user", "2/3")
				return
			}
			if err != nil || !gone {
				t.Errorf("upgrading: %v; object removed: %v", err, gone)
			}
			f.expectOwnership(b.ownership(), of("changes"), of("stays"), of("new"))
			if value, _, err := unstructured.NestedString(f.get(of("changes")).Object, "data", "value"); value != "2" ||
				err != nil {
				t.Errorf("data is %q (%v), want 2", value, err)
			}
			if err := f.Uninstall(b.options); err != nil {
				t.Error(err)
			}
			for _, part := range []string{"changes", "stays", "new"} {
				if err := f.Client().Get(t.Context(), client.ObjectKeyFromObject(of(part)),
					of(part)); !apierrors.IsNotFound(err) {
					t.Errorf("%s after uninstalling: %v, want not found", part, err)
				}
			}
		})
	}
	f.expectOwnership(maps.Clone(first.ownership()), objs...)
}
