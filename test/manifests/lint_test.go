// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
)

// TestLint checks that helm lint accepts the chart, with all of its values.
func TestLint(t *testing.T) {
	lint := action.NewLint()
	lint.Strict, lint.Namespace = true, systemNamespace
	for name, values := range map[string]map[string]any{
		"default": {},
		"all": {"exact": true, "certificates": "cert-manager", "guardDefault": "off",
			"releaseNamespaces": []any{"shop"},
			"apiServers":        []any{"192.0.2.10"}, "image": "example.com/webhook:1", "replicas": 3,
			"global": map[string]any{}},
	} {
		for _, message := range lint.Run([]string{directory}, values).Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %s", name, message)
			}
		}
	}
	if r := lint.Run([]string{directory}, map[string]any{"unknown": true}); len(r.Errors) == 0 {
		t.Error("a value that the schema does not know is accepted")
	}
}
