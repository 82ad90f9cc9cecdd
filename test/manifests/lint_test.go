// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestLint checks that helm lint accepts the charts, with all of their values.
func TestLint(t *testing.T) {
	lint := action.NewLint()
	lint.Strict, lint.Namespace = true, systemNamespace
	for dir, all := range map[string]map[string]any{
		directory: {"exact": true, "certificates": "cert-manager", "guardDefault": "off",
			"releaseNamespaces": []any{"shop"}},
		auditorDirectory: {"clusterName": "fleet-default/edge-1", "events": false, "journal": false,
			"openReports": true, "prometheus": "operator", "prometheusLabels": map[string]any{
				"release": "monitoring"}, "dashboards": "configmap", "keep": true,
			"readRules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"services"}}}},
	} {
		all["apiServers"], all["image"], all["replicas"] = []any{"192.0.2.10"}, "example.com/image:1", 3
		all["global"] = map[string]any{}
		for _, values := range []map[string]any{{}, all} {
			for _, message := range lint.Run([]string{dir}, values).Messages {
				if message.Severity > support.InfoSev {
					t.Errorf("%s: %s", dir, message)
				}
			}
		}
		if r := lint.Run([]string{dir}, map[string]any{"unknown": true}); len(r.Errors) == 0 {
			t.Errorf("%s: a value that the schema does not know is accepted", dir)
		}
	}
}

// TestTemplate checks that helm renders the directories of the charts to the objects that this program installs.
func TestTemplate(t *testing.T) {
	for dir, program := range map[string][]*unstructured.Unstructured{directory: rendered(t, "default"),
		auditorDirectory: auditorObjects(t, "default")} {
		r, err := template(t, dir, "{}")
		if err != nil {
			t.Fatal(err)
		}
		// The first object of the program is the Namespace.
		if diff := cmp.Diff(program[1:], objectsOf(t, r.Manifest)); diff != "" {
			t.Errorf("%s: objects (-program +helm):\n%s", dir, diff)
		}
	}
}

// TestRemovedAdoption checks that the value adopt of the previous chart is accepted without an effect if it is off.
// Otherwise the error names what replaces it.
func TestRemovedAdoption(t *testing.T) {
	for policy, want := range map[string]string{"off": "", "unmarked": "or the verb adopt"} {
		_, err := template(t, auditorDirectory, "adopt: '"+policy+"'")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", policy, err)
		}
	}
}
