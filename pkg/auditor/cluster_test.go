// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	source "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/watched"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/proxy"
)

var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Run(m, &shared, cluster.WithFleetCRDs())) }

// running is an auditor that runs, with its last result.
type running struct {
	t    *testing.T
	stop func()
	mu   sync.Mutex // guards last and count
	last auditor.Result
	// count has the number of evaluations: of everything, and of what changed.
	count map[bool]int
}

// begin starts an auditor of an API server.
func begin(t *testing.T, config *rest.Config) *running {
	t.Helper()
	return beginWith(t, config, watched.Options{})
}

// beginWith starts an auditor that notices soon that a watch is interrupted.
func beginWith(t *testing.T, config *rest.Config, o watched.Options) *running {
	t.Helper()
	o.Grace = 300 * time.Millisecond
	o.Backoff = func() *wait.Backoff { return &wait.Backoff{Duration: 100 * time.Millisecond, Steps: 1} }
	c, err := source.New(config, source.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, count: map[bool]int{}}
	a := auditor.New(c, auditor.Options{Publish: r.publish, Hold: 200 * time.Millisecond, Now: time.Now,
		Log: logr.Discard(), Watched: o})
	ctx, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(t.Context()), logr.Discard()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(r.stop)
	return r
}

// restart ends the auditor, and starts another one.
func (r *running) restart() *running {
	r.t.Helper()
	r.stop()
	out := begin(r.t, shared.Config())
	out.mu.Lock()
	defer out.mu.Unlock()
	for everything, n := range r.count {
		out.count[everything] += n
	}
	return out
}

func (r *running) publish(_ context.Context, x auditor.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = x
	r.count[x.Everything]++
}

func (r *running) result() auditor.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// equal waits until the auditor has the result of an audit.
func (r *running) equal(config *rest.Config, after string) {
	r.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		want, got := audited(r.t, config), shown(r.t, r.result().Audit, r.result().Err)
		diff := cmp.Diff(want, got)
		if diff == "" {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: the auditor has another result than an audit (-audit +auditor):\n%s", after, diff)
		}
		time.Sleep(poll.Interval)
	}
}

