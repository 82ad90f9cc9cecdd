// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// BenchmarkObjects compares decoded objects: most objects of a cluster have no difference, so that case must be cheap.
func BenchmarkObjects(b *testing.B) {
	const configMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, labels: {app: web}},
		data: {level: info, retries: "3", colour: blue, text: "a line of text"}}`
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1.2.3
        env: [{name: LEVEL, value: info}, {name: RETRIES, value: "3"}]
        ports: [{name: http, containerPort: 8080}]
        resources: {requests: {cpu: 1000m, memory: 0.5Gi}, limits: {memory: 1Gi}}
`
	const liveDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: 1-2-3
  resourceVersion: "1"
  generation: 1
  labels: {app: web, app.kubernetes.io/managed-by: Helm}
spec:
  replicas: 2
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: IMAGE
        imagePullPolicy: IfNotPresent
        env: [{name: LEVEL, value: info}, {name: RETRIES, value: "3"}]
        ports: [{name: http, containerPort: 8080, protocol: TCP}]
        resources: {requests: {cpu: "1", memory: 512Mi}, limits: {memory: 1Gi}}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      - {name: injected, image: proxy}
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30
status: {replicas: 2, readyReplicas: 2}
`
	for _, bench := range []struct {
		name, desired, live string
		gvk                 schema.GroupVersionKind
		differences         int
	}{
		{name: "ConfigMap equal", gvk: corev1.SchemeGroupVersion.WithKind("ConfigMap"), desired: configMap,
			live: configMap},
		{name: "Deployment equal", gvk: appsv1.SchemeGroupVersion.WithKind("Deployment"), desired: deployment,
			live: strings.Replace(liveDeployment, "IMAGE", "registry.example.com/web:1.2.3", 1)},
		{name: "Deployment differs", gvk: appsv1.SchemeGroupVersion.WithKind("Deployment"), desired: deployment,
			live: strings.Replace(liveDeployment, "IMAGE", "registry.example.com/web:9", 1), differences: 1},
	} {
		b.Run(bench.name, func(b *testing.B) {
			desired, live := decoded(b, bench.desired), decoded(b, bench.live)
			b.ReportAllocs()
			for b.Loop() {
				if got := compare.Objects(desired, live, bench.gvk); len(got) != bench.differences {
					b.Fatalf("%d differences, want %d: %v", len(got), bench.differences, got)
				}
			}
		})
	}
}

func decoded(tb testing.TB, document string) object.Content {
	tb.Helper()
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		tb.Fatal(err)
	}
	content, _, err := object.Decode(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}
