// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
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
		Watched: o})
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

// evaluations is the number of evaluations: of everything, or of what changed.
func (r *running) evaluations(everything bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count[everything]
}

// equal waits until the auditor has the result of an audit.
func (r *running) equal(config *rest.Config, after string) {
	r.t.Helper()
	var diff string
	try := func(context.Context) (bool, error) {
		x := r.result()
		diff = cmp.Diff(audited(r.t, config), shown(r.t, x.Audit, x.Err))
		return diff == "", nil
	}
	if err := wait.PollUntilContextTimeout(r.t.Context(), poll.Interval, time.Minute, true, try); err != nil {
		r.t.Fatalf("%s: the auditor has another result than an audit (-audit +auditor):\n%s", after, diff)
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
