// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

func parse(tb testing.TB, manifest string) map[string]any {
	tb.Helper()
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		tb.Fatalf("%s: %v", manifest, err)
	}
	content, _ := decode(tb, raw)
	return content
}

// pairOf is a kind, a desired and a live object in YAML, and the paths that differ. The prefix "order " marks a path at
// which only the order differs.
type pairOf struct {
	name, kind, desired, live string
	want                      []string
}

// Kinds of the tables below.
const (
	configMap   = "v1 ConfigMap"
	secretKind  = "v1 Secret"
	service     = "v1 Service"
	deployment  = "apps/v1 Deployment"
	statefulSet = "apps/v1 StatefulSet"
	role        = "rbac.authorization.k8s.io/v1 Role"
	clusterRole = "rbac.authorization.k8s.io/v1 ClusterRole"
	webhooks    = "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration"
	endpoints   = "v1 Endpoints"
	custom      = "example.com/v1 Thing"
	rollout     = "argoproj.io/v1alpha1 Rollout"
)

func (c pairOf) check(t *testing.T) {
	t.Helper()
	apiVersion, kind := split(c.kind)
	gvk := object.Ref{APIVersion: apiVersion, Kind: kind}.GroupVersionKind()
	var got []string
	for _, d := range compare.Objects(parse(t, c.desired), parse(t, c.live), gvk) {
		path := d.Path.String()
		if d.Order {
			path = "order " + path
		}
		got = append(got, path)
	}
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func split(kind string) (apiVersion, name string) {
	for i := range kind {
		if kind[i] == ' ' {
			return kind[:i], kind[i+1:]
		}
	}
	return "", kind
}

func check(t *testing.T, table []pairOf) {
	t.Helper()
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) { c.check(t) })
	}
}

// pod returns a Deployment with one container that has further fields.
func pod(container string) string {
	return `spec: {template: {spec: {containers: [{name: c, image: i, ` + container + `}]}}}`
}

// TestWorkedExamples has the examples of docs/fleet-behavior.md, 3.8.
func TestWorkedExamples(t *testing.T) {
	const c = `.spec.template.spec.containers[name="c"]`
	check(t, []pairOf{
		{"key added", configMap, `data: {a: "1"}`, `data: {a: "1", b: "2"}`, nil},
		{"key changed", configMap, `data: {a: "1"}`, `data: {a: "2"}`, []string{".data.a"}},
		{"key removed", configMap, `data: {a: "1"}`, `data: {}`, []string{".data.a"}},
		// Fleet reports this object as modified because of the annotation. Here only the manifest is significant.
		{"last applied", configMap, `data: {a: "1"}`, `{data: {a: "1", b: "2"}, metadata: {annotations:
			{kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"1","b":"2"}}'}}}`, nil},
		{"label removed", deployment, `metadata: {labels: {a: "1"}}`, `metadata: {labels: {}}`,
			[]string{".metadata.labels.a"}},
		{"env added after", deployment, pod(`env: [{name: A}]`), pod(`env: [{name: A}, {name: B}]`), nil},
		{"env added before", deployment, pod(`env: [{name: A}]`), pod(`env: [{name: B}, {name: A}]`), nil},
		{"env in another order", deployment, pod(`env: [{name: A}, {name: B}]`), pod(`env: [{name: B}, {name: A}]`),
			[]string{"order " + c + ".env"}},
		{"sidecar after", deployment, `spec: {template: {spec: {containers: [{name: c}]}}}`,
			`spec: {template: {spec: {containers: [{name: c}, {name: side}]}}}`, nil},
		{"sidecar before", deployment, `spec: {template: {spec: {containers: [{name: c}]}}}`,
			`spec: {template: {spec: {containers: [{name: side}, {name: c}]}}}`, nil},
		{"port added", service, `spec: {ports: [{port: 80}]}`, `spec: {ports: [{port: 80}, {port: 81}]}`, nil},
		{"argument added", deployment, pod(`args: [x]`), pod(`args: [x, y]`), []string{c + ".args"}},
		{"list of a custom resource", custom, `spec: {l: [x]}`, `spec: {l: [x, y]}`, []string{".spec.l"}},
	})
}

