// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// TestClusterValues evaluates the templates in the values of a fleet.yaml for a Cluster. No error quotes a value.
func TestClusterValues(t *testing.T) {
	cluster := &render.ClusterContext{Namespace: "fleet-default", Name: "one",
		Annotations: map[string]string{"note": "text"}, Values: []byte(`{"size":3}`),
		Labels: map[string]string{"env": "dev", "kubectl.kubernetes.io/x": "hidden",
			"management.cattle.io/cluster-name": "c-1", "other.cattle.io/x": "hidden"}}
	for _, tc := range []struct {
		name, helm string // the Helm options as JSON
		cluster    *render.ClusterContext
		want       string // the values as JSON
		gap, err   string // parts
	}{
		{name: "none", helm: `{"values":{"a":1}}`, want: `{"a":1}`},
		{name: "cluster not known", helm: `{"values":{"a":"global.fleet.clusterLabels.env"}}`,
			gap: "helm.values.a depends on the labels of the cluster"},
		{name: "cluster not known, templateValues", helm: `{"templateValues":{"t":"x"}}`,
			gap: "helm.values.t depends on the labels of the cluster"},
		{name: "labels",
			helm: `{"values":{"a":"global.fleet.clusterLabels.env","b":{"c":"global.fleet.clusterLabels.absent"},` +
				`"l":["global.fleet.clusterLabels.env",{"d":"global.fleet.clusterLabels.env"}]}}`,
			cluster: cluster, want: `{"a":"dev","b":{"c":""},"l":["global.fleet.clusterLabels.env",{"d":"dev"}]}`},
		{name: "labels of Rancher",
			helm: `{"values":{"a":"global.fleet.clusterLabels.management.cattle.io/cluster-name",` +
				`"b":"global.fleet.clusterLabels.other.cattle.io/x"}}`,
			cluster: cluster, want: `{"a":"c-1","b":""}`},
		{name: "templates",
			helm: `{"values":{"a":"${ .ClusterNamespace }/${ .ClusterName | upper }",` +
				`"b":"${ .ClusterValues.size }","c":"${ .ClusterAnnotations.note }"}}`,
			cluster: cluster, want: `{"a":"fleet-default/ONE","b":3,"c":"text"}`},
		{name: "templateValues replace values",
			helm: `{"values":{"a":1,"t":2},"templateValues":{"t":"{x: ${ .ClusterLabels.env }}"}}`, cluster: cluster,
			want: `{"a":1,"t":{"x":"dev"}}`},
		{name: "not preprocessed",
			helm:    `{"disablePreProcess":true,"values":{"a":"${ x }","b":"global.fleet.clusterLabels.env"}}`,
			cluster: cluster, want: `{"a":"${ x }","b":"dev"}`},
		{name: "a cluster without labels", helm: `{"values":{"a":"${ .ClusterName }"}}`,
			cluster: &render.ClusterContext{Name: "one"}, want: `{"a":"${ .ClusterName }"}`},
		{name: "an absent label", helm: `{"values":{"a":"${ .ClusterLabels.absent }","p":"hunter2"}}`, cluster: cluster,
			err: `targeting error: failed to render helm values template: map has no entry for key "absent" for ` +
				"cluster fleet-default/one"},
		{name: "a function that is not allowed", helm: `{"values":{"a":"${ env \"HOME\" }"}}`, cluster: cluster,
			err: "failed to parse helm values template"},
		{name: "not YAML", helm: `{"templateValues":{"t":"[hunter2"}}`, cluster: cluster,
			err: "failed to interpret rendered template as helm values"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			helm := &v1alpha1.HelmOptions{}
			if err := json.Unmarshal([]byte(tc.helm), helm); err != nil {
				t.Fatal(err)
			}
			template := v1alpha1.BundleResource{Name: "templates/a.yaml",
				Content: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},` +
					`"data":{"values":{{ .Values | toJson | quote }}}}`}
			res, err := render.Render(t.Context(), render.Input{Name: "case", FromFiles: true, Cluster: tc.cluster,
				Options: v1alpha1.Options{Helm: helm}, Resources: []v1alpha1.BundleResource{template}}, nil)
			if err != nil || tc.err != "" {
				if err == nil || tc.err == "" || !strings.Contains(err.Error(), tc.err) ||
					strings.Contains(err.Error(), "hunter2") {
					t.Errorf("got error %v, want %q", err, tc.err)
				}
				return
			}
			if tc.gap != "" {
				if len(res.Objects) > 0 || strings.Join(res.Gaps, "; ") != tc.gap {
					t.Errorf("got %d objects and the gaps %q, want %q", len(res.Objects), res.Gaps, tc.gap)
				}
				return
			}
			var o struct{ Data struct{ Values string } }
			if err := json.Unmarshal(res.Objects[0].Raw, &o); err != nil {
				t.Fatal(err)
			}
			if len(res.Gaps) > 0 || o.Data.Values != tc.want {
				t.Errorf("values %s, want %s; gaps %q", o.Data.Values, tc.want, res.Gaps)
			}
		})
	}
}
