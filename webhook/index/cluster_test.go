// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/proxy"
)

func optionsOf(namespace, bundle, manifest string) cluster.ReleaseOptions {
	m := ownership.Desired("default-"+bundle, bundle, namespace)
	return cluster.ReleaseOptions{BundleID: bundle, Namespace: namespace, SetID: m.SetID, Hash: m.Hash,
		AgentNamespace: "cattle-fleet-system", ServiceAccount: "deployer", Manifest: manifest}
}

// clusterRole is a cluster-scoped object.
const clusterRole = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: records-life}}\n" +
	"---\n"

// TestLife installs, upgrades, rolls back and uninstalls a release of Fleet.
func TestLife(t *testing.T) {
	const ns = "records-life"
	shared.RemoveNamespacesAfter(t, ns)
	w := watchRecords(t, shared.Config(), ns)
	w.awaitSync(t)
	a, b, c := keyOf(ns, "a"), keyOf(ns, "b"), keyOf(ns, "c")
	role := object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "records-life"}

	options := optionsOf(ns, "life", clusterRole+configMap("a"))
	shared.InstallRelease(t, options)
	w.awaitOwners(t, a, ns+"/life:1")
	w.awaitOwners(t, role, ns+"/life:1")
	got := owners(w.Index, a)[0]
	if diff := cmp.Diff(ownership.Desired("default-life", "life", ns), got.Metadata); diff != "" || got.Objects != 2 ||
		got.Agents[0].ServiceAccount != "deployer" || got.Bundle != "life" {
		t.Errorf("the release is %+v, its metadata (-want +got):\n%s", got, diff)
	}

	options.Manifest = clusterRole + configMap("b")
	shared.UpgradeRelease(t, options)
	w.awaitOwners(t, b, ns+"/life:2")
	w.awaitOwners(t, a)
	w.awaitOwners(t, role, ns+"/life:2")

	// The upgrade stays pending, because Helm waits for a Pod that does not run. The pending record counts already.
	// Then the upgrade fails.
	options.Manifest = clusterRole + configMap("c")
	options.Templates = map[string]string{"hook.yaml": `{apiVersion: v1, kind: Pod,
		metadata: {name: hook, annotations: {helm.sh/hook: pre-upgrade}},
		spec: {restartPolicy: Never, containers: [{name: a, image: registry.example.com/a}]}}`}
	ended := make(chan error, 1)
	go func() {
		_, err := shared.Upgrade(t.Context(), options)
		ended <- err
	}()
	w.awaitOwners(t, c, ns+"/life:3")
	w.awaitOwners(t, role, ns+"/life:3")
	w.awaitOwners(t, b, ns+"/life:2")
	failPod(t, ns, "hook")
	if err := <-ended; err == nil {
		t.Error("the upgrade succeeded although its hook failed")
	}
	w.awaitOwners(t, c)
	w.awaitOwners(t, role, ns+"/life:2")

	rollback := action.NewRollback(helm(t, ns))
	rollback.Version, rollback.DisableHooks, rollback.WaitStrategy = 2, true, kube.HookOnlyStrategy
	if err := rollback.Run("life"); err != nil {
		t.Fatal(err)
	}
	w.awaitOwners(t, b, ns+"/life:4")

	uninstall := action.NewUninstall(helm(t, ns))
	uninstall.DisableHooks, uninstall.WaitStrategy = true, kube.HookOnlyStrategy
	if _, err := uninstall.Run("life"); err != nil {
		t.Fatal(err)
	}
	w.awaitOwners(t, b)
	w.awaitOwners(t, role)
	poll.Until(t, func() error {
		if objects, releases, damaged := w.Size(); objects+releases+damaged > 0 {
			return fmt.Errorf("%d objects, %d releases and %d unreadable records are left", objects, releases, damaged)
		}
		return nil
	})
}

