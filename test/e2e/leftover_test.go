// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// keep makes Helm leave an object on the cluster when the release no longer contains it.
const keep = `annotations: {helm.sh/resource-policy: keep}`

const theme = "{apiVersion: v1, kind: ConfigMap, metadata: {name: theme}}"

// TestOrphaned removes objects from a bundle that Helm must keep: one of a kind that is still desired, and one of
// a kind that is not.
func TestOrphaned(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", theme+`
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, `+keep+`}}
---
{apiVersion: v1, kind: Service, metadata: {name: kept, `+keep+`}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: dropped}, spec: {ports: [{port: 80}]}}
`)
	b.upgrade(theme)
	r := f.audit()
	expect(t, r, outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Modified"},
		Objects:     map[string]string{"configmap apps/kept": "Orphaned", "service apps/kept": "Orphaned"},
		Findings:    []string{"FD105 configmap apps/kept", "FD105 service apps/kept"},
	})
	if c := r.report.Summary.Counts; c.Desired != 1 || c.Ready != 1 || c.Orphaned != 2 {
		t.Errorf("counts: %+v, want 1 of 1 ready and 2 orphaned", c)
	}

	// The label excludes the object.
	f.merge("kubectl", object("v1", "Service", apps, "kept"),
		`{"metadata":{"labels":{"objectset.rio.cattle.io/prune":"false"}}}`)
	expect(t, f.audit("bundle/guestbook"), outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Modified"},
		Objects:     map[string]string{"configmap apps/kept": "Orphaned"},
		Findings:    []string{"FD105 configmap apps/kept"},
	})
}

// TestOrphanedInTwoVersions has two bundles that desire one kind in two versions, so that the kind is listed
// twice. The orphaned object counts once.
func TestOrphanedInTwoVersions(t *testing.T) {
	f := newFleet(t, shared)
	hpa := "{apiVersion: autoscaling/%s, kind: HorizontalPodAutoscaler, metadata: {name: %s, %s}, " +
		"spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"
	v1, v2 := fmt.Sprintf(hpa, "v1", "one", ""), fmt.Sprintf(hpa, "v2", "two", "")
	f.deploy("first", v1)
	b := f.deploy("second", v2+"\n---\n"+fmt.Sprintf(hpa, "v2", "kept", keep))
	b.upgrade(v2)
	r := f.audit()
	expect(t, r, outcome{
		Status:      1,
		Deployments: map[string]string{"first": "Ready", "second": "Modified"},
		Objects:     map[string]string{"horizontalpodautoscaler apps/kept": "Orphaned"},
		Findings:    []string{"FD105 horizontalpodautoscaler apps/kept"},
	})
	if got := r.deployment(t, "second").Counts.Orphaned; got != 1 {
		t.Errorf("%d orphaned, want 1", got)
	}
}

// TestAbandoned creates objects of a set that no release has. Fleet's own sets, and sets with an owner, are
// ignored.
func TestAbandoned(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	withHash := "{apiVersion: v1, kind: %s, metadata: {name: %s, namespace: apps, labels: " +
		"{objectset.rio.cattle.io/hash: %s}, annotations: {%s}}}\n---\n"
	of := func(kind, name, id, more string) string {
		return fmt.Sprintf(withHash, kind, name, fleet.Hash(id), "objectset.rio.cattle.io/id: "+id+more)
	}
	f.ApplyYAML(t, "past",
		of("ConfigMap", "abandoned", "default-gone", "")+ // of a kind that is desired
			of("Secret", "abandoned", "default-gone", "")+ // of a kind that is not desired
			of("ConfigMap", "fleet-agent", "fleet-agent-bootstrap", "")+
			of("ConfigMap", "rancher", "some-controller", "")+
			of("ConfigMap", "owned", "default-owned", ", objectset.rio.cattle.io/owner-name: somebody"))
	r := f.audit()
	expect(t, r, outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Ready"},
		Findings:    []string{"FD106 configmap apps/abandoned", "FD106 secret apps/abandoned"},
	})
	expectContains(t, "the finding", r.report.Findings[0].Message, `"default-gone"`)
	// Abandoned objects are not part of a narrower scope.
	expect(t, f.audit("bundle/guestbook"), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
}

// TestLeftoverRelease has a release without a BundleDeployment. The release owns its objects, so they are not
// abandoned.
func TestLeftoverRelease(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	id := fleet.SetID("gone", "")
	f.InstallRelease(t, cluster.ReleaseOptions{BundleID: "gone", Namespace: apps, SetID: id, Hash: fleet.Hash(id),
		AgentNamespace: agentNamespace,
		Manifest:       "{apiVersion: v1, kind: ConfigMap, metadata: {name: left}}"})
	expect(t, f.audit(), outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Ready"},
		Findings:    []string{"FD608 secret apps/sh.helm.release.v1.gone.v1"},
	})
}

// TestCopiedHash has a controller create an object with the labels of its parent.
func TestCopiedHash(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", theme)
	f.ApplyYAML(t, "operator", fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata:
  name: child
  namespace: apps
  labels: {objectset.rio.cattle.io/hash: %s}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: theme, uid: %s, controller: true}]
`, b.options.Hash, f.get(configMap("theme")).GetUID()))
	r := f.audit()
	expect(t, r, outcome{
		Deployments: map[string]string{"guestbook": "Ready"},
		Findings:    []string{"FD109 secret apps/child"},
	})
	expectContains(t, "the evidence", r.report.Findings[0].Evidence[0], "configmap theme")
	expect(t, f.audit("--fail-on", "info"), outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Ready"},
		Findings:    []string{"FD109 secret apps/child"},
	})
}
