// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
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
	const (
		deployment = "apiVersion: apps/v1\nkind: Deployment\n"
		pod        = deployment + "spec: {template: {spec: {containers: [{name: a"
		policy     = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nspec: {"
		mutating   = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n"
		selector   = "namespaceSelector: {matchExpressions: [{key: k, operator: NotIn, values: [x]}]"
	)
	for _, tc := range []struct {
		name, want, got string
		drift           []string
	}{
		{"defaults of the server", deployment + "spec: {replicas: 2}", deployment +
			"spec: {replicas: 2, revisionHistoryLimit: 10}\nstatus: {conditions: [{type: Available}]}", nil},
		{"another value", deployment + "spec: {replicas: 2}", deployment + "spec: {replicas: 3}",
			[]string{".spec.replicas is 3, desired is 2"}},
		{"a missing field", deployment + "spec: {selector: {matchLabels: {a: b}}}", deployment + "spec: {}",
			[]string{".spec.selector.matchLabels.a is missing b"}},
		{"a missing label", deployment + "metadata: {labels: {a: b}}", deployment + "metadata: {labels: {c: d}}",
			[]string{".metadata.labels.a is missing b"}},
		{"equal quantities", pod + ", resources: {limits: {memory: 1Gi}}}]}}}", pod +
			", resources: {limits: {memory: 1024Mi}}}]}}}", nil},
		{"another order of arguments", pod + ", args: [a, b]}]}}}", pod + ", args: [b, a]}]}}}", nil},
		{"another argument", pod + ", args: [a]}]}}}", pod + ", args: [a, b]}]}}}",
			[]string{`.spec.template.spec.containers[name="a"].args differs`}},
		{"another container", pod + "}]}}}", pod + "}, {name: b}]}}}",
			[]string{`.spec.template.spec.containers[name="b"] is not in the manifest`}},
		{"lists that are not in the manifest", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}",
			"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\nsecrets: [{name: token}]\nimagePullSecrets: " +
				"[{name: registry}]", nil},
		{"another selector of a NetworkPolicy", policy + "podSelector: {matchLabels: {a: b}}}", policy +
			"podSelector: {matchLabels: {a: c}}}",
			[]string{".spec.podSelector.matchLabels.a is c, desired is b"}},
		{
			"webhooks in another order",
			mutating + "webhooks: [{name: a, clientConfig: {service: {path: /a}}, failurePolicy: Ignore}]",
			mutating + "webhooks: [{name: b, clientConfig: {}}, {name: a, clientConfig: {service: {path: /a, port: " +
				"443}, caBundle: Y2E=}, failurePolicy: Fail, objectSelector: {}, timeoutSeconds: 10}]",
			[]string{`.webhooks[name="a"].failurePolicy is Fail, desired is Ignore`,
				`.webhooks[name="b"] is not in the manifest`},
		},
		{
			"selectors with additional keys",
			mutating + "webhooks: [{name: a, clientConfig: {}, " + selector + "}}]",
			mutating + "webhooks: [{name: a, clientConfig: {}, " + selector +
				", matchLabels: {only: this}}, objectSelector: {matchLabels: {only: this}}}]",
			[]string{`.webhooks[name="a"].namespaceSelector.matchLabels.only this is not in the manifest`,
				`.webhooks[name="a"].objectSelector.matchLabels.only this is not in the manifest`},
		},
		{
			"a URL instead of the Service",
			mutating + "webhooks: [{name: a, clientConfig: {service: {name: s}}}]",
			mutating + "webhooks: [{name: a, clientConfig: {url: 'https://192.0.2.1'}}]",
			[]string{`.webhooks[name="a"].clientConfig.service.name is missing s`,
				`.webhooks[name="a"].clientConfig.url https://192.0.2.1 is not in the manifest`},
		},
		{
			"an additional condition",
			mutating + "webhooks: [{name: a, clientConfig: {}, matchConditions: [{name: x, expression: 'true'}]}]",
			mutating + "webhooks: [{name: a, clientConfig: {}, matchConditions: [{name: x, expression: 'true'}, " +
				"{name: never, expression: 'false'}]}]",
			[]string{`.webhooks[name="a"].matchConditions[name="never"] is not in the manifest`},
		},
	} {
		var got []string
		for _, d := range drift(parse(t, tc.want), parse(t, tc.got)) {
			got = append(got, driftText(d))
		}
		if diff := cmp.Diff(tc.drift, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