// TestEdges has the edge cases of docs/fleet-behavior.md, 3, that concern two objects. Other packages test ownership,
// missing objects and counts.
func TestEdges(t *testing.T) {
	const c = `.spec.template.spec.containers[name="c"]`
	check(t, []pairOf{
		{"annotation added", configMap, `metadata: {annotations: {a: "1"}}`,
			`metadata: {annotations: {a: "1", b: "2"}}`, nil},
		{"annotation changed", configMap, `metadata: {annotations: {a: "1"}}`, `metadata: {annotations: {a: "2"}}`,
			[]string{".metadata.annotations.a"}},
		{"annotation removed", configMap, `metadata: {annotations: {a: "1"}}`, `metadata: {}`,
			[]string{".metadata.annotations.a"}},
		{"ownership metadata", configMap,
			`metadata: {annotations: {objectset.rio.cattle.io/id: a}, labels: {objectset.rio.cattle.io/hash: b}}`,
			`metadata: {annotations: {objectset.rio.cattle.io/id: z}}`, nil},

		{"stringData", secretKind, `stringData: {a: x}`, `data: {a: eA==}`, nil},
		{"stringData changed", secretKind, `stringData: {a: x}`, `data: {a: eQ==}`, []string{".data.a"}},
		{"stringData has precedence", secretKind, `{data: {a: eQ==, b: eQ==}, stringData: {a: x}}`,
			`data: {a: eA==, b: eQ==}`, nil},
		{"another base64", secretKind, `data: {a: "eA==\n"}`, `data: {a: eA==}`, nil},

		{"empty rules", role, `rules: []`, `rules: null`, nil},
		{"rules, empty in the manifest", role, `rules: []`, `rules: [{verbs: [get]}]`, []string{".rules"}},
		{"rules, null in the manifest", role, `rules: null`, `rules: [{verbs: [get]}]`, []string{".rules"}},
		{"null rules of a role with an unknown version", "rbac.authorization.k8s.io/v9 Role", `rules: null`,
			`rules: null`, nil},
		{"aggregated", clusterRole, `{aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}, rules: []}`,
			`{aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}, rules: [{verbs: [get]}]}`, nil},

		{"quantity", deployment, pod(`resources: {limits: {cpu: 1000m, memory: 1024Mi}}`),
			pod(`resources: {limits: {cpu: "1", memory: 1Gi}}`), nil},
		{"quantity as a number", deployment, pod(`resources: {limits: {cpu: 0.5}}`),
			pod(`resources: {limits: {cpu: 500m}}`), nil},
		{"quantity rounded up", deployment, pod(`resources: {limits: {cpu: 0.0001}}`),
			pod(`resources: {limits: {cpu: 1m}}`), nil},
		{"quantity changed", deployment, pod(`resources: {limits: {cpu: 1000m}}`),
			pod(`resources: {limits: {cpu: "2"}}`), []string{c + ".resources.limits.cpu"}},
		{"quantity of a custom resource", custom, `spec: {cpu: 1000m}`, `spec: {cpu: "1"}`, []string{".spec.cpu"}},
		{"port by number and by name", service, `spec: {ports: [{port: 80, targetPort: 8080}]}`,
			`spec: {ports: [{port: 80, targetPort: web}]}`,
			[]string{`.spec.ports[port=80,protocol="TCP"].targetPort`}},
		{"port as text", deployment, pod(`readinessProbe: {httpGet: {port: "80"}}`),
			pod(`readinessProbe: {httpGet: {port: 80}}`), nil},

		{"list of a custom resource in another order", custom, `spec: {l: [x, y]}`, `spec: {l: [y, x]}`,
			[]string{"order .spec.l"}},
		{"null in a list of a custom resource", custom, `spec: {l: [null, y]}`, `spec: {l: [x, y]}`,
			[]string{".spec.l[0]"}},
		{"element of a custom resource with another field", custom, `spec: {l: [{a: 1}]}`, `spec: {l: [{a: 1, b: 2}]}`,
			nil},
		{"map of a custom resource that is missing", custom, `spec: {m: {a: 1}}`, `spec: {}`, []string{".spec.m.a"}},
		{"empty map of a custom resource that is missing", custom, `spec: {m: {}}`, `spec: {}`, []string{".spec.m"}},
		{"map of nulls that is missing", custom, `spec: {m: {a: null}}`, `spec: {}`, nil},
		{"integer that a float cannot represent", custom, `spec: {big: 9007199254740993}`,
			`spec: {big: 9007199254740992}`, []string{".spec.big"}},
		{"one number in two notations", custom, `spec: {num: 1}`, `spec: {num: 1.0}`, nil},
		{"extra element at the end", deployment, pod(`args: [x]`), pod(`args: [x, y]`), []string{c + ".args"}},
		{"status", custom, `{spec: {a: 1}, status: {b: 1}}`, `{spec: {a: 1}, status: {b: 2}}`, nil},
		{"fields that the server sets", custom, `metadata: {uid: a, resourceVersion: "1", creationTimestamp: null}`,
			`metadata: {uid: b}`, nil},

		{"caBundle injected", webhooks, `webhooks: [{name: a, clientConfig: {url: u}}]`,
			`webhooks: [{name: a, clientConfig: {url: u, caBundle: eA==}}]`, nil},
		{"caBundle that is a placeholder", webhooks, `webhooks: [{name: a, clientConfig: {caBundle: Cg==}}]`,
			`webhooks: [{name: a, clientConfig: {caBundle: eA==}}]`, nil},
		{"caBundle stated", webhooks, `webhooks: [{name: a, clientConfig: {caBundle: eA==}}]`,
			`webhooks: [{name: a, clientConfig: {caBundle: eQ==}}]`,
			[]string{`.webhooks[name="a"].clientConfig.caBundle`}},

		{"endpoints in another order", endpoints, `subsets: [{addresses: [{ip: b}, {ip: a}], ports: [{port: 1}]}]`,
			`subsets: [{addresses: [{ip: a}, {ip: b}], ports: [{port: 1, protocol: TCP}]}]`, nil},
		{"claim templates with other fields", statefulSet,
			`spec: {volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [RWO]}}]}`,
			`spec: {volumeClaimTemplates: [{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: v},
				spec: {accessModes: [RWO], volumeMode: Filesystem}, status: {phase: Pending}}]}`, nil},
		{"quantity of a rollout's pods", rollout,
			`spec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: 1000m}}}]}}}`,
			`spec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: "1"}}}]}}}`, nil},
		{"rollout changed", rollout, `spec: {template: {spec: {containers: [{name: c, image: a}]}}}`,
			`spec: {template: {spec: {containers: [{name: c, image: b}]}}}`,
			[]string{".spec.template.spec.containers[0].image"}},
		{"content of any kind", "apps/v1 ControllerRevision", `data: {spec: {a: 1}}`, `data: {}`,
			[]string{".data.spec.a"}},
		{"a struct of zeros that is missing", "networking.k8s.io/v1 NetworkPolicy",
			`spec: {ingress: [{from: [{podSelector: {matchLabels: {}}}]}]}`,
			`spec: {ingress: [{from: [{}]}]}`, []string{".spec.ingress[0].from[0].podSelector"}},
		{"default for a missing key of a map", "v1 LimitRange",
			`spec: {limits: [{type: Container, default: {cpu: 1}, max: {cpu: 2, memory: 1Gi}}]}`,
			`spec: {limits: [{type: Container, default: {cpu: 1, memory: 1Gi}, defaultRequest: {cpu: 1, memory: 1Gi},
				max: {cpu: 2, memory: 1Gi}}]}`, nil},
		{"another value than the default", "v1 LimitRange",
			`spec: {limits: [{type: Container, default: {cpu: 1}, max: {cpu: 2, memory: 1Gi}}]}`,
			`spec: {limits: [{type: Container, default: {cpu: 1, memory: 2Gi}, defaultRequest: {cpu: 1, memory: 1Gi},
				max: {cpu: 2, memory: 1Gi}}]}`,
			[]string{".spec.limits[0].default.memory"}},
		{"defaults of a claim", "resource.k8s.io/v1 ResourceClaim",
			`spec: {devices: {requests: [{name: a, exactly: {deviceClassName: c}}]}}`,
			`spec: {devices: {requests: [{name: a,
				exactly: {deviceClassName: c, allocationMode: ExactCount, count: 1}}]}}`, nil},
		{"another number of devices", "resource.k8s.io/v1 ResourceClaim",
			`spec: {devices: {requests: [{name: a, exactly: {deviceClassName: c}}]}}`,
			`spec: {devices: {requests: [{name: a,
				exactly: {deviceClassName: c, allocationMode: ExactCount, count: 2}}]}}`,
			[]string{".spec.devices.requests[0].exactly.count"}},
		{"null for a port", service, `spec: {ports: [{port: 80, targetPort: null}]}`,
			`spec: {ports: [{port: 80, targetPort: 80}]}`, nil},
		{"null for a port, and another", service, `spec: {ports: [{port: 80, targetPort: null}]}`,
			`spec: {ports: [{port: 80, targetPort: 81}]}`,
			[]string{`.spec.ports[port=80,protocol="TCP"].targetPort`}},
		{"default beside null", "v1 LimitRange", `spec: {limits: [{type: Container, max: {cpu: 1}, default: null}]}`,
			`spec: {limits: [{type: Container, max: {cpu: 1}, default: {cpu: 1}, defaultRequest: {cpu: 1}}]}`, nil},
	})
}