// audited returns the lines of the report of an audit.
func audited(t *testing.T, config *rest.Config) []string {
	t.Helper()
	c, err := source.New(config, source.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	a, err := audit.Run(t.Context(), c, audit.Options{Pause: func(context.Context) error { return nil }})
	return shown(t, a, err)
}

// shown returns the lines of a report without the time at which it was made and the address of the server.
func shown(t *testing.T, a *audit.Audit, err error) []string {
	t.Helper()
	if err != nil {
		return []string{err.Error()}
	}
	if a == nil {
		return nil
	}
	text, err := json.MarshalIndent(a.Report(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"takenAt"`) && !strings.Contains(line, `"server"`) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

const (
	agentNamespace, workspace, clusterNamespace = "cattle-fleet-system", "fleet-local", "cluster-fleet-local-local"
	apps                                        = "auditor-apps"
)

// deployment returns a bundle deployment of n ConfigMaps, a Secret, a ServiceAccount and a Deployment.
func options(name string, n int) cluster.ReleaseOptions {
	id := fleet.SetID(name, "")
	var m strings.Builder
	for i := range n {
		fmt.Fprintf(&m, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d}\ndata: {key: value}\n---\n", name, i)
	}
	fmt.Fprintf(&m, `apiVersion: v1
kind: Secret
metadata: {name: %[1]s}
stringData: {password: invented-secret-value}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[1]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: main, image: none}]}
`, name)
	return cluster.ReleaseOptions{BundleID: name, Namespace: apps, SetID: id, Hash: fleet.Hash(id),
		AgentNamespace: agentNamespace, Manifest: m.String()}
}

// reported writes Fleet's own objects for a bundle deployment.
func reported(t *testing.T, name string, revision, ready int) {
	t.Helper()
	shared.ApplyYAML(t, "fleetcontroller", fmt.Sprintf(`
apiVersion: fleet.cattle.io/v1alpha1
kind: Bundle
metadata: {name: %[1]s, namespace: %[2]s}
status: {summary: {desiredReady: 1, ready: 1}}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: BundleDeployment
metadata:
  name: %[1]s
  namespace: %[3]s
  labels: {fleet.cattle.io/bundle-name: %[1]s, fleet.cattle.io/bundle-namespace: %[2]s}
spec: {deploymentID: "s-1:1", stagedDeploymentID: "s-1:1"}
status:
  appliedDeploymentID: s-1:1
  release: %[4]s/%[1]s:%[5]d
  ready: true
  nonModified: true
  display: {state: Ready}
  resourceCounts: {desiredReady: %[6]d, ready: %[6]d}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: Cluster
metadata: {name: local, namespace: %[2]s}
status:
  namespace: %[3]s
  agent: {namespace: %[7]s, lastSeen: %[8]q}
`, name, workspace, clusterNamespace, apps, revision, ready, agentNamespace, time.Now().UTC().Format(time.RFC3339)))
}

// object returns an object without content.
func object(apiVersion, kind, name string) *unstructured.Unstructured {
	return cluster.Object(apiVersion, kind, apps, name)
}

// patch merges a patch into an object. It may have been deleted before.
func patch(t *testing.T, o *unstructured.Unstructured, text string) {
	t.Helper()
	err := shared.Client().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(text)),
		client.FieldOwner("somebody"))
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	if err := client.IgnoreNotFound(shared.Client().Delete(t.Context(), o)); err != nil {
		t.Fatal(err)
	}
}

// create creates an object unless it exists.
func create(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	if err := shared.Client().Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// mutation is a random change.
type mutation struct {
	name string
	do   func(t *testing.T, r *rand.Rand)
}

var bundles = []string{"one", "two"}

func pick(r *rand.Rand) (bundle, configMap string) {
	bundle = bundles[r.IntN(len(bundles))]
	return bundle, fmt.Sprintf("%s-%d", bundle, r.IntN(3))
}

var mutations = []mutation{
	{"delete an object", func(t *testing.T, r *rand.Rand) {
		_, name := pick(r)
		remove(t, object("v1", "ConfigMap", name))
	}},
	{"restore an object", func(t *testing.T, r *rand.Rand) {
		bundle, name := pick(r)
		o := object("v1", "ConfigMap", name)
		o.SetLabels(map[string]string{fleet.HashLabel: fleet.Hash(fleet.SetID(bundle, ""))})
		o.SetAnnotations(map[string]string{"objectset.rio.cattle.io/id": fleet.SetID(bundle, "")})
		o.Object["data"] = map[string]any{"key": "value"}
		create(t, o)
	}},
	{"strip an object", func(t *testing.T, r *rand.Rand) {
		_, name := pick(r)
		patch(t, object("v1", "ConfigMap", name), `{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null}}}`)
	}},
	{"change an object", func(t *testing.T, r *rand.Rand) {
		_, name := pick(r)
		patch(t, object("v1", "ConfigMap", name), fmt.Sprintf(`{"data":{"key":"%d"}}`, r.IntN(2)))
	}},
	{"change a secret", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		patch(t, object("v1", "Secret", bundle), fmt.Sprintf(`{"stringData":{"password":"invented-%d"}}`, r.IntN(9)))
	}},
	{"delete a secret", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		remove(t, object("v1", "Secret", bundle))
	}},
	{"scale a deployment", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		patch(t, object("apps/v1", "Deployment", bundle), fmt.Sprintf(`{"spec":{"replicas":%d}}`, r.IntN(3)))
	}},
	{"create an autoscaler", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		o := object("autoscaling/v2", "HorizontalPodAutoscaler", bundle)
		o.Object["spec"] = map[string]any{"maxReplicas": int64(3), "scaleTargetRef": map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "name": bundle}}
		create(t, o)
	}},
	{"delete an autoscaler", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		remove(t, object("autoscaling/v2", "HorizontalPodAutoscaler", bundle))
	}},
	{"create an orphan", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		o := object("rbac.authorization.k8s.io/v1", "Role", "orphan")
		if r.IntN(2) == 0 {
			o = object("v1", "ConfigMap", "orphan")
		}
		o.SetLabels(map[string]string{fleet.HashLabel: fleet.Hash(fleet.SetID(bundle, ""))})
		create(t, o)
	}},
	{"delete orphans", func(t *testing.T, _ *rand.Rand) {
		remove(t, object("rbac.authorization.k8s.io/v1", "Role", "orphan"))
		remove(t, object("v1", "ConfigMap", "orphan"))
	}},
	{"upgrade a release", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		if _, err := shared.Upgrade(t.Context(), options(bundle, 2+r.IntN(2))); err != nil &&
			!strings.Contains(err.Error(), "has no deployed releases") {
			t.Log(err) // an object of the release may have another owner
		}
	}},
	{"uninstall a release", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		_ = shared.Uninstall(options(bundle, 3)) // it may not exist
	}},
	{"install a release", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		o := options(bundle, 3)
		o.TakeOwnership = true
		_, _ = shared.Install(t.Context(), o) // it may exist
	}},
	{"write a status", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		reported(t, bundle, 1+r.IntN(3), 4+r.IntN(3))
	}},
	{"delete a bundle deployment", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		remove(t, cluster.Object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, bundle))
	}},
	{"delete a bundle", func(t *testing.T, r *rand.Rand) {
		bundle, _ := pick(r)
		remove(t, cluster.Object("fleet.cattle.io/v1alpha1", "Bundle", workspace, bundle))
	}},
}

// TestSameResult checks that the auditor has the result of an audit after each of many random changes, most of them
// several at once, and after a restart.
func TestSameResult(t *testing.T) {
	for _, ns := range []string{apps, workspace, clusterNamespace, agentNamespace} {
		shared.Namespace(t, ns)
	}
	for _, bundle := range bundles {
		shared.InstallRelease(t, options(bundle, 3))
		reported(t, bundle, 1, 6)
	}
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	a := begin(t, shared.Config())
	a.equal(shared.Config(), "start")
	var done []string
	for range 60 {
		done = done[:0]
		for range 1 + r.IntN(3) {
			m := mutations[r.IntN(len(mutations))]
			done = append(done, m.name)
			m.do(t, r)
		}
		a.equal(shared.Config(), strings.Join(done, ", "))
		if r.IntN(20) == 0 {
			a = a.restart()
		}
	}
	if a.count[true] == 0 || a.count[false] == 0 {
		t.Errorf("evaluations of everything and of what changed: %v", a.count)
	}
}

// installed installs the bundles, and removes what other tests left.
func installed(t *testing.T) {
	t.Helper()
	for _, ns := range []string{apps, workspace, clusterNamespace, agentNamespace} {
		shared.Namespace(t, ns)
	}
	for _, bundle := range bundles {
		_ = shared.Uninstall(options(bundle, 3)) // it may not exist
		o := options(bundle, 3)
		o.TakeOwnership = true
		shared.InstallRelease(t, o)
		reported(t, bundle, 1, 6)
	}
}

// state returns the state that the auditor has for a ConfigMap.
func (r *running) state(name string) report.State {
	a := r.result().Audit
	if a == nil {
		return ""
	}
	for _, d := range a.Report().BundleDeployments {
		for _, o := range d.Resources {
			if o.Kind == "ConfigMap" && o.Name == name {
				return o.State
			}
		}
	}
	return ""
}

// TestInterrupted checks that objects are Unknown while the API server cannot be reached, and correct afterwards, also
// those that changed in the meantime.
func TestInterrupted(t *testing.T) {
	installed(t)
	p := proxy.New(t, shared.Config())
	a := begin(t, p.Config())
	a.equal(shared.Config(), "start")
	for i := range 3 {
		p.Stop()
		poll.True(t, "the object is Unknown, or there is no result", func() bool {
			return a.result().Err != nil || a.state("one-0") == report.Unknown
		})
		if i%2 == 0 {
			remove(t, object("v1", "ConfigMap", "one-0"))
		} else {
			mutations[1].do(t, rand.New(rand.NewPCG(1, 1)))
		}
		p.Start()
		a.equal(shared.Config(), "the API server was reached again")
	}
}

// TestIdle checks that the auditor sends no request while nothing changes.
func TestIdle(t *testing.T) {
	installed(t)
	p := proxy.New(t, shared.Config())
	a := begin(t, p.Config())
	a.equal(shared.Config(), "start")
	poll.True(t, "the auditor has read the kinds again", func() bool {
		before := len(p.Received())
		time.Sleep(4 * time.Second)
		return len(p.Received()) == before
	})
	before := len(p.Received())
	remove(t, object("v1", "ConfigMap", "two-1"))
	a.equal(shared.Config(), "a deletion")
	if requests := p.Received()[before:]; len(requests) > 0 {
		t.Errorf("the auditor sent %d requests because of one change, the first one to %s", len(requests),
			requests[0].URL)
	}
}

// TestKinds checks that kinds that come and go are noticed, with their objects.
func TestKinds(t *testing.T) {
	installed(t)
	a := begin(t, shared.Config())
	a.equal(shared.Config(), "start")
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.auditor.example.com}
spec:
  group: auditor.example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
	shared.ApplyYAML(t, "kubectl", definition)
	a.equal(shared.Config(), "a new kind")
	id := fleet.SetID("gadgets", "")
	o := cluster.ReleaseOptions{BundleID: "gadgets", Namespace: apps, SetID: id, Hash: fleet.Hash(id),
		AgentNamespace: agentNamespace, Manifest: `
