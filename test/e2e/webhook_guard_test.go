// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// ten is how Fleet will count a bundle of eleven objects that lost one.
const ten = "eleven will be at most 10/11"

// eleven deploys bundle eleven to namespace guarded.
func (f *fleetServer) eleven() (b *bundle, objs []*unstructured.Unstructured) {
	f.t.Helper()
	objs, manifest := configMaps(11)
	b = f.bundle("eleven", manifest)
	b.options.Namespace, b.options.ServiceAccount = "guarded", "deployer"
	for _, obj := range objs {
		obj.SetNamespace("guarded")
	}
	return b.deploy(), objs
}

// guarded gives the namespace a mode, and returns when it holds for the server, which asks the namespace's labels, and for the webhook.
func (b *bundle) guarded(mode string, probe *unstructured.Unstructured) {
	b.t.Helper()
	b.labelled("guarded", map[string]string{"fleetdoctor.io/guard": mode})
	b.awaitMode(mode, probe)
}

// awaitMode tries a mode by dry runs: a deletion, which the guard sees, and a strip, which the stamping sees before it.
func (b *bundle) awaitMode(mode string, probe *unstructured.Unstructured) {
	b.t.Helper()
	p := b.person("")
	does := func(err error) string {
		warned := p.told() != ""
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
		deleted := does(p.Delete(b.t.Context(), probe.DeepCopy(), client.DryRunAll))
		stripped := does(p.remark(probe, none(), client.DryRunAll))
		if deleted != mode || stripped != mode {
			return fmt.Errorf("deletions: %s, strips: %s, want %s", deleted, stripped, mode)
		}
		return nil
	})
}

// harm is something that somebody does to an owned object.
type harm struct {
	does func(*person, *unstructured.Unstructured) error
	says []string
	// code is that of the warning.
	code admission.WarningCode
	// kept says that the marks come back where it is not refused.
	kept bool
}

// harms are what a guard is for. other is another bundle that lives.
func harms(other *bundle) map[string]harm {
	write := func(keys map[string]any) func(*person, *unstructured.Unstructured) error {
		return func(p *person, obj *unstructured.Unstructured) error { return p.remark(obj, keys) }
	}
	const owned, hash = "is owned by bundle eleven", "label " + fleet.HashLabel
	return map[string]harm{
		"strip all": {write(none()), []string{owned, ten, "removes " + hash}, admission.WarnStripped, true},
		"strip every label": {func(p *person, obj *unstructured.Unstructured) error {
			return p.patch(obj, `{"metadata":{"labels":null,"annotations":null}}`)
		}, []string{owned, ten, "removes " + hash}, admission.WarnStripped, true},
		"strip the hash":   {write(map[string]any{fleet.HashLabel: nil}), []string{owned, ten, "removes " + hash}, admission.WarnStripped, true},
		"strip the id":     {write(map[string]any{fleet.IDAnnotation: nil}), []string{owned, "still counts the object"}, admission.WarnStripped, true},
		"strip Helm's":     {write(map[string]any{fleet.ReleaseNameAnnotation: nil}), []string{owned, "still counts the object", "removes"}, admission.WarnStripped, false},
		"change Helm's":    {write(map[string]any{fleet.ManagedByLabel: "kustomize"}), []string{owned, "still counts the object", "changes"}, admission.WarnChanged, false},
		"change the hash":  {write(map[string]any{fleet.HashLabel: fleet.Hash("default-gone")}), []string{owned, ten, "changes " + hash}, admission.WarnChanged, true},
		"give it to other": {write(toAny(other.stamps())), []string{owned, ten, "changes " + hash}, admission.WarnChanged, false},
		"delete": {func(p *person, obj *unstructured.Unstructured) error { return p.Delete(p.t.Context(), obj.DeepCopy()) },
			[]string{owned, ten, "as missing"}, admission.WarnDeleted, false},
		"delete with others": {func(p *person, obj *unstructured.Unstructured) error {
			return p.DeleteAllOf(p.t.Context(), obj.DeepCopy(), client.InNamespace(obj.GetNamespace()), client.MatchingFields{"metadata.name": obj.GetName()})
		}, []string{owned, ten, "as missing"}, admission.WarnDeleted, false},
	}
}

func toAny(stamps map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range stamps {
		out[k] = v
	}
	return out
}

