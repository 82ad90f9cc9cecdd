// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// The names of a management cluster that manages itself (docs/fleet-behavior.md, 1.5).
const (
	workspace        = "fleet-local"
	clusterNamespace = "cluster-fleet-local-local-1a3d67d0a899"
	agentNamespace   = "cattle-fleet-local-system"
	// apps is the default namespace of bundles.
	apps = "apps"
)

// controller is the field manager of Fleet's own objects.
const controller = "fleetcontroller"

// fleetServer is a Fleet without bundles on a test's server: Cluster fleet-local/local, GitRepo fleet-local/apps
// and the agent. It is removed when the test ends.
type fleetServer struct {
	*cluster.Cluster
	t          *testing.T
	kubeconfig string
	namespaces map[string]bool
	bundles    []*bundle
}

func newFleet(t *testing.T, c *cluster.Cluster) *fleetServer {
	t.Helper()
	f := onServer(t, c)
	f.installAgent("")
	c.ApplyYAML(t, controller, `
apiVersion: fleet.cattle.io/v1alpha1
kind: GitRepo
metadata: {name: apps, namespace: `+workspace+`}
spec: {targets: [{name: all, clusterSelector: {}}]}
`)
	f.reportCluster()
	return f
}

// agentSecret is the manifest of the Secret in which Fleet's agent finds its namespace on the management cluster.
func agentSecret(deploymentNamespace string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: fleet-agent, namespace: %s}
stringData: {deploymentNamespace: %s}
`, agentNamespace, deploymentNamespace)
}

// installAgent creates the Secret and the Deployment of Fleet's agent, with a scope if there is one.
func (f *fleetServer) installAgent(scope string) {
	f.t.Helper()
	f.ApplyYAML(f.t, controller, agentSecret(clusterNamespace)+fmt.Sprintf(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: fleet-agent, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: fleet-agent}}
  template:
    metadata: {labels: {app: fleet-agent}}
    spec:
      containers:
      - name: fleet-agent
        image: "rancher/fleet-agent:v0.15.1"
        env: [{name: AGENT_SCOPE, value: %[2]q}]
`, agentNamespace, scope))
}

// onServer returns a server without Fleet, such as a downstream cluster.
func onServer(t *testing.T, c *cluster.Cluster) *fleetServer {
	t.Helper()
	f := &fleetServer{Cluster: c, t: t, kubeconfig: c.Kubeconfig(t), namespaces: map[string]bool{}}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		if err := f.removeObjects(ctx); err != nil {
			t.Error(err)
		}
	})
	for _, ns := range []string{workspace, clusterNamespace, agentNamespace, apps} {
		f.namespace(ns)
	}
	return f
}

// audit runs an audit as administrator.
func (f *fleetServer) audit(args ...string) result {
	f.t.Helper()
	return audit(f.t, f.kubeconfig, args...)
}

// cleanedKinds are the kinds of objects that tests leave in namespaces.
var cleanedKinds = []string{"v1/ConfigMap", "v1/Secret", "v1/Service", "apps/v1/Deployment",
	"autoscaling/v2/HorizontalPodAutoscaler",
	"fleet.cattle.io/v1alpha1/BundleDeployment", "fleet.cattle.io/v1alpha1/Bundle", "fleet.cattle.io/v1alpha1/GitRepo",
	"fleet.cattle.io/v1alpha1/HelmOp", "fleet.cattle.io/v1alpha1/Cluster"}

// namespace creates a namespace. Its objects are deleted when the test ends. The namespace itself stays: without a
// controller, a deleted namespace never goes away.
func (f *fleetServer) namespace(name string) {
	f.t.Helper()
	f.Namespace(f.t, name)
	f.namespaces[name] = true
}

// removeObjects deletes the objects in the test's namespaces.
func (f *fleetServer) removeObjects(ctx context.Context) error {
	for _, kind := range cleanedKinds {
		i := strings.LastIndexByte(kind, '/')
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(kind[:i])
		list.SetKind(kind[i+1:])
		err := f.Client().List(ctx, list)
		switch {
		case meta.IsNoMatchError(err):
			continue // the server does not serve this kind
		case err != nil:
			return fmt.Errorf("listing remaining %s: %w", kind, err)
		}
		used := map[string]bool{}
		for _, left := range list.Items {
			used[left.GetNamespace()] = true
		}
		for ns := range used {
			if !f.namespaces[ns] {
				continue
			}
			if err := f.Client().DeleteAllOf(ctx, object(kind[:i], kind[i+1:], "", ""),
				client.InNamespace(ns)); err != nil {
				return fmt.Errorf("deleting %s in namespace %s: %w", kind, ns, err)
			}
		}
	}
	return nil
}

// bundle is a bundle and its bundle deployment on the management cluster itself.
type bundle struct {
	*fleetServer
	name      string
	workspace string
	options   cluster.ReleaseOptions
	// spec are the options of the BundleDeployment, as YAML.
	spec     string
	labels   map[string]string
	revision int
	objects  int
}

