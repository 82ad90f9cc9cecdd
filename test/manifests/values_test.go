// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// former are the values of the charts of version 0.2, which `helm upgrade --reuse-values` keeps as they are.
var former = map[string]string{
	directory: "{image: '', replicas: 2, certificates: self-signed, exact: false, guardDefault: warn, " +
		"releaseNamespaces: [], apiServers: []}",
	auditorDirectory: "{image: '', replicas: 2, clusterName: '', events: true, openReports: false, journal: true, " +
		"readRules: [], prometheus: none, prometheusLabels: {}, dashboards: none, keep: false, apiServers: []}",
}

// pod is the path of the pods of a Deployment.
const pod = "Deployment {.spec.template.spec."

// valueSets are values as users state them, with what is rendered: a kind and a path in its objects, with the values
// there. A kind without a path is absent.
var valueSets = []struct {
	name, values string
	// only is the chart that has the values; empty for both.
	only string
	want map[string]string
}{
	{name: "default", values: "{}", want: map[string]string{
		pod + "containers[0].image}":           "fleetdoctor/kubectl-fleetdoctor:dev",
		pod + "containers[0].imagePullPolicy}": "IfNotPresent",
		pod + "nodeSelector}":                  `{"kubernetes.io/os":"linux"}`,
		pod + "tolerations[*].key}":            "cattle.io/os",
		pod + "topologySpreadConstraints[*].topologyKey}": "kubernetes.io/hostname " +
			"topology.kubernetes.io/zone",
		"Deployment {.metadata.labels.helm\\.sh/chart}":               "NAME-0.0.0-dev",
		`Deployment {.metadata.labels.app\.kubernetes\.io/version}`:   "dev",
		`Deployment {.metadata.labels.app\.kubernetes\.io/instance}`:  "NAME",
		`Deployment {.metadata.labels.app\.kubernetes\.io/component}`: "COMPONENT",
		"PodMonitor": "",
	}},
	{name: "an air-gapped Rancher", values: `
global: {cattle: {systemDefaultRegistry: registry.example.com, imagePullSecrets: [{name: rancher}]}}`,
		want: map[string]string{
			pod + "containers[0].image}":      "registry.example.com/fleetdoctor/kubectl-fleetdoctor:dev",
			pod + "imagePullSecrets[*].name}": "rancher",
		}},
	{name: "image", values: `
image: {repository: "mirror.example.com:5000/doctor", tag: v2, pullPolicy: Always}
imagePullSecrets: [own]
global: {imagePullSecrets: [{name: all}, own]}`,
		want: map[string]string{
			pod + "containers[0].image}":           "mirror.example.com:5000/doctor:v2",
			pod + "containers[0].imagePullPolicy}": "Always",
			pod + "imagePullSecrets[*].name}":      "own all",
		}},
	{name: "digest", values: "image: {tag: v2, digest: 'sha256:" + digest + "'}", want: map[string]string{
		pod + "containers[0].image}": "fleetdoctor/kubectl-fleetdoctor@sha256:" + digest}},
	{name: "scheduling", values: `
resources: {limits: {memory: 1Gi}}
nodeSelector: {disk: ssd}
tolerations: [{key: dedicated, operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [
  {key: zone, operator: In, values: [a]}]}]}}}
priorityClassName: system-cluster-critical
topologySpreadConstraints: []`,
		want: map[string]string{
			pod + "containers[0].resources.limits}":                   `{"memory":"1Gi"}`,
			pod + `containers[0].env[?(@.name=="GOMEMLIMIT")].value}`: "PART",
			pod + "nodeSelector}":                                     `{"disk":"ssd","kubernetes.io/os":"linux"}`,
			pod + "tolerations[*].key}":                               "cattle.io/os dedicated",
			pod + "affinity.nodeAffinity..key}":                       "zone",
			pod + "priorityClassName}":                                "system-cluster-critical",
			pod + "topologySpreadConstraints[*].maxSkew}":             "",
		}},
	{name: "pods", values: `
podAnnotations: {example.com/owner: platform}
podLabels: {team: platform, app.kubernetes.io/name: another}
extraArgs: [--log-level=debug]
extraEnv: [{name: GOMEMLIMIT, value: 100MiB}, {name: HTTPS_PROXY, value: "http://proxy.example.com"}]`,
		want: map[string]string{
			`Deployment {.spec.template.metadata.annotations.example\.com/owner}`:  "platform",
			"Deployment {.spec.template.metadata.labels.team}":                     "platform",
			`Deployment {.spec.template.metadata.labels.app\.kubernetes\.io/name}`: "NAME",
			pod + "containers[0].env[*].value}":                                    "100MiB http://proxy.example.com",
			pod + `containers[0].args[-1:]}`:                                       "--log-level=debug",
		}},
	{name: "an account that exists", values: "serviceAccount: {create: false, name: own}", want: map[string]string{
		"ServiceAccount":                         "",
		pod + "serviceAccountName}":              "own",
		"ClusterRoleBinding {.subjects[0].name}": "own",
		"RoleBinding {.subjects[0].name}":        "own",
	}},
	{name: "a named account", values: "serviceAccount: {name: own, annotations: {example.com/role: reader}}",
		want: map[string]string{
			"ServiceAccount {.metadata.name}":                          "own",
			`ServiceAccount {.metadata.annotations.example\.com/role}`: "reader",
			pod + "serviceAccountName}":                                "own",
		}},
	{name: "off", values: `
rbac: {create: false}
podDisruptionBudget: {enabled: false}
networkPolicy: {enabled: false}`,
		want: map[string]string{"ClusterRole": "", "ClusterRoleBinding": "", "Role": "", "RoleBinding": "",
			"PodDisruptionBudget": "", "NetworkPolicy": ""}},
	{name: "monitor", values: "podMonitor: {enabled: true, labels: {release: monitoring}, interval: 30s}",
		want: map[string]string{
			"PodMonitor {.metadata.labels.release}":                               "monitoring",
			"PodMonitor {.spec.podMetricsEndpoints[0].interval}":                  "30s",
			"NetworkPolicy {.spec.ingress[*].ports[?(@.port==\"metrics\")].port}": "metrics",
			"PrometheusRule": "",
		}},
	{name: "rules and dashboards", only: auditorDirectory, values: `
prometheusRule: {enabled: true, labels: {release: monitoring}}
dashboards: {enabled: true, labels: {grafana_dashboard: "yes"}, annotations: {folder: Fleet}}`,
		want: map[string]string{
			"PodMonitor": "",
			"PrometheusRule {.metadata.labels.release}":      "monitoring",
			"ConfigMap {.metadata.labels.grafana_dashboard}": "yes",
			"ConfigMap {.metadata.annotations.folder}":       "Fleet",
		}},
	{name: "former names", only: auditorDirectory, values: `
image: example.com/doctor:v1
prometheus: operator
prometheusLabels: {release: monitoring}
dashboards: configmap`,
		want: map[string]string{
			pod + "containers[0].image}":                     "example.com/doctor:v1",
			"PodMonitor {.metadata.labels.release}":          "monitoring",
			"PrometheusRule {.metadata.labels.release}":      "monitoring",
			"ConfigMap {.metadata.labels.grafana_dashboard}": "1",
			"notes": "image is one string,prometheus is replaced,prometheusLabels is replaced,dashboards is replaced",
		}},
	{name: "nothing written down", only: directory, values: "record: 'off'", want: map[string]string{
		"ConfigMap": "", "Role": "NAME-certificates", "RoleBinding": "NAME-certificates",
		pod + "containers[0].args[3:]}": "--guard-default=warn --record=off"}},
	{name: "groups", only: directory, values: "{record: deletions, recordGroups: true}", want: map[string]string{
		"ConfigMap": "NAME-seen", "Role": "NAME-certificates NAME-seen",
		pod + "containers[0].args[4:]}": "--record=deletions --record-groups"}},
	{name: "reused", values: "reused", want: map[string]string{
		pod + "containers[0].image}":            "fleetdoctor/kubectl-fleetdoctor:dev",
		pod + "containers[0].resources.limits}": `LIMITS`,
		pod + "serviceAccountName}":             "NAME",
		pod + "nodeSelector}":                   `{"kubernetes.io/os":"linux"}`,
		"PodDisruptionBudget {.metadata.name}":  "NAME", "NetworkPolicy {.metadata.name}": "NAME",
		"ServiceAccount {.metadata.name}": "NAME", "PodMonitor": "", "notes": "",
	}},
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// byChart are the values that differ between the charts.
var byChart = map[string]map[string]string{
	directory: {"NAME": "fleetdoctor-webhook", "COMPONENT": "webhook", "PART": "644245094",
		"LIMITS": `{"memory":"512Mi"}`},
	auditorDirectory: {"NAME": "fleetdoctor-auditor", "COMPONENT": "auditor", "PART": "966367641",
		"LIMITS": `{"memory":"300Mi"}`},
}

// TestValues renders the charts with values as users state them. A server accepts all objects, without unknown fields.
func TestValues(t *testing.T) {
	createNamespaces(t)
	for _, set := range valueSets {
		for _, dir := range []string{directory, auditorDirectory} {
			if set.only != "" && set.only != dir {
				continue
			}
			t.Run(set.name+" "+byChart[dir]["COMPONENT"], func(t *testing.T) {
				r, err := template(t, dir, set.values)
				if err != nil {
					t.Fatal(err)
				}
				objs := objectsOf(t, r.Manifest)
				for _, path := range slices.Sorted(maps.Keys(set.want)) {
					want := set.want[path]
					for name, value := range byChart[dir] {
						want = strings.ReplaceAll(want, name, value)
					}
					if path == "notes" {
						expectNotes(t, r.Info.Notes, want)
					} else if got := find(t, objs, path); got != want {
						t.Errorf("%s: %q, want %q", path, got, want)
					}
				}
				for _, obj := range objs {
					if err := shared.Client().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj),
						client.FieldOwner("test"), client.DryRunAll); err != nil {
						t.Errorf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
					}
				}
			})
		}
	}
}