// TestPaths checks that paths are in the notation of the API server. They lead to a leaf, or to a list if its length or
// order differs.
func TestPaths(t *testing.T) {
	check(t, []pairOf{
		{"by name", deployment, `spec: {template: {spec: {containers: [{name: web, image: a}]}}}`,
			`spec: {template: {spec: {containers: [{name: side}, {name: web, image: b}]}}}`,
			[]string{`.spec.template.spec.containers[name="web"].image`}},
		{"by several keys", deployment, pod(`ports: [{containerPort: 80, name: a}]`),
			pod(`ports: [{containerPort: 80, protocol: TCP, name: b}]`),
			[]string{`.spec.template.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].name`}},
		{"a key itself", service, `spec: {ports: [{port: 80}]}`, `spec: {ports: [{port: 80, protocol: UDP}]}`, nil},
		{"a key that is stated", service, `spec: {ports: [{port: 80, protocol: TCP}]}`,
			`spec: {ports: [{port: 80, protocol: UDP}]}`,
			[]string{`.spec.ports[port=80,protocol="TCP"].protocol`}},
		{"one of two elements with one merge key", service,
			`spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}`,
			`spec: {ports: [{port: 53, protocol: TCP}]}`, []string{`.spec.ports[port=53,protocol="UDP"]`}},
		{"both in another order", service, `spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}`,
			`spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}`, []string{"order .spec.ports"}},
		{"one of two changed, in another order", service,
			`spec: {ports: [{port: 53, protocol: TCP, targetPort: 1}, {port: 53, protocol: UDP}]}`,
			`spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP, targetPort: 2}]}`,
			[]string{`.spec.ports[port=53,protocol="TCP"].targetPort`, "order .spec.ports"}},
		{"an element that is missing", deployment, pod(`env: [{name: A}]`), pod(`env: []`),
			[]string{`.spec.template.spec.containers[name="c"].env[name="A"]`}},
		{"a set", configMap, `metadata: {finalizers: [b/c, a]}`, `metadata: {finalizers: [a]}`,
			[]string{`.metadata.finalizers[="b/c"]`}},
		{"maps where a set is expected", configMap, `metadata: {finalizers: [{a: 1}]}`,
			`metadata: {finalizers: [{a: 2}]}`, []string{".metadata.finalizers[=a=1]"}},
		{"by index", deployment, pod(`args: [x, y]`), pod(`args: [x, z]`),
			[]string{`.spec.template.spec.containers[name="c"].args[1]`}},
		{"within an element by index", "networking.k8s.io/v1 NetworkPolicy",
			`spec: {egress: [{ports: [{port: 1}, {port: 2}]}]}`,
			`spec: {egress: [{ports: [{port: 1, protocol: TCP}, {port: 2, protocol: UDP}]}]}`,
			[]string{".spec.egress[0].ports[1].protocol"}},
		{"another length", deployment, pod(`args: [x, y]`), pod(`args: [y]`),
			[]string{`.spec.template.spec.containers[name="c"].args`}},
		{"a list that is missing", deployment, pod(`args: [x, y]`), pod(`tty: true`),
			[]string{`.spec.template.spec.containers[name="c"].args`}},
		{"another order", deployment, pod(`args: [x, y]`), pod(`args: [y, x]`),
			[]string{`order .spec.template.spec.containers[name="c"].args`}},
		{"keys with dots and slashes", configMap,
			`{metadata: {labels: {app.kubernetes.io/name: a}}, data: {a.b/c: x, "": y}}`,
			`{metadata: {labels: {app.kubernetes.io/name: b}}, data: {a.b/c: y, "": z}}`,
			[]string{".data.", ".data.a.b/c", ".metadata.labels.app.kubernetes.io/name"}},
		{"custom resources by index only", custom, `spec: {containers: [{name: web, image: a}]}`,
			`spec: {containers: [{name: web, image: b}]}`,
			[]string{".spec.containers[0].image"}},
		{"an unstated key beside one that excludes it", deployment, `spec: {strategy: {type: Recreate}}`,
			`spec: {strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}`,
			[]string{".spec.strategy.rollingUpdate"}},
	})
}