// bundle returns a bundle of GitRepo fleet-local/apps, for a test to change before it is deployed.
func (f *fleetServer) bundle(name, manifest string) *bundle {
	id := fleet.SetID(name, "")
	return &bundle{fleetServer: f, name: name, workspace: workspace, options: cluster.ReleaseOptions{
		BundleID: name, Namespace: apps, SetID: id, Hash: fleet.Hash(id), AgentNamespace: agentNamespace,
		Manifest: manifest,
	}}
}

// deploy installs the bundle as Fleet's agent does, and writes the status that Fleet reports: all ready.
func (f *fleetServer) deploy(name, manifest string) *bundle {
	f.t.Helper()
	return f.bundle(name, manifest).deploy()
}

func (b *bundle) deploy() *bundle {
	b.t.Helper()
	b.namespace(b.options.Namespace)
	b.deployed(b.InstallRelease(b.t, b.options).Manifest)
	return b
}

// upgrade deploys the next revision with another manifest.
func (b *bundle) upgrade(manifest string) {
	b.t.Helper()
	b.options.Manifest = manifest
	b.deployed(b.UpgradeRelease(b.t, b.options).Manifest)
}

func (b *bundle) deployed(manifest string) {
	b.t.Helper()
	b.revision++
	b.objects = strings.Count(manifest, "\nkind: ")
	if b.revision == 1 {
		b.bundles = append(b.bundles, b)
	}
	b.report()
}

// release is the release as status.release states it.
func (b *bundle) release() string {
	return fmt.Sprintf("%s/%s:%d", b.options.Namespace, b.name, b.revision)
}

// record identifies the Secret with the release record.
func (b *bundle) record(revision int) *unstructured.Unstructured {
	return object("v1", "Secret", b.options.Namespace, fmt.Sprintf("sh.helm.release.v1.%s.v%d", b.name, revision))
}

// key is the BundleDeployment's key in reports.
func (b *bundle) key() string { return clusterNamespace + "/" + b.name }

// report writes the Bundle, the BundleDeployment and the Cluster, with the status of a ready bundle.
func (b *bundle) report() {
	b.t.Helper()
	labels := ""
	for key, value := range b.labels {
		labels += fmt.Sprintf(", %s: %s", key, value)
	}
	options := b.spec
	if options == "" {
		options = "{}"
	}
	b.ApplyYAML(b.t, controller, fmt.Sprintf(`
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
  labels: {fleet.cattle.io/bundle-name: %[1]s, fleet.cattle.io/bundle-namespace: %[2]s, fleet.cattle.io/repo-name: apps,
    fleet.cattle.io/cluster: local, fleet.cattle.io/cluster-namespace: fleet-local%[4]s}
spec: {deploymentID: "s-%[5]d:1", stagedDeploymentID: "s-%[5]d:1", options: %[6]s}
status:
  appliedDeploymentID: s-%[5]d:1
  release: %[7]s
  ready: true
  nonModified: true
  display: {state: Ready}
  resourceCounts: {desiredReady: %[8]d, ready: %[8]d}
  conditions: [{type: Ready, status: "True", lastUpdateTime: %[9]q}]
`, b.name, b.workspace, clusterNamespace, labels, b.revision, options, b.release(), b.objects,
		time.Now().UTC().Format(time.RFC3339)))
	b.reportCluster()
}

// reportCluster writes the Cluster with the totals of its BundleDeployments.
func (f *fleetServer) reportCluster() {
	f.t.Helper()
	objects := 0
	for _, b := range f.bundles {
		objects += b.objects
	}
	f.ApplyYAML(f.t, controller, fmt.Sprintf(`
apiVersion: fleet.cattle.io/v1alpha1
kind: Cluster
metadata: {name: local, namespace: %s}
status:
  namespace: %s
  agent: {namespace: %s, lastSeen: %q}
  summary: {desiredReady: %[5]d, ready: %[5]d}
  resourceCounts: {desiredReady: %[6]d, ready: %[6]d}
`, workspace, clusterNamespace, agentNamespace, time.Now().UTC().Format(time.RFC3339), len(f.bundles), objects))
}

// writeValues writes the Secret of a BundleDeployment with Helm values.
func (f *fleetServer) writeValues(bd *unstructured.Unstructured, text string) {
	f.t.Helper()
	f.ApplyYAML(f.t, controller, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata:
  name: %[1]s
  namespace: %[2]s
  ownerReferences:
  - {apiVersion: fleet.cattle.io/v1alpha1, kind: BundleDeployment, name: %[1]s, uid: %[3]s, controller: true}
type: %[4]s
data: {values: %[5]s, stagedValues: ""}
`, bd.GetName(), bd.GetNamespace(), f.get(bd).GetUID(), values.DeploymentType,
		base64.StdEncoding.EncodeToString([]byte(text))))
}
