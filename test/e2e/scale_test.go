// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// web is a Deployment with two replicas.
const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "example.com/web:1"}]}}
`

// autoscaler scales it to 1 to 5 replicas.
const autoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: apps}
spec: {minReplicas: 1, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`

const webKey = "deployment apps/web"

// rollOut writes the status of a Deployment that its controller would write.
func (f *fleetServer) rollOut(name string) {
	f.t.Helper()
	live := f.get(deployment(name))
	replicas, _, err := unstructured.NestedInt64(live.Object, "spec", "replicas")
	if err != nil {
		f.t.Fatal(err)
	}
	const status = `{"status":{"observedGeneration":%d,"replicas":%[2]d,"updatedReplicas":%[2]d,
		"readyReplicas":%[2]d,"availableReplicas":%[2]d,"conditions":[
			{"type":"Available","status":"True","reason":"MinimumReplicasAvailable"},
			{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}}`
	f.merge("kube-controller-manager", deployment(name), fmt.Sprintf(status, live.GetGeneration(), replicas), "status")
}

// scale sets the replicas through the subresource, as an autoscaler does.
func (f *fleetServer) scale(manager, name string, replicas int) {
	f.t.Helper()
	f.merge(manager, deployment(name), fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas), "scale")
	f.rollOut(name)
}

// TestReplicas changes the replicas of a Deployment within and outside the range of an autoscaler.
func TestReplicas(t *testing.T) {
	for name, test := range map[string]struct {
		autoscaler string // "bundle": of the same bundle; "alone": of no bundle; "": none
		replicas   int
		modified   bool
	}{
		"no autoscaler":                     {replicas: 4, modified: true},
		"within the range of the bundle's":  {autoscaler: "bundle", replicas: 4},
		"outside the range of the bundle's": {autoscaler: "bundle", replicas: 7, modified: true},
		"within the range of another":       {autoscaler: "alone", replicas: 4},
		"at the end of the range":           {autoscaler: "alone", replicas: 5},
		"outside the range of another":      {autoscaler: "alone", replicas: 7, modified: true},
		"as desired":                        {autoscaler: "alone", replicas: 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, shared)
			manifest := web
			if test.autoscaler == "bundle" {
				manifest += "\n---\n" + autoscaler
			}
			f.deploy("web", manifest)
			if test.autoscaler == "alone" {
				f.ApplyYAML(t, "platform", autoscaler)
			}
			f.scale("horizontal-pod-autoscaler", "web", test.replicas)

			want := outcome{Deployments: map[string]string{"web": "Ready"}}
			if test.modified {
				want = outcome{Status: 1, Deployments: map[string]string{"web": "Modified"},
					Objects: map[string]string{webKey: "Modified"}, Findings: []string{"FD104 " + webKey}}
			}
			for _, check := range []string{"never", "auto", "always"} {
				r := f.audit("--server-check", check)
				expect(t, r, want)
				if t.Failed() {
					t.Fatalf("with --server-check=%s", check)
				}
				if !test.modified {
					continue
				}
				diff := cmp.Diff([]report.Difference{{Path: ".spec.replicas", Pointer: "/spec/replicas",
					Desired: evaluate.Plain(2.0), Live: evaluate.Plain(float64(test.replicas)),
					// the server records no time here
					Manager: "horizontal-pod-autoscaler", Operation: "Update", Subresource: "scale"}},
					r.resource(t, "web", webKey).Differences)
				if diff != "" {
					t.Errorf("differences (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestNotReady audits a Deployment that no controller has seen yet, and one that is not completely rolled out.
func TestNotReady(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("web", web)
	want := outcome{Status: 1, Deployments: map[string]string{"web": "NotReady"},
		Objects: map[string]string{webKey: "NotReady"}, Findings: []string{"FD107 " + webKey}}
	expect(t, f.audit(), want)
	f.rollOut("web")
	expect(t, f.audit(), outcome{Deployments: map[string]string{"web": "Ready"}})
	const unavailable = `{"status":{"readyReplicas":1,"availableReplicas":1,"unavailableReplicas":1,"conditions":[
		{"type":"Available","status":"False","reason":"MinimumReplicasUnavailable","message":"no pod is up"}]}}`
	f.merge("kube-controller-manager", deployment("web"), unavailable, "status")
	expect(t, f.audit(), want)
}
