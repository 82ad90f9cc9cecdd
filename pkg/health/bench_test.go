// SPDX-License-Identifier: Apache-2.0

package health

import "testing"

// BenchmarkEvaluate measures the most frequent kinds of a cluster. An audit
// evaluates every object once.
func BenchmarkEvaluate(b *testing.B) {
	documents := []struct{ name, document string }{
		{"ConfigMap", `{apiVersion: v1, kind: ConfigMap,
			metadata: {name: a, namespace: b, labels: {c: d}, annotations: {e: f}}, data: {g: h}}`},
		{"Role", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role,
			metadata: {name: a, namespace: b, labels: {c: d}}, rules: []}`},
		{"Service", `{apiVersion: v1, kind: Service, metadata: {name: a},
			spec: {type: ClusterIP, clusterIP: 10.0.0.1}, status: {loadBalancer: {}}}`},
		{"Deployment", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: b, generation: 2}
spec: {replicas: 1, progressDeadlineSeconds: 600}
status:
  observedGeneration: 2
  replicas: 1
  updatedReplicas: 1
  availableReplicas: 1
  readyReplicas: 1
  conditions:
  - {type: Available, status: "True", reason: MinimumReplicasAvailable, message: has minimum availability}
  - {type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: has successfully progressed}`},
	}
	for _, d := range documents {
		obj := object(b, d.document)
		b.Run(d.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !Evaluate(obj, nil, taken).Ready {
					b.Fatal("not ready")
				}
			}
		})
	}
}
