// SPDX-License-Identifier: Apache-2.0

package defaults_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
)

const (
	pods  = `{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}`
	job   = `restartPolicy: Never, containers: [{name: c, image: i}]`
	claim = `accessModes: [ReadWriteOnce], storageClassName: s, resources: {requests: {storage: 1Gi}}`
)

// fixedFields are objects, and changes of them: the fields of a merge patch, in YAML.
var fixedFields = []struct {
	object  string
	changes []string
}{
	{`{apiVersion: v1, kind: ConfigMap, metadata: {name: fixed}, immutable: true, data: {a: b}}`,
		[]string{`data: {a: c}`, `data: {a: ""}`, `data: {d: e}`, `binaryData: {d: ZQ==}`, `immutable: false`,
			`metadata: {labels: {a: b}}`}},
	{`{apiVersion: v1, kind: ConfigMap, metadata: {name: open}, data: {a: b}}`,
		[]string{`data: {a: c}`, `immutable: true`}},
	{`{apiVersion: v1, kind: Secret, metadata: {name: fixed}, immutable: true, data: {a: YQ==}}`,
		[]string{`data: {a: Yg==}`, `type: example.com/a`, `immutable: false`}},
	{`{apiVersion: v1, kind: Secret, metadata: {name: open}, data: {a: YQ==}}`,
		[]string{`data: {a: Yg==}`, `type: example.com/a`}},
	{`{apiVersion: v1, kind: Service, metadata: {name: fixed}, spec: {ports: [{port: 80}]}}`,
		[]string{`spec: {clusterIP: None}`, `spec: {clusterIP: ""}`, `spec: {ports: [{port: 81}]}`,
			`spec: {selector: {a: b}}`, `spec: {type: NodePort}`}},
	{`{apiVersion: v1, kind: Service, metadata: {name: headless}, spec: {clusterIP: None, ports: [{port: 80}]}}`,
		[]string{`spec: {clusterIP: 10.0.0.99, clusterIPs: [10.0.0.99]}`}},
	{`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: fixed}, spec: {` + claim + `}}`,
		[]string{`spec: {accessModes: [ReadWriteMany]}`, `spec: {storageClassName: t}`, `spec: {volumeName: v}`,
			`metadata: {labels: {a: b}}`}},
	{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: fixed}, spec: {selector: {matchLabels: {a: b}}, ` +
		`template: ` + pods + `}}`,
		[]string{`spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {c: d}}}}`,
			`spec: {replicas: 2}`, `spec: {template: {metadata: {labels: {c: d}}}}`}},
	{`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: fixed}, spec: {selector: {matchLabels: {a: b}}, ` +
		`template: ` + pods + `}}`,
		[]string{`spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {c: d}}}}`}},
	{`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: fixed}, spec: {selector: {matchLabels: {a: b}}, ` +
		`template: ` + pods + `}}`,
		[]string{`spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {c: d}}}}`}},
	{`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: fixed}, spec: {serviceName: s, selector: ` +
		`{matchLabels: {a: b}}, template: ` + pods + `, volumeClaimTemplates: [{metadata: {name: v}, spec: {` + claim +
		`}}]}}`, []string{`spec: {serviceName: t}`, `spec: {podManagementPolicy: Parallel}`,
		`spec: {volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], ` +
			`storageClassName: s, resources: {requests: {storage: 2Gi}}}}]}`,
		`spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {c: d}}}}`,
		`spec: {replicas: 2, ordinals: {start: 1}, minReadySeconds: 5, revisionHistoryLimit: 3, ` +
			`updateStrategy: {rollingUpdate: {partition: 1}}, persistentVolumeClaimRetentionPolicy: ` +
			`{whenDeleted: Delete, whenScaled: Delete}, template: {metadata: {labels: {c: d}}}}`}},
	{`{apiVersion: batch/v1, kind: Job, metadata: {name: fixed}, spec: {completions: 2, template: {spec: {` + job +
		`}}}}`,
		[]string{`spec: {template: {spec: {containers: [{name: c, image: j}]}}}`, `spec: {completions: 3}`,
			`spec: {completionMode: Indexed}`, `spec: {parallelism: 3}`, `spec: {backoffLimit: 3}`,
			`spec: {template: {metadata: {labels: {a: b}}}}`}},
	{`{apiVersion: batch/v1, kind: Job, metadata: {name: indexed}, spec: {completions: 2, parallelism: 2, ` +
		`completionMode: Indexed, backoffLimitPerIndex: 1, template: {spec: {` + job + `}}}}`,
		[]string{`spec: {completions: 3, parallelism: 3}`, `spec: {backoffLimitPerIndex: 2}`,
			`spec: {podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}}`}},
	{`{apiVersion: batch/v1, kind: Job, metadata: {name: suspended}, spec: {suspend: true, template: {spec: {` + job +
		`}}}}`, []string{`spec: {template: {metadata: {labels: {a: b}}}}`}},
	{`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: fixed}, roleRef: ` +
		`{apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}, subjects: [{kind: Group, name: g, ` +
		`apiGroup: rbac.authorization.k8s.io}]}`,
		[]string{`roleRef: {name: b}`, `subjects: [{kind: User, name: u, apiGroup: rbac.authorization.k8s.io}]`}},
	{`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: fixed}, roleRef: ` +
		`{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}}`, []string{`roleRef: {name: b}`}},
	{`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fixed}, provisioner: example.com/p, ` +
		`parameters: {a: b}}`, []string{`provisioner: example.com/q`, `parameters: {a: c}`, `reclaimPolicy: Retain`,
		`volumeBindingMode: WaitForFirstConsumer`, `allowVolumeExpansion: true`, `mountOptions: [ro]`}},
	{`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: fixed}, value: 5}`,
		[]string{`value: 6`, `value: 0`, `preemptionPolicy: Never`, `description: d`}},
	{`{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: fixed}, spec: {controller: ` +
		`example.com/a}}`, []string{`spec: {controller: example.com/b}`,
		`spec: {parameters: {kind: ConfigMap, name: c}}`}},
}

// TestFixed checks for each change whether the API server refuses it, and that no more is said about it.
func TestFixed(t *testing.T) {
	shared.Namespace(t, namespace)
	for _, tc := range fixedFields {
		object := &unstructured.Unstructured{Object: parse(t, tc.object)}
		if namespaced, err := shared.Client().IsObjectNamespaced(object); err != nil {
			t.Fatal(err)
		} else if namespaced {
			object.SetNamespace(namespace)
		}
		live := object.DeepCopy()
		if err := shared.Client().Create(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		for _, change := range tc.changes {
			patch, err := yaml.YAMLToJSON([]byte(change))
			if err != nil {
				t.Fatal(err)
			}
			err = shared.Client().Patch(t.Context(), live.DeepCopy(),
				client.RawPatch("application/merge-patch+json", patch), client.DryRunAll)
			if err != nil && !apierrors.IsInvalid(err) {
				t.Fatalf("%s: %v", change, err)
			}
			desired := merged(object.Object, parse(t, change))
			refused := false
			for _, d := range compare.Objects(desired, live.Object, object.GroupVersionKind()) {
				refused = refused || compare.Fixed(object.GroupVersionKind().GroupKind(), d, live.Object)
			}
			if refused != (err != nil) {
				t.Errorf("%s %s: %s: refused %t, the server: %v", object.GetKind(), object.GetName(), change, refused,
					err)
			}
		}
	}
}

// merged returns an object after a merge patch.
func merged(object, patch map[string]any) map[string]any {
	out := (&unstructured.Unstructured{Object: object}).DeepCopy().Object
	for name, v := range patch {
		below, isMap := v.(map[string]any)
		have, wasMap := out[name].(map[string]any)
		if isMap && wasMap {
			v = merged(have, below)
		}
		out[name] = v
	}
	return out
}