// TestValues checks that a difference has both values, and reports which of them exist.
func TestValues(t *testing.T) {
	gvk := object.Ref{APIVersion: "v1", Kind: "ConfigMap"}.GroupVersionKind()
	type difference struct {
		Path                string
		Desired, Live       any
		DesiredSet, LiveSet bool
	}
	var got []difference
	for _, d := range compare.Objects(parse(t, `data: {a: "1", b: "", c: "3"}`), parse(t, `data: {a: "2", b: x}`),
		gvk) {
		got = append(got, difference{d.Path.String(), d.Desired, d.Live, d.DesiredSet, d.LiveSet})
	}
	want := []difference{
		{".data.a", "1", "2", true, true},
		{".data.b", "", "x", true, true},
		{".data.c", "3", nil, true, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

// TestNestedLists checks that nested lists in which every leaf differs are compared in bounded time. A search for
// another order on each level, within the search on the level above, would take exponential time.
func TestNestedLists(t *testing.T) {
	var nested func(depth int, leaf string) any
	nested = func(depth int, leaf string) any {
		if depth == 0 {
			return leaf
		}
		return []any{nested(depth-1, leaf+"a"), nested(depth-1, leaf+"b"), nested(depth-1, leaf+"c"),
			nested(depth-1, leaf+"d")}
	}
	const depth = 7
	gvk := object.Ref{APIVersion: "example.com/v1", Kind: "Thing"}.GroupVersionKind()
	got := compare.Objects(map[string]any{"spec": nested(depth, "x")}, map[string]any{"spec": nested(depth, "y")}, gvk)
	if want := 1 << (2 * depth); len(got) != want {
		t.Errorf("%d differences, want each of the %d leaves", len(got), want)
	}
}
