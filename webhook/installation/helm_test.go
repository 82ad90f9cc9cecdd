// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	helm "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// TestChanges checks which options are reported as changed.
func TestChanges(t *testing.T) {
	t.Parallel()
	scoped := Values{ReleaseNamespaces: []string{"apps", "platform"}, Exact: true, GuardDefault: admission.GuardDeny,
		Image: "example.com/webhook:1", Replicas: 3, Certificates: CertManager, APIServers: []string{"192.0.2.1"}}
	defaults := Values{GuardDefault: admission.GuardWarn, Certificates: SelfSigned, Replicas: Replicas}
	for _, tc := range []struct {
		name     string
		old, now Values
		want     []string
	}{
		{name: "the same", old: scoped, now: scoped},
		{name: "explicit defaults", now: defaults},
		{name: "all options", old: scoped, want: []string{
			"--api-servers: now all (before: 192.0.2.1)", "--certificates: now self-signed (before: cert-manager)",
			"--exact: now false (before: true)", "--guard-default: now warn (before: deny)",
			"--image: now that of the chart (before: example.com/webhook:1)",
			"--release-namespaces: now all (before: apps platform)", "--replicas: now 2 (before: 3)"}},
		{name: "fewer rights", now: Values{ReleaseNamespaces: []string{"apps"}},
			want: []string{"--release-namespaces: now apps (before: all)"}},
	} {
		c, config, err := tc.old.load()
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&Helm{Last: &helm.Release{Chart: c, Config: config}}).Changes(tc.now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if first, err := (&Helm{}).Changes(tc.now); first != nil || err != nil {
			t.Errorf("%s: changes of a first installation: %v, %v", tc.name, first, err)
		}
	}
}

// TestOutdated checks which configurations must be deleted before an upgrade.
func TestOutdated(t *testing.T) {
	t.Parallel()
	desired := render(t, Values{})
	configurations := func(v Values, change func(map[string]any)) []*unstructured.Unstructured {
		var out []*unstructured.Unstructured
		for _, o := range render(t, v) {
			if IsConfiguration(o) {
				change(rawWebhooks(o)[0])
				out = append(out, o)
			}
		}
		return out
	}
	same := func(map[string]any) {}
	url := func(w map[string]any) { w["clientConfig"] = map[string]any{"url": "https://192.0.2.1/stamp"} }
	for name, tc := range map[string]struct {
		live []*unstructured.Unstructured
		want int
	}{
		"the same":            {configurations(Values{}, same), 0},
		"without one webhook": {configurations(Values{Exact: true}, same), 1},
		"a URL":               {configurations(Values{}, url), 2},
		"none":                {nil, 0},
	} {
		if got := Outdated(tc.live, desired); len(got) != tc.want {
			t.Errorf("%s: %d configurations, want %d", name, len(got), tc.want)
		}
	}
}
