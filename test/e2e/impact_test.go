// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// databaseDefinition defines the kind of the custom resources of the tests.
const databaseDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.impact.example.com}
spec:
  group: impact.example.com
  scope: Namespaced
  names: {kind: %s, plural: %[1]s, singular: %[3]s, listKind: %[2]sList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// databases is the manifest of a bundle with every kind of object whose deletion has its own rule.
var databases = fmt.Sprintf(databaseDefinition, "databases", "Database", "database") + `---
{apiVersion: v1, kind: ConfigMap, metadata: {name: theme}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, annotations: {helm.sh/resource-policy: keep}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: odd, annotations: {helm.sh/resource-policy: remove}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: before, annotations: {helm.sh/hook: pre-delete}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {helm.sh/hook: post-delete, helm.sh/hook-delete-policy: hook-succeeded}}
---
{apiVersion: v1, kind: Service, metadata: {name: db}, spec: {ports: [{port: 5432}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: files}
spec: {accessModes: [ReadWriteOnce], volumeName: impact-files, resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: registry.example.com/db}]}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// liveKinds are the kinds of the objects that an uninstall may delete.
var liveKinds = []string{"v1/ConfigMap", "v1/Service", "v1/PersistentVolumeClaim", "v1/Namespace",
	"apps/v1/StatefulSet",
	"apiextensions.k8s.io/v1/CustomResourceDefinition", "impact.example.com/v1/Database"}

// alive returns the objects that exist and are not being deleted: without controllers, some finalizers stay.
func (f *fleetServer) alive() map[string]bool {
	f.t.Helper()
	out := map[string]bool{}
	for _, kind := range liveKinds {
		i := strings.LastIndexByte(kind, '/')
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(kind[:i])
		list.SetKind(kind[i+1:])
		if err := f.Client().List(f.t.Context(), list); meta.IsNoMatchError(err) || err != nil &&
			kind[i+1:] == "Database" {
			continue // the kind is deleted
		} else if err != nil {
			f.t.Fatal(err)
		}
		for _, o := range list.Items {
			if o.GetDeletionTimestamp() == nil {
				out[refText(o.GetKind(), o.GetNamespace(), o.GetName())] = true
			}
		}
	}
	return out
}

func refText(kind, namespace, name string) string {
	return kind + " " + strings.TrimPrefix(namespace+"/"+name, "/")
}

// impact runs the verb and decodes its report.
func (f *fleetServer) impact(args ...string) *report.Impact {
	f.t.Helper()
	r := run(f.t.Context(), f.t, append([]string{"impact", "--kubeconfig", f.kubeconfig, "-o", "json"}, args...)...)
	var out report.Impact
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || r.status != 0 || len(out.Gaps) > 0 {
		f.t.Fatalf("status %d, error %v, gaps %+v: %s", r.status, err, out.Gaps, r.stderr)
	}
	return &out
}

// TestImpact deletes a bundle and uninstalls its release as the agent does. The objects that are gone must be those
// that impact listed before.
func TestImpact(t *testing.T) {
	t.Parallel()
	f := newFleet(t, cluster.Start(t, cluster.WithFleetCRDs()))
	b := f.bundle("databases", databases)
	b.options.DeleteCRDResources, b.options.CRDs = true, fmt.Sprintf(databaseDefinition, "backups", "Backup", "backup")
	b.spec = "{defaultNamespace: " + apps + ", deleteCRDResources: true}"
	b.deploy()
	f.deploy("other", "{apiVersion: v1, kind: ConfigMap, metadata: {name: of-another-bundle}}")
	f.ApplyYAML(t, "storage", `
apiVersion: v1
kind: PersistentVolume
metadata: {name: impact-files}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Delete
  hostPath: {path: /files}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-0, namespace: apps}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: unrelated, namespace: apps}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`)
	for _, name := range []string{"one", "two", "three"} {
		f.ApplyYAML(t, "customer",
			"{apiVersion: impact.example.com/v1, kind: Database, metadata: {name: "+name+", namespace: apps}}")
	}

	before := f.alive()
	d := f.impact("bundle/databases").Deletions[0]
	if c := d.Summary; d.Clusters[0].Result != report.ImpactRemoves || c.CustomResources != 3 ||
		c.DeletedVolumes != 1 || c.Kept != 3 {
		t.Errorf("result %s, summary %+v", d.Clusters[0].Result, c)
	}
	release := d.Clusters[0].BundleDeployments[0].Releases[0]
	var want, kept, created []string
	for _, o := range release.Removed {
		want = append(want, refText(o.Kind, o.Namespace, o.Name))
	}
	for _, name := range []string{"one", "two", "three"} {
		want = append(want, "Database apps/"+name) // they are counted
	}
	for _, k := range release.Kept {
		kept = append(kept, refText(k.Kind, k.Namespace, k.Name))
	}
	for _, h := range release.Hooks {
		if len(h.Runs) > 0 && h.Stays {
			created = append(created, h.Kind+" apps/"+h.Name)
		}
	}

	if err := f.Uninstall(b.options); err != nil {
		t.Fatal(err)
	}
	var after map[string]bool
	poll.True(t, "the custom resources are deleted", func() bool {
		after = f.alive()
		return !after["Database apps/one"] && !after["Database apps/two"] && !after["Database apps/three"]
	})
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), missing(before, after)); diff != "" {
		t.Errorf("removed (-impact +uninstall):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(created)), missing(after, before)); diff != "" {
		t.Errorf("hooks that stay (-impact +uninstall):\n%s", diff)
	}
	for _, ref := range append(kept, "CustomResourceDefinition backups.impact.example.com",
		"PersistentVolumeClaim apps/unrelated") {
		if !after[ref] {
			t.Errorf("%s is gone", ref)
		}
	}
	if got := f.impact("bundle/databases").Deletions[0].Clusters[0].Result; got != report.ImpactNothing {
		t.Errorf("after the uninstall: %s", got)
	}
}

// missing are those of a set that another one does not have.
func missing(from, in map[string]bool) []string {
	var out []string
	for ref := range from {
		if !in[ref] {
			out = append(out, ref)
		}
	}
	slices.Sort(out)
	return out
}

// TestImpactKeepResources deletes the records of a release with keepResources, as the agent does. Everything stays.
func TestImpactKeepResources(t *testing.T) {
	f := newFleet(t, shared)
	b := f.bundle("guestbook", theme)
	b.options.KeepResources, b.spec = true, "{defaultNamespace: "+apps+", keepResources: true}"
	b.deploy()
	before := f.alive()
	d := f.impact("gitrepo/apps").Deletions[0]
	if c := d.Clusters[0]; c.Result != report.ImpactKeeps || d.Summary.Removed != 0 || d.Summary.Kept != 1 {
		t.Errorf("result %s, summary %+v", c.Result, d.Summary)
	}
	f.remove(b.record(1))
	if diff := cmp.Diff(before, f.alive()); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
}

// TestImpactTakenOver has two bundles that desire the same object. It is deleted with the one that no longer owns it,
// if Helm does not look at the owner.
func TestImpactTakenOver(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("first", theme)
	second := f.bundle("second", theme)
	second.options.TakeOwnership = true
	second.deploy()
	removed := f.impact("bundle/first").Deletions[0].Clusters[0].BundleDeployments[0].Releases[0].Removed
	if len(removed) != 1 || removed[0].OwnedBy != apps+"/second" || !slices.Equal(removed[0].DesiredBy,
		[]string{second.key()}) {
		t.Errorf("removed %+v", removed)
	}
}
