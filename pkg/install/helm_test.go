// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"maps"
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
	return &Helm{Chart: of, Last: &helm.Release{Chart: c, Config: config,
		Info: &helm.Info{Status: common.StatusDeployed}}}
}

// TestRemovedValue checks that an option that the chart no longer has is reported.
func TestRemovedValue(t *testing.T) {
	t.Parallel()
	auditor := Chart{Dir: "auditor", Name: "fleetdoctor-auditor"}
	h := installed(t, auditor, &Common{})
	h.Last.Config["mode"] = map[string]any{"a": "b"}
	values, got, err := h.Values(nil, nil)
	if err != nil || len(values) > 0 {
		t.Errorf("kept %v (%v)", values, err)
	}
	if want := []string{`removed mode: {"a":"b"}`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestValues checks that an upgrade keeps the values of the installed release that are not stated, and that a stated
// value replaces the installed one, also if it is empty.
func TestValues(t *testing.T) {
	t.Parallel()
	webhook := Chart{Dir: "webhook", Name: "fleetdoctor-webhook"}
	scoped := values{ReleaseNamespaces: []string{"apps", "platform"}, Exact: true, GuardDefault: "deny"}
	for _, tc := range []struct {
		name       string
		config     map[string]any // more values of the installed release
		flags, set map[string]any
		status     common.Status
		want       map[string]any
		notes      []string
	}{
		{name: "nothing",
			want: map[string]any{"exact": true, "guardDefault": "deny", "releaseNamespaces": []any{"apps", "platform"}},
			notes: []string{"kept exact: true", `kept guardDefault: "deny"`,
				`kept releaseNamespaces: ["apps","platform"]`}},
		{name: "an empty value", flags: map[string]any{"exact": false},
			want: map[string]any{"exact": false, "guardDefault": "deny",
				"releaseNamespaces": []any{"apps", "platform"}},
			notes: []string{`kept guardDefault: "deny"`, `kept releaseNamespaces: ["apps","platform"]`}},
		{name: "another list", flags: map[string]any{"releaseNamespaces": []any{"shop"}},
			set:  map[string]any{"guardDefault": "off", "exact": nil},
			want: map[string]any{"exact": nil, "guardDefault": "off", "releaseNamespaces": []any{"shop"}}},
		{name: "after an uninstallation", status: common.StatusUninstalled, flags: map[string]any{"replicas": 3},
			want: map[string]any{"replicas": 3}},
		{name: "a map that is set is merged",
			config: map[string]any{"podLabels": map[string]any{"team": "a", "tier": "b"}, "exact": false},
			set: map[string]any{"podLabels": map[string]any{"tier": nil, "zone": "c"}, "guardDefault": "warn",
				"releaseNamespaces": []any{}},
			want: map[string]any{"podLabels": map[string]any{"team": "a", "tier": nil, "zone": "c"}, "exact": false,
				"guardDefault": "warn", "releaseNamespaces": []any{}}},
		{name: "the image keeps how it is pulled",
			config: map[string]any{"image": map[string]any{"repository": "example.com/a", "digest": "sha256:1",
				"pullPolicy": "Always"}},
			flags: map[string]any{"image": map[string]any{"repository": "example.com/a", "tag": "v2", "digest": ""},
				"exact": true, "guardDefault": "warn", "releaseNamespaces": []any{}},
			want: map[string]any{"image": map[string]any{"repository": "example.com/a", "tag": "v2", "digest": "",
				"pullPolicy": "Always"}, "exact": true, "guardDefault": "warn", "releaseNamespaces": []any{}}},
		{name: "no value of a variable is shown",
			config: map[string]any{"extraEnv": []any{map[string]any{"name": "TOKEN", "value": "invented"}}},
			flags:  map[string]any{"exact": true, "guardDefault": "warn", "releaseNamespaces": []any{}},
			want: map[string]any{"extraEnv": []any{map[string]any{"name": "TOKEN", "value": "invented"}},
				"exact": true, "guardDefault": "warn", "releaseNamespaces": []any{}},
			notes: []string{`kept extraEnv: ["TOKEN"]`}},
	} {
		h := installed(t, webhook, &scoped)
		maps.Copy(h.Last.Config, tc.config)
		h.Last.Info.Status = cmp.Or(tc.status, common.StatusDeployed)
		got, notes, err := h.Values(tc.flags, tc.set)
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

// TestForeignImage checks which images an upgrade keeps: not those of earlier versions of the program.
func TestForeignImage(t *testing.T) {
	t.Parallel()
	webhook := Chart{Dir: "webhook", Name: "fleetdoctor-webhook"}
	for image, want := range map[string]bool{"": false, "fleetdoctor/kubectl-fleetdoctor:v1.2.3": false,
		"registry.example.com/fleetdoctor/kubectl-fleetdoctor:v1.2.3": true,

		"fleetdoctor/kubectl-fleetdoctor2:v1": true,
	} {
		if got := installed(t, webhook, &Common{Image: ParseImage(image)}).HasForeignImage(); got != want {
			t.Errorf("%q: %t, want %t", image, got, want)
		}
	}
	former := installed(t, webhook, &Common{})
	former.Last.Config["image"] = "registry.example.com/doctor:1"
	if (&Helm{}).HasForeignImage() || !former.HasForeignImage() {
		t.Error("without a release, or an image as one string")
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

// TestParseImage splits references of images.
func TestParseImage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Image{"doctor": {"doctor", "", ""}, "doctor:v1": {"doctor", "v1", ""},
		"example.com:5000/doctor":           {"example.com:5000/doctor", "", ""},
		"example.com:5000/doctor:v1":        {"example.com:5000/doctor", "v1", ""},
		"doctor@sha256:0123":                {"doctor", "", "sha256:0123"},
		"example.com/doctor:v1@sha256:0123": {"example.com/doctor", "v1", "sha256:0123"}} {
		if got := *ParseImage(text); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
