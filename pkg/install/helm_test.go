// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	helm "helm.sh/helm/v4/pkg/release/v1"
)

// values are some values of the chart of the webhook.
type values struct {
	Common            `json:",inline"`
	Exact             bool     `json:"exact,omitempty"`
	GuardDefault      string   `json:"guardDefault,omitempty"`
	ReleaseNamespaces []string `json:"releaseNamespaces,omitempty"`
}

// TestChanges checks which options are reported as changed.
func TestChanges(t *testing.T) {
	t.Parallel()
	webhook := Chart{Dir: "webhook", Name: "fleetdoctor-webhook"}
	scoped := values{ReleaseNamespaces: []string{"apps", "platform"}, Exact: true, GuardDefault: "deny",
		Common: Common{Image: "example.com/webhook:1", Replicas: 3, APIServers: []string{"192.0.2.1"}}}
	defaults := values{GuardDefault: "warn", Common: Common{Replicas: Replicas}}
	for _, tc := range []struct {
		name     string
		old, now values
		want     []string
	}{
		{name: "the same", old: scoped, now: scoped},
		{name: "explicit defaults", now: defaults},
		{name: "all options", old: scoped, want: []string{
			"--api-servers: now all (before: 192.0.2.1)", "--exact: now false (before: true)",
			"--guard-default: now warn (before: deny)",
			"--image: now that of the chart (before: example.com/webhook:1)",
			"--release-namespaces: now all (before: apps platform)", "--replicas: now 2 (before: 3)"}},
		{name: "fewer rights", now: values{ReleaseNamespaces: []string{"apps"}},
			want: []string{"--release-namespaces: now apps (before: all)"}},
	} {
		c, config, err := webhook.load(&tc.old)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&Helm{chart: webhook, Last: &helm.Release{Chart: c, Config: config}}).Changes(&tc.now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if first, err := (&Helm{}).Changes(&tc.now); first != nil || err != nil {
			t.Errorf("%s: changes of a first installation: %v, %v", tc.name, first, err)
		}
	}
}

// TestRemovedValue checks that an option that the chart no longer has is reported.
func TestRemovedValue(t *testing.T) {
	t.Parallel()
	auditor := Chart{Dir: "auditor", Name: "fleetdoctor-auditor"}
	c, config, err := auditor.load(&Common{})
	if err != nil {
		t.Fatal(err)
	}
	config["adopt"] = "unmarked"
	got, err := (&Helm{chart: auditor, Last: &helm.Release{Chart: c, Config: config}}).Changes(&Common{})
	if want := []string{"--adopt was removed (before: unmarked)"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
}

// TestImageOf checks which versions of the program have an image.
func TestImageOf(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"v1.2.3": "fleetdoctor/kubectl-fleetdoctor:v1.2.3",
		"v1.2.3+build": "fleetdoctor/kubectl-fleetdoctor:v1.2.3_build", "v1.2.3-4-g0123abc": "", "dev": ""} {
		if got, ok := ImageOf(version); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}
