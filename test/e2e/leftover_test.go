// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// keep makes Helm leave an object where it is when a release does not want it any more.
const keep = `annotations: {helm.sh/resource-policy: keep}`

const theme = "{apiVersion: v1, kind: ConfigMap, metadata: {name: theme}}"

// TestOrphaned drops objects from a bundle that Helm must keep: one of a kind that is still desired, one of a kind that nobody desires.
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
		t.Errorf("counts: %+v, want 1 of 1 ready, and 2 orphaned beside them", c)
	}

	// Marked as Fleet's own, it is left alone.
	f.merge("kubectl", object("v1", "Service", apps, "kept"), `{"metadata":{"labels":{"objectset.rio.cattle.io/prune":"false"}}}`)
	expect(t, f.audit("bundle/guestbook"), outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Modified"},
		Objects:     map[string]string{"configmap apps/kept": "Orphaned"},
		Findings:    []string{"FD105 configmap apps/kept"},
	})
}

// TestOrphanedInTwoVersions lists a kind in two versions, because one bundle states one of them and another the other. What is left over is
// found twice then, and counts once.
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
		Objects:     map[string]string{"horizontalpodautoscaler.autoscaling apps/kept": "Orphaned"},
		Findings:    []string{"FD105 horizontalpodautoscaler.autoscaling apps/kept"},
	})
	if got := r.deployment(t, "second").Counts.Orphaned; got != 1 {
		t.Errorf("%d orphaned, want 1", got)
	}
}

// TestAbandoned leaves objects of a set that no release has any more. Sets that are Fleet's own, or have an owner, are not looked at.
func TestAbandoned(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	marked := "{apiVersion: v1, kind: %s, metadata: {name: %s, namespace: apps, labels: {objectset.rio.cattle.io/hash: %s}, annotations: {%s}}}\n---\n"
	of := func(kind, name, id, more string) string {
		return fmt.Sprintf(marked, kind, name, fleet.Hash(id), "objectset.rio.cattle.io/id: "+id+more)
	}
	f.ApplyYAML(t, "past",
		of("ConfigMap", "abandoned", "default-gone", "")+ // of a kind that is desired
			of("Secret", "abandoned", "default-gone", "")+ // and of one that is not
			of("ConfigMap", "fleets-own", "fleet-agent-bootstrap", "")+
			of("ConfigMap", "rancher", "some-controller", "")+
			of("ConfigMap", "owned", "default-owned", ", objectset.rio.cattle.io/owner-name: somebody"))
	r := f.audit()
	expect(t, r, outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Ready"},
		Findings:    []string{"FD106 configmap apps/abandoned", "FD106 secret apps/abandoned"},
	})
	says(t, "the finding", r.report.Findings[0].Message, `"default-gone"`)
	// What nobody has is nobody's: it belongs to no narrower scope.
	expect(t, f.audit("bundle/guestbook"), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
}

// TestLeftoverRelease leaves a release without its BundleDeployment. Its objects are that release's, not abandoned.
func TestLeftoverRelease(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	id := fleet.SetID("gone", "")
	f.InstallRelease(t, cluster.ReleaseOptions{BundleID: "gone", Namespace: apps, SetID: id, Hash: fleet.Hash(id), AgentNamespace: agentNamespace,
		Manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: left}}"})
	expect(t, f.audit(), outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Ready"},
		Findings:    []string{"FD606 secret apps/sh.helm.release.v1.gone.v1"},
	})
}

// TestCopiedHash has a controller make an object with its parent's labels.
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
	says(t, "the evidence", r.report.Findings[0].Evidence[0], "configmap theme")
	expect(t, f.audit("--fail-on", "info"), outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Ready"},
		Findings:    []string{"FD109 secret apps/child"},
	})
}