// TestWebhookGuard does harm to a bundle of eleven under each mode.
func TestWebhookGuard(t *testing.T) {
	f := newFleet(t, shared)
	b, objs := f.eleven()
	other := f.deploy("other", theme)
	f.serveWebhook("default")
	whole, victim := map[string]*unstructured.Unstructured{}, objs[0]
	for _, obj := range f.getAll(objs...) {
		whole[obj.GetName()] = fresh(obj)
	}
	agent := f.person(account(agentNamespace, "fleet-agent"))
	for _, mode := range []string{"", "off", "warn", "deny"} {
		t.Run("mode "+mode, func(t *testing.T) {
			b.guarded(mode, objs[1])
			for name, harm := range harms(other) {
				t.Run(name, func(t *testing.T) {
					agent.must("deleting it", client.IgnoreNotFound(agent.Delete(t.Context(), victim.DeepCopy())))
					agent.must("making it anew", agent.Create(t.Context(), whole[victim.GetName()].DeepCopy()))
					testHarm(t, b, mode, harm, victim)
				})
			}
			admin := f.person("")
			admin.must("changing data", admin.patch(objs[2], `{"data":{"number":"`+mode+`1"}}`))
			if got := admin.told(); got != "" {
				t.Errorf("a write that does no harm: warnings %s", got)
			}
		})
	}
	if got := agent.told(); got != "" {
		t.Errorf("Fleet was warned: %s", got)
	}
}

// testHarm does harm under a mode. The administrator is as much somebody else as anyone.
func testHarm(t *testing.T, b *bundle, mode string, harm harm, obj *unstructured.Unstructured) {
	t.Helper()
	admin, before := b.person(""), b.get(obj)
	err := harm.does(admin, obj)
	told := admin.told()
	switch mode {
	case "deny":
		if !apierrors.IsForbidden(err) {
			t.Fatalf("it is not denied: %v", err)
		}
		says(t, "the refusal", err.Error(), append(harm.says, "To do it anyway")...)
		b.unchanged(before)
		return
	case "off":
		if strings.Contains(told, "fleetdoctor/"+string(harm.code)) {
			t.Errorf("warnings: %s", told)
		}
	default:
		says(t, "the warning", told, append(harm.says, "fleetdoctor/"+string(harm.code))...)
	}
	if err != nil {
		t.Fatal(err)
	}
	live := object(obj.GetAPIVersion(), obj.GetKind(), obj.GetNamespace(), obj.GetName())
	err = b.Client().Get(t.Context(), client.ObjectKeyFromObject(live), live)
	switch {
	case harm.kept && err != nil:
		t.Fatal(err)
	case harm.kept:
		if err := carry(b.stamps(), live); err != nil {
			t.Error(err)
		}
		if put := strings.Contains(told, "fleetdoctor/Restored"); put != (mode != "off") {
			t.Errorf("warnings: %s", told)
		}
	case err == nil && carry(b.stamps(), live) == nil:
		t.Error("nothing was done")
	}
}

// TestWebhookGuardClusterScoped does harm to what has no namespace: the object's own label says the mode, and else the flag.
func TestWebhookGuardClusterScoped(t *testing.T) {
	for _, fallback := range []string{"off", "warn", "deny"} {
		t.Run("default "+fallback, func(t *testing.T) {
			f := newFleet(t, shared)
			f.removeAtEnd(clusterRole())
			b := f.deploy("eleven", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: e2e-reader}, rules: []}")
			f.serveWebhook("default", "--guard-default="+fallback)
			for _, label := range []string{"off", "warn", "deny", "none of these", ""} {
				mode := label
				if label == "" || label == "none of these" {
					mode = fallback
				}
				value := `null`
				if label != "" {
					value = fmt.Sprintf("%q", strings.ReplaceAll(label, " ", "-"))
				}
				f.merge("admin", clusterRole(), `{"metadata":{"labels":{"fleetdoctor.io/guard":`+value+`}}}`)
				t.Run("label "+label, func(t *testing.T) { testScopeless(t, b, mode, label == "none of these") })
			}
		})
	}
}

