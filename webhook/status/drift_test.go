// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte("apiVersion: v1\nkind: Anything\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestDrift(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want, got string
		drift           []string
	}{
		{"defaults of the server", "spec: {replicas: 2}", "spec: {replicas: 2, revisionHistoryLimit: 10}\nstatus: {ready: 1}", nil},
		{"a value", "spec: {replicas: 2}", "spec: {replicas: 3}", []string{"spec.replicas is 3, wants 2"}},
		{"a field that is gone", "spec: {selector: {a: b}}", "spec: {}", []string{"spec.selector is missing"}},
		{"a label", "metadata: {labels: {a: b}}", "metadata: {labels: {c: d}}", []string{"metadata.labels.a is missing, wants b"}},
		{"quantities", "limits: {memory: 1Gi}", "limits: {memory: 1024Mi}", nil},
		{"the order of arguments", "spec: {args: [a, b]}", "spec: {args: [b, a]}", nil},
		{"another argument", "spec: {args: [a]}", "spec: {args: [a, b]}", []string{"spec.args differs"}},
		{
			"webhooks, by their names",
			"webhooks: [{name: a, clientConfig: {path: /a}, failurePolicy: Ignore}]",
			"webhooks: [{name: b, clientConfig: {}}, {name: a, clientConfig: {path: /a, caBundle: Y2E=}, failurePolicy: Fail, objectSelector: {}, timeoutSeconds: 10}]",
			[]string{"webhooks[a].failurePolicy is Fail, wants Ignore", "webhooks[b] should not be there"},
		},
		{
			"a selector that leaves more out",
			"webhooks: [{name: a, clientConfig: {}, namespaceSelector: {matchExpressions: [{key: k, operator: NotIn, values: [x]}]}}]",
			"webhooks: [{name: a, clientConfig: {}, namespaceSelector: {matchExpressions: [{key: k, operator: NotIn, values: [x]}], matchLabels: {only: this}}, objectSelector: {matchLabels: {only: this}}}]",
			[]string{"webhooks[a].namespaceSelector differs", "webhooks[a].objectSelector should not be there"},
		},
		{
			"a condition more",
			"webhooks: [{name: a, clientConfig: {}, matchConditions: [{name: x, expression: 'true'}]}]",
			"webhooks: [{name: a, clientConfig: {}, matchConditions: [{name: x, expression: 'true'}, {name: never, expression: 'false'}]}]",
			[]string{"webhooks[a].matchConditions[never] should not be there"},
		},
	} {
		var got []string
		for _, d := range driftOf(parse(t, tc.want), parse(t, tc.got)) {
			got = append(got, d.String())
		}
		if diff := cmp.Diff(tc.drift, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