// failPod waits for a Pod, and sets its phase to Failed.
func failPod(t *testing.T, namespace, name string) {
	t.Helper()
	poll.Until(t, func() error {
		pod := &corev1.Pod{}
		if err := shared.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name},
			pod); err != nil {
			return err
		}
		pod.Status.Phase = corev1.PodFailed
		return shared.Client().Status().Update(t.Context(), pod)
	})
}

// helm returns the configuration of Helm's actions.
func helm(t *testing.T, namespace string) *action.Configuration {
	t.Helper()
	flags, kubeconfig := genericclioptions.NewConfigFlags(false), shared.Kubeconfig(t)
	flags.KubeConfig, flags.Namespace = &kubeconfig, &namespace
	config := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := config.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return config
}

// TestRecordsOnly deletes records but not their objects, like Fleet's agent with keepResources, and installs releases
// without a bundle.
func TestRecordsOnly(t *testing.T) {
	const ns, other = "records-kept", "records-elsewhere"
	shared.RemoveNamespacesAfter(t, ns, other)
	w, all := watchRecords(t, shared.Config(), ns), watchRecords(t, shared.Config())
	shared.InstallRelease(t, optionsOf(ns, "kept", configMap("a")))
	shared.InstallRelease(t, optionsOf(other, "elsewhere", configMap("a")))
	shared.InstallRelease(t, cluster.ReleaseOptions{Name: "plain", Namespace: ns, Manifest: configMap("b")})
	w.awaitOwners(t, keyOf(ns, "a"), ns+"/kept:1")
	all.awaitOwners(t, keyOf(other, "a"), other+"/elsewhere:1")
	poll.Until(t, func() error {
		if !w.HasRelease(ns + "/plain") {
			return errors.New("a release without a bundle is not known")
		}
		return nil
	})
	w.awaitOwners(t, keyOf(ns, "b"))
	w.awaitOwners(t, keyOf(other, "a"))
	if w.HasRelease(other + "/elsewhere") {
		t.Error("a release in another namespace is known")
	}

	if err := shared.Client().Delete(t.Context(), secret(t, ns, "sh.helm.release.v1.kept.v1")); err != nil {
		t.Fatal(err)
	}
	w.awaitOwners(t, keyOf(ns, "a"))
	all.awaitOwners(t, keyOf(ns, "a"))
	all.awaitOwners(t, keyOf(other, "a"), other+"/elsewhere:1")
}

