// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"
)

// values are some values of the chart of the webhook.
type values struct {
	Common            `json:",inline"`
	Exact             bool     `json:"exact,omitempty"`
	GuardDefault      string   `json:"guardDefault,omitempty"`
	ReleaseNamespaces []string `json:"releaseNamespaces,omitempty"`
}

// all and none are command lines with all flags, and with none.
func all(string) bool  { return true }
func none(string) bool { return false }

// installed is a release of a chart that is installed with values.
func installed(t *testing.T, of Chart, v any) *Helm {
	t.Helper()
	c, err := of.load()
	if err != nil {
		t.Fatal(err)
	}
	config, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return &Helm{chart: of, Last: &helm.Release{Chart: c, Config: config,
		Info: &helm.Info{Status: common.StatusDeployed}}}
}

// TestRemovedValue checks that an option that the chart no longer has is reported.
func TestRemovedValue(t *testing.T) {
	t.Parallel()
	auditor := Chart{Dir: "auditor", Name: "fleetdoctor-auditor"}
	h := installed(t, auditor, &Common{})
	h.Last.Config["adopt"] = "unmarked"
	values, got, err := h.Values(&Common{}, none)
	if err != nil || len(values) > 0 {
		t.Errorf("kept %v (%v)", values, err)
	}
	if want := []string{"--adopt was removed (before: unmarked)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestValuesKept checks that an upgrade keeps the values of the installed release for flags that are not given, and
// that a given value replaces the installed one, also if it is empty.
func TestValuesKept(t *testing.T) {
	t.Parallel()
	webhook := Chart{Dir: "webhook", Name: "fleetdoctor-webhook"}
	scoped := values{ReleaseNamespaces: []string{"apps", "platform"}, Exact: true, GuardDefault: "deny"}
	for _, tc := range []struct {
		name   string
		given  []string
		now    values
		status common.Status
		want   map[string]any
		notes  []string
	}{
		{name: "nothing", now: values{GuardDefault: "warn", Common: Common{Replicas: Replicas}},
			want: map[string]any{"exact": true, "guardDefault": "deny", "releaseNamespaces": []any{"apps", "platform"}},
			notes: []string{"--exact: kept true", "--guard-default: kept deny",
				"--release-namespaces: kept apps platform"}},
		{name: "an empty value", given: []string{"exact"}, now: values{GuardDefault: "warn"},
			want:  map[string]any{"guardDefault": "deny", "releaseNamespaces": []any{"apps", "platform"}},
			notes: []string{"--guard-default: kept deny", "--release-namespaces: kept apps platform"}},
		{name: "another list", given: []string{"release-namespaces", "guard-default", "exact"},
			now:  values{ReleaseNamespaces: []string{"shop"}, GuardDefault: "deny", Exact: true},
			want: map[string]any{"exact": true, "guardDefault": "deny", "releaseNamespaces": []any{"shop"}}},
		{name: "after an uninstallation", status: common.StatusUninstalled, given: []string{"replicas"},
			now:  values{GuardDefault: "warn", Common: Common{Replicas: 3}},
			want: map[string]any{"replicas": int64(3)}},
	} {
		h := installed(t, webhook, &scoped)
		h.Last.Info.Status = cmp.Or(tc.status, common.StatusDeployed)
		isGiven := func(flag string) bool { return slices.Contains(tc.given, flag) }
		got, notes, err := h.Values(&tc.now, isGiven)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: values (-want +got):\n%s", tc.name, diff)
		}
		if diff := gocmp.Diff(tc.notes, notes); diff != "" {
			t.Errorf("%s: notes (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestValuesOfMap checks that a given map replaces the installed one as a whole.
func TestValuesOfMap(t *testing.T) {
	t.Parallel()
	type labels struct {
		PrometheusLabels map[string]string `json:"prometheusLabels,omitempty"`
	}
	h := installed(t, Chart{Dir: "auditor", Name: "fleetdoctor-auditor"},
		&labels{map[string]string{"release": "old", "team": "a"}})
	got, _, err := h.Values(&labels{map[string]string{"release": "new"}}, all)
	want := map[string]any{"prometheusLabels": map[string]any{"release": "new"}}
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("values (-want +got):\n%s%v", diff, err)
	}
}

// TestForeignImage checks which images an upgrade keeps: not those of earlier versions of the program.
func TestForeignImage(t *testing.T) {
	t.Parallel()
	webhook := Chart{Dir: "webhook", Name: "fleetdoctor-webhook"}
	for image, want := range map[string]bool{"": false, "fleetdoctor/kubectl-fleetdoctor:v1.2.3": false,
		"registry.example.com/fleetdoctor/kubectl-fleetdoctor:v1.2.3": true,

		"fleetdoctor/kubectl-fleetdoctor2:v1": true,
	} {
		if got := installed(t, webhook, &Common{Image: image}).HasForeignImage(); got != want {
			t.Errorf("%q: %t, want %t", image, got, want)
		}
	}
	if (&Helm{}).HasForeignImage() {
		t.Error("without a release")
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