func testScopeless(t *testing.T, b *bundle, mode string, noted bool) {
	t.Helper()
	admin := b.person("")
	for name, err := range map[string]error{
		"delete":       admin.Delete(t.Context(), clusterRole(), client.DryRunAll),
		"strip Helm's": admin.remark(clusterRole(), map[string]any{fleet.ReleaseNameAnnotation: nil}, client.DryRunAll),
		"strip":        admin.remark(clusterRole(), none(), client.DryRunAll),
		"strip, and change the mode": admin.patch(clusterRole(),
			`{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null,"fleetdoctor.io/guard":"off"}}}`, client.DryRunAll),
	} {
		if apierrors.IsForbidden(err) != (mode == "deny") || err != nil && mode != "deny" {
			t.Errorf("%s under %s: %v", name, mode, err)
		}
	}
	told := admin.told()
	if got := strings.Count(told, "is owned by bundle eleven"); got != map[string]int{"warn": 4}[mode] {
		t.Errorf("%d warnings under %s: %s", got, mode, told)
	}
	if noted && mode != "off" {
		says(t, "the note", told, "fleetdoctor/InvalidGuardMode", `"none-of-these"`)
	}
	if mode == "warn" {
		says(t, "the warning", told, "eleven will be at most 0/1")
	}
	b.carries(b.stamps(), clusterRole())
}

// TestWebhookGuardNamespace guards a Namespace that a bundle desires: it is the object, and its labels are the namespace's.
func TestWebhookGuardNamespace(t *testing.T) {
	f := newFleet(t, shared)
	team := object("v1", "Namespace", "", "e2e-team")
	f.finalizeAtEnd(team)
	b := f.deploy("eleven", "{apiVersion: v1, kind: Namespace, metadata: {name: e2e-team}}")
	f.serveWebhook("default")
	admin := f.person("")
	for _, mode := range []string{"warn", "deny", "off"} {
		admin.must("labelling it", admin.patch(team, `{"metadata":{"labels":{"fleetdoctor.io/guard":"`+mode+`"}}}`))
		told := admin.told()
		if told != "" {
			t.Errorf("warnings of a label: %s", told)
		}
		for name, err := range map[string]error{
			"delete": admin.Delete(t.Context(), team.DeepCopy(), client.DryRunAll),
			"strip":  admin.remark(team, none(), client.DryRunAll),
		} {
			if apierrors.IsForbidden(err) != (mode == "deny") || err != nil && mode != "deny" {
				t.Errorf("%s under %s: %v", name, mode, err)
			}
		}
		if got := strings.Count(admin.told(), "eleven will be at most 0/1"); got != map[string]int{"warn": 2}[mode] {
			t.Errorf("%d warnings under %s", got, mode)
		}
	}
	admin.must("stripping it", admin.remark(team, none()))
	f.carries(b.stamps(), team)
}

// finalizeAtEnd deletes a namespace when the test ends, and does the namespace controller's work.
func (f *fleetServer) finalizeAtEnd(ns *unstructured.Unstructured) {
	ctx := context.WithoutCancel(f.t.Context())
	f.t.Cleanup(func() {
		live := ns.DeepCopy()
		err := errors.Join(f.Client().Delete(ctx, ns.DeepCopy()), f.Client().Get(ctx, client.ObjectKeyFromObject(ns), live))
		unstructured.RemoveNestedField(live.Object, "spec", "finalizers")
		if err = errors.Join(err, f.Client().SubResource("finalize").Update(ctx, live)); err != nil {
			f.t.Errorf("deleting namespace %s: %v", ns.GetName(), err)
		}
	})
}