func secret(t *testing.T, namespace, name string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{}
	if err := shared.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRepaired damages and repairs a record, and copies it to another namespace.
func TestRepaired(t *testing.T) {
	const ns, evil = "records-repaired", "records-evil"
	shared.RemoveNamespacesAfter(t, ns, evil)
	w := watchRecords(t, shared.Config(), ns, evil)
	shared.InstallRelease(t, optionsOf(ns, "a", configMap("a")))
	w.awaitOwners(t, keyOf(ns, "a"), ns+"/a:1")

	s := secret(t, ns, "sh.helm.release.v1.a.v1")
	value := s.Data["release"]
	s.Data["release"] = value[:len(value)/2]
	if err := shared.Client().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.awaitDamaged(t, 1)
	w.awaitOwners(t, keyOf(ns, "a"))
	s.Data["release"] = value
	if err := shared.Client().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.awaitDamaged(t, 0)
	w.awaitOwners(t, keyOf(ns, "a"), ns+"/a:1")

	shared.Namespace(t, evil)
	forged := &corev1.Secret{Type: s.Type, Data: s.Data}
	forged.Namespace, forged.Name, forged.Labels = evil, s.Name, s.Labels
	if err := shared.Client().Create(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	w.awaitDamaged(t, 1)
	w.awaitOwners(t, keyOf(ns, "a"), ns+"/a:1")
	w.awaitOwners(t, keyOf(evil, "a"))
}

// TestDisconnected stops the API server: the index stays, and missed changes arrive when the API server is back.
func TestDisconnected(t *testing.T) {
	const ns = "records-away"
	shared.RemoveNamespacesAfter(t, ns)
	p := proxy.New(t, shared.Config())
	w := watchRecords(t, p.Config(), ns)
	shared.InstallRelease(t, optionsOf(ns, "a", configMap("a")))
	w.awaitOwners(t, keyOf(ns, "a"), ns+"/a:1")
	w.awaitSync(t)
	last := deployed(t, ns, "last", 1, "")
	last.UID = ""
	shared.Create(t, last) // when it is known, all records of Helm have arrived
	w.awaitOwners(t, keyOf(ns, "last"), ns+"/last:1")
	p.Stop()
	received := w.LastMessage()
	shared.InstallRelease(t, optionsOf(ns, "b", configMap("b")))
	if err := shared.Client().Delete(t.Context(), secret(t, ns, "sh.helm.release.v1.a.v1")); err != nil {
		t.Fatal(err)
	}
	poll.True(t, "the watch is not live", func() bool { return !w.Live("") })
	if owners := owners(w.Index, keyOf(ns, "a")); len(owners) != 1 || !w.Synced() || !w.LastMessage().Equal(received) {
		t.Errorf("while the API server is away: owners %v, synced %t, received %s, want %s", owners, w.Synced(),
			w.LastMessage(), received)
	}
	p.Start()
	w.awaitOwners(t, keyOf(ns, "b"), ns+"/b:1")
	w.awaitOwners(t, keyOf(ns, "a"))
	if !w.LastMessage().After(received) {
		t.Error("no message was received since")
	}
	poll.True(t, "the watch is live again", func() bool { return w.Live("") })
}

// TestStreamed checks that the list arrives in one stream if the API server can stream lists.
func TestStreamed(t *testing.T) {
	p := proxy.New(t, shared.Config())
	w := watchRecords(t, p.Config(), "records-streamed")
	w.awaitSync(t)
	if queries := p.Queries(); len(queries) != 1 || queries[0].Get("sendInitialEvents") != "true" {
		t.Errorf("requested %v, want one stream", queries)
	}
}

// TestCompacted has an API server that cannot stream lists and keeps no history: the list is read in pages, and read
// again after the version of a watch was compacted.
func TestCompacted(t *testing.T) {
	const ns, count = "records-compacted", 25
	c := cluster.Start(t, cluster.WithAPIServerFlag("watch-cache", "false"),
		cluster.WithAPIServerFlag("feature-gates", "WatchList=false"))
	c.Namespace(t, ns)
	create := func(name string) *corev1.Secret {
		s := deployed(t, ns, name, 1, "")
		s.UID = ""
		if err := c.Client().Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	var last *corev1.Secret
	for i := range count {
		last = create(fmt.Sprintf("r%d", i))
	}
	p := proxy.New(t, c.Config())
	w := watchRecords(t, p.Config())
	w.awaitSync(t)
	if _, releases, damaged := w.Size(); releases != count || damaged != 0 {
		t.Errorf("%d releases, %d unreadable; want %d", releases, damaged, count)
	}
	pages := func() (n int) {
		for _, q := range p.Queries() {
			if q.Get("limit") == "10" {
				n++
			}
		}
		return n
	}
	if n := pages(); n != 3 {
		t.Errorf("read in %d pages, want 3", n)
	}
	poll.Until(t, func() error {
		if !slices.ContainsFunc(p.Queries(), func(q url.Values) bool {
			return q.Get("watch") == "true" &&
				q.Get("sendInitialEvents") == ""
		}) {
			return errors.New("no watch")
		}
		return nil
	})

	p.Stop()
	create("new")
	if err := c.Client().Delete(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	c.Compact(t)
	p.Start()
	w.awaitOwners(t, keyOf(ns, "new"), ns+"/new:1")
	w.awaitOwners(t, keyOf(ns, fmt.Sprintf("r%d", count-1)))
	w.awaitOwners(t, keyOf(ns, "r0"), ns+"/r0:1")
	if n := pages() - 3; n < 3 { // and one page with the error
		t.Errorf("read in %d pages after the compaction, want 3", n)
	}
}