apiVersion: auditor.example.com/v1
kind: Gadget
metadata: {name: gadget}
spec: {size: 1}
`}
	shared.InstallRelease(t, o)
	reported(t, "gadgets", 1, 1)
	a.equal(shared.Config(), "an object of the new kind")
	patch(t, object("auditor.example.com/v1", "Gadget", "gadget"), `{"spec":{"size":2}}`)
	a.equal(shared.Config(), "a change of it")
	remove(t, cluster.Object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gadgets.auditor.example.com"))
	a.equal(shared.Config(), "the kind is gone")
	_ = shared.Uninstall(o)
	remove(t, cluster.Object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, "gadgets"))
	remove(t, cluster.Object("fleet.cattle.io/v1alpha1", "Bundle", workspace, "gadgets"))
	a.equal(shared.Config(), "the release is gone")
}

// TestRights checks that objects are Unknown when a right was taken away, and known when it was given back.
func TestRights(t *testing.T) {
	installed(t)
	const user = "auditor"
	read := []string{"list", "watch"}
	shared.Grant(t, user, "",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets", "serviceaccounts", "namespaces"}, Verbs: read},
		rbacv1.PolicyRule{APIGroups: []string{"apps", "autoscaling", "fleet.cattle.io", "rbac.authorization.k8s.io",
			"apiextensions.k8s.io", "apiregistration.k8s.io"}, Resources: []string{"*"}, Verbs: read})
	config, err := clientcmd.BuildConfigFromFlags("", shared.UserKubeconfig(t, user))
	if err != nil {
		t.Fatal(err)
	}
	// A server does not end the watches of a user who lost a right.
	a := beginWith(t, config, watched.Options{WatchTimeout: 2 * time.Second})
	a.equal(config, "start")
	for range 2 {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "auditor-configmaps"},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: read}}}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta,
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}}
		for _, o := range []client.Object{role, binding} {
			if err := shared.Client().Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		poll.True(t, "the object is known", func() bool { return a.state("one-0") == report.Ready })
		a.equal(config, "the right was given")
		for _, o := range []client.Object{binding, role} {
			if err := shared.Client().Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		poll.True(t, "the object is Unknown", func() bool { return a.state("one-0") == report.Unknown })
		a.equal(config, "the right was taken away")
	}
}

// TestExpired checks that changes are not lost if the server does not have their history any more (410).
func TestExpired(t *testing.T) {
	c := cluster.Start(t, cluster.WithFleetCRDs(), cluster.WithAPIServerFlag("watch-cache", "false"))
	before := shared
	shared = c
	t.Cleanup(func() { shared = before })
	installed(t)
	p := proxy.New(t, c.Config())
	a := begin(t, p.Config())
	a.equal(c.Config(), "start")
	p.Stop()
	remove(t, object("v1", "ConfigMap", "one-0"))
	patch(t, object("v1", "ConfigMap", "two-1"), `{"data":{"key":"other"}}`)
	c.Compact(t)
	p.Start()
	a.equal(c.Config(), "the history was removed")
}