// TestWebhookGuardKnowsFleet does harm in a guarded namespace as each of those who may, and as some who are called alike.
func TestWebhookGuardKnowsFleet(t *testing.T) {
	f := newFleet(t, shared)
	b, objs := f.eleven()
	f.serveWebhook("default")
	b.guarded("deny", objs[0])
	const kube = "kube-system"
	may := map[string]bool{
		account(agentNamespace, "fleet-agent"): true, account(agentNamespace, "fleet-default"): true, account(agentNamespace, "deployer"): true,
		account(kube, "generic-garbage-collector"): true, account(kube, "namespace-controller"): true, "system:kube-controller-manager": true,
		account(apps, "fleet-agent"): false, account("guarded", "fleet-default"): false, account(apps, "deployer"): false, account("guarded", "deployer"): false,
		account(agentNamespace, "default"): false, account(agentNamespace, ""): false, account(kube, "job-controller"): false,
		account(apps, "namespace-controller"): false, "fleet-agent": false, "system:admin": false, "": false,
	}
	for name, want := range may {
		t.Run(strings.ReplaceAll("as "+name, ":", " "), func(t *testing.T) {
			t.Parallel() // a refusal waits for a record that may be late
			p := f.person(name)
			for what, err := range map[string]error{
				"delete":            p.Delete(t.Context(), objs[0].DeepCopy(), client.DryRunAll),
				"delete all":        p.DeleteAllOf(t.Context(), objs[0].DeepCopy(), client.InNamespace("guarded"), &client.DeleteAllOfOptions{DeleteOptions: client.DeleteOptions{DryRun: []string{"All"}}}),
				"strip":             p.remark(objs[0], none(), client.DryRunAll),
				"change Helm's":     p.remark(objs[0], map[string]any{fleet.ManagedByLabel: "me"}, client.DryRunAll),
				"change everything": p.remark(objs[0], map[string]any{fleet.HashLabel: fleet.Hash("default-gone"), fleet.IDAnnotation: "default-gone"}, client.DryRunAll),
			} {
				if (err == nil) != want || err != nil && !apierrors.IsForbidden(err) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if told := p.told(); told != "" {
				t.Errorf("warnings: %s", told)
			}
		})
	}
}

// TestWebhookUpgradeUnderDeny upgrades a release by Helm in a guarded namespace: one object goes, one changes, one is new. Fleet does all of
// that; of somebody else's upgrade the object that was to go is still there.
func TestWebhookUpgradeUnderDeny(t *testing.T) {
	f := newFleet(t, shared)
	_, objs := f.eleven()
	first := f.bundles[0]
	f.serveWebhook("default")
	first.guarded("deny", objs[0])
	manifest := func(data map[string]string) string {
		var out strings.Builder
		for name, value := range data {
			fmt.Fprintf(&out, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {value: %q}}\n", name, value)
		}
		return out.String()
	}
	for name, user := range map[string]string{"agent": account(agentNamespace, "fleet-agent"), "default": account(agentNamespace, "fleet-default"),
		"deployer": account(agentNamespace, "deployer"), "stranger": account(apps, "fleet-agent")} {
		t.Run(name, func(t *testing.T) {
			key := func(part string) string { return name + "-" + part }
			of := func(part string) *unstructured.Unstructured { return object("v1", "ConfigMap", "guarded", key(part)) }
			b := f.bundle(name, manifest(map[string]string{key("goes"): "1", key("changes"): "1", key("stays"): "1"}))
			b.options.Namespace, b.options.ServiceAccount, b.options.User = "guarded", "deployer", user
			b.deploy()
			b.awaitMode("deny", of("goes")) // the webhook knows the release
			b.options.Manifest = manifest(map[string]string{key("changes"): "2", key("stays"): "1", key("new"): "1"})
			_, err := f.Upgrade(t.Context(), b.options)
			gone := apierrors.IsNotFound(f.Client().Get(t.Context(), client.ObjectKeyFromObject(of("goes")), of("goes")))
			if name == "stranger" {
				if gone || err == nil {
					t.Fatalf("upgrading: %v; is the object gone: %v", err, gone)
				}
				says(t, "Helm", err.Error(), "stranger will be at most 2/3")
				return
			}
			if err != nil || !gone {
				t.Errorf("upgrading: %v; is the object gone: %v", err, gone)
			}
			f.carries(b.stamps(), of("changes"), of("stays"), of("new"))
			if value, _, err := unstructured.NestedString(f.get(of("changes")).Object, "data", "value"); value != "2" || err != nil {
				t.Errorf("data is %q (%v), want 2", value, err)
			}
			if err := f.Uninstall(b.options); err != nil {
				t.Error(err)
			}
			for _, part := range []string{"changes", "stays", "new"} {
				if err := f.Client().Get(t.Context(), client.ObjectKeyFromObject(of(part)), of(part)); !apierrors.IsNotFound(err) {
					t.Errorf("uninstalled, and %s is there: %v", part, err)
				}
			}
		})
	}
	f.carries(maps.Clone(first.stamps()), objs...)
}
