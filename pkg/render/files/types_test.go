// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/files"
)

// TestTypes checks which values fleet apply accepts. Each result is that of fleet apply (Fleet's main branch) for the
// same text: the field that it names, or another error.
func TestTypes(t *testing.T) {
	for _, tc := range []struct{ text, refused string }{
		{`defaultNamespace: 123`, "defaultNamespace"},
		{`name: 2024`, "name"},
		{`name: off`, "name"},
		{`paused: "true"`, "paused"},
		{`paused: yes`, ""},
		{`keepResources: yes`, ""},
		{`helm: {timeoutSeconds: "10"}`, "helm.timeoutSeconds"},
		{`helm: {releaseName: 5}`, "helm.releaseName"},
		{`helm: {maxHistory: 1.5}`, "helm.maxHistory"},
		{`helm: {atomic: "on"}`, "helm.atomic"},
		{`namespace: on`, "namespace"},
		{`namespaceLabels: {a: true}`, "namespaceLabels"},
		{`labels: {a: 12}`, "labels"},
		{`labels: {name: 12}`, ""},
		{`annotations: {a: 1}`, "annotations"},
		{`dependsOn: [{name: 12}]`, "dependsOn.name"},
		{`dependsOn: {name: a}`, "dependsOn"},
		{`helm: {valuesFiles: [1]}`, "helm.valuesFiles"},
		{`helm: {values: a}`, "helm.values"},
		{`helm: {values: {a: 1}, values: {b: 1}}`, ""},
		{`serviceAccount: 1`, "serviceAccount"},
		{`serviceAccount: null`, ""},
		{`defaultNamespace: null`, ""},
		{`targetCustomizations: [{name: off, clusterName: 7}]`, ""},
		{`targetCustomizations: [{helm: {version: 1.0}, clusterName: a}]`, "targetCustomizations.helm.version"},
		{`targetCustomizations: [{namespaceLabels: {a: true}, clusterName: a}]`, ""},
		{`targetCustomizations: [{doNotDeploy: "true", clusterName: a}]`, "targetCustomizations.doNotDeploy"},
		{`targetCustomizations: [{clusterSelector: {matchLabels: {a: true}}}]`, ""},
		{`targetCustomizations: [{clusterSelector: {matchExpressions: [{key: a, operator: In, values: [1]}]}}]`, ""},
		{`targets: [{name: off}]`, "targets.name"},
		{`overrideTargets: [{clusterGroup: 5}]`, ""},
		{`rolloutStrategy: {maxUnavailable: "2"}`, ""},
		{`rolloutStrategy: {maxNew: "2"}`, "rolloutStrategy.maxNew"},
		{`rolloutStrategy: {partitions: [{name: 5}]}`, "rolloutStrategy.partitions.name"},
		{`helm: {takeOwnership: "yes"}`, "helm.takeOwnership"},
		{`diff: {comparePatches: [{name: 1}]}`, "diff.comparePatches.name"},
		{`diff: {comparePatches: [{operations: [{op: replace, path: /a, value: 1}]}]}`,
			"diff.comparePatches.operations.value"},
		{`ignore: {conditions: [{a: true}]}`, "ignore.conditions"},
		{`correctDrift: true`, "correctDrift"},
		{`correctDrift: {enabled: "true"}`, "correctDrift.enabled"},
		{`kustomize: {dir: 1}`, "kustomize.dir"},
		{`kustomize: dir`, "kustomize"},
		{`yaml: {overlays: a}`, "yaml.overlays"},
		{`imageScans: [{interval: 5d}]`, "one of its values has a wrong format"},
		{`Paused: "true"`, "paused"},
		{`helm: {valuesFrom: [{secretKeyRef: {name: 1, key: a}}]}`, "helm.valuesFrom.secretKeyRef.name"},
		{`downstreamResources: [{kind: Secret, name: 1}]`, "downstreamResources.name"},
		{`schedule: 5`, ""},
		{`offSchedule: "no"`, ""},
		{`createNamespace: "false"`, "createNamespace"},
		{`- a`, "it is not a map of bundle options"},
		{`"text"`, "it is not a map of bundle options"},
		{`targetCustomizationMode: 1`, "targetCustomizationMode"},
		{`helm: {templateValues: {a: 1}}`, "helm.templateValues"},
		{`forceSyncGeneration: "1"`, "forceSyncGeneration"},
		{`creationTimestamp: soon`, "one of its values has a wrong format"},
		{`generation: a`, "generation"},
		{`finalizers: a`, "finalizers"},
		{`paused: 1`, "paused"},
		{`helm: {values: null}`, ""},
		{`labels: null`, ""},
		{`targets: null`, ""},
		{`namespace: 2024-01-01`, ""},
		{`name: 1e3`, "name"},
		{`name: Bad_Name`, "name: a lowercase RFC 1123 subdomain"},
		{`helm: {releaseName: Not_Valid}`, "helm.releaseName: a lowercase RFC 1123 subdomain"},
		{`helm: {releaseName: ` + strings.Repeat("r", 60) + `}`, "helm.releaseName: must be no more than 53"},
		{`labels: {a: "b c"}`, "labels: a valid label must be"},
		{`labels: {"bad key!": x}`, "labels: name part must consist of"},
	} {
		l, err := files.Load(written(t, map[string]string{"fleet.yaml": tc.text, "a.yaml": ""}), repo)
		if err != nil {
			t.Fatalf("%s: %v", tc.text, err)
		}
		got, _, _ := strings.Cut(strings.TrimPrefix(l.Refused, "reading fleet.yaml: "), " (line ")
		got = strings.TrimSuffix(got, " has a wrong type")
		if got != tc.refused && (tc.refused == "" || !strings.HasPrefix(got, tc.refused)) {
			t.Errorf("%s: got %q, want %q", tc.text, got, tc.refused)
		}
	}
}