// templateSet renders a chart with values as YAML. "reused" are those of the former chart, without those of this one.
func template(t *testing.T, dir, text string) (*releasev1.Release, error) {
	t.Helper()
	c, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if text == "reused" {
		c.Values, text = map[string]any{}, former[dir]
	}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler)))
	install.ReleaseName, install.Namespace = byChart[dir]["NAME"], systemNamespace
	install.DryRunStrategy = action.DryRunClient
	install.KubeVersion = &common.KubeVersion{Version: "v1.28.0", Major: "1", Minor: "28"}
	r, err := install.Run(c, values)
	made, _ := r.(*releasev1.Release)
	return made, err
}

// objectsOf returns the objects of a manifest.
func objectsOf(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		u := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSONStrict([]byte(document))
		if err == nil {
			err = u.UnmarshalJSON(data)
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		out = append(out, u)
	}
	return out
}

// find returns the values at a path of the objects of a kind, such as "Deployment {.spec.replicas}"; of a kind alone,
// the names of its objects.
func find(t *testing.T, objs []*unstructured.Unstructured, path string) string {
	t.Helper()
	kind, expression, hasPath := strings.Cut(path, " ")
	if !hasPath {
		expression = "{.metadata.name}"
	}
	parsed := jsonpath.New(path).AllowMissingKeys(true)
	if err := parsed.Parse(expression); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, obj := range objs {
		var b strings.Builder
		if obj.GetKind() != kind {
			continue
		}
		if err := parsed.Execute(&b, obj.Object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, b.String())
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// expectNotes checks the warnings of a chart. want are parts of them, in their order, separated by a comma.
func expectNotes(t *testing.T, notes, want string) {
	t.Helper()
	var warnings []string
	for line := range strings.Lines(notes) {
		if strings.HasPrefix(line, "Warning: ") {
			warnings = append(warnings, line)
		}
	}
	parts := strings.FieldsFunc(want, func(r rune) bool { return r == ',' })
	if !slices.EqualFunc(warnings, parts, strings.Contains) {
		t.Errorf("warnings %q, want %q", warnings, parts)
	}
}

// TestRefusedValues checks that a value that cannot work is refused, and that the error names it.
func TestRefusedValues(t *testing.T) {
	for text, want := range map[string]string{
		"image: bad image":                "at '/image'",
		"image: {repository: Bad}":        "at '/image/repository'",
		"image: {tag: 'a b'}":             "at '/image/tag'",
		"image: {digest: abc}":            "at '/image/digest'",
		"image: {pullPolicy: Sometimes}":  "at '/image/pullPolicy'",
		"replicas: 0":                     "at '/replicas'",
		"imagePullSecrets: [{secret: a}]": "at '/imagePullSecrets/0'",
		"serviceAccount: {create: false}": "serviceAccount.name must name an account",
		"podMonitor: {enable: true}":      "at '/podMonitor'",
		"extraEnv: [{value: a}]":          "at '/extraEnv/0'",
		"apiServers: [somewhere]":         "at '/apiServers/0'",
		"unknown: true":                   "unknown",
		"resources: large":                "at '/resources'",
	} {
		for _, dir := range []string{directory, auditorDirectory} {
			if _, err := template(t, dir, text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v, want %q", dir, text, err, want)
			}
		}
	}
	if _, err := template(t, auditorDirectory, "clusterName: edge-1"); err == nil ||
		!strings.Contains(err.Error(), "at '/clusterName'") {
		t.Errorf("clusterName without a namespace: %v", err)
	}
}

// TestSharedHelpers checks that both charts have the same helpers.
func TestSharedHelpers(t *testing.T) {
	const name = "/templates/_common.tpl"
	if string(readFile(t, directory+name)) != string(readFile(t, auditorDirectory+name)) {
		t.Errorf("%s differs: copy the one that you changed", name)
	}
}
