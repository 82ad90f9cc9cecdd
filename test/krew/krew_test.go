// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	sampleTag    = "v1.2.3"
	sampleDigest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// TestKrewManifest fills the template as a release does and checks krew's rules.
func TestKrewManifest(t *testing.T) {
	plugin := renderKrew(t, sampleTag)
	for _, rule := range krewRules {
		for _, wrong := range rule.check(plugin) {
			t.Errorf("krew.yaml: %s: %s\n\trule: %s", rule.name, wrong, rule.why)
		}
	}
	// The file in krew-index has the name of the plugin, and kubectl finds the plugin by the name of its executable.
	if got, want := plugin.Metadata.Name, "fleetdoctor"; got != want {
		t.Errorf("krew.yaml: name is %q, want %q", got, want)
	}
	if got := plugin.Spec.Version; got != sampleTag {
		t.Errorf("krew.yaml: version is %q, not the tag %q", got, sampleTag)
	}
}

// TestKrewPlatforms checks that the manifest has the platforms and archive names that .goreleaser.yaml builds.
func TestKrewPlatforms(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Builds []struct {
			GOOS, GOARCH []string
		}
		Archives []struct {
			NameTemplate    string `json:"name_template"`
			Formats         []string
			FormatOverrides []struct {
				GOOS    string
				Formats []string
			} `json:"format_overrides"`
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	const releases = "https://github.com/fleetdoctor/kubectl-fleetdoctor/releases/download/"
	archive := config.Archives[0]
	var want []string
	for _, goos := range config.Builds[0].GOOS {
		format := archive.Formats[0]
		for _, o := range archive.FormatOverrides {
			if o.GOOS == goos {
				format = o.Formats[0]
			}
		}
		for _, goarch := range config.Builds[0].GOARCH {
			name := strings.NewReplacer("{{ .Env.VERSION }}", sampleTag, "{{ .Os }}", goos, "{{ .Arch }}", goarch).
				Replace(archive.NameTemplate)
			want = append(want, fmt.Sprintf("%s/%s %s%s/%s.%s", goos, goarch, releases, sampleTag, name, format))
		}
	}
	var got []string
	for _, platform := range renderKrew(t, sampleTag).Spec.Platforms {
		got = append(got, strings.Join(selected(platform), ",")+" "+platform.URI)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archives of .goreleaser.yaml and of krew.yaml differ (-want +got):\n%s", diff)
	}
}

// TestKrewRulesRefuse breaks one rule of a valid manifest at a time: that rule must fail, and no other.
func TestKrewRulesRefuse(t *testing.T) {
	platform := func(change func(*krewPlatform)) func(*krewPlugin) {
		return func(p *krewPlugin) { change(&p.Spec.Platforms[0]) }
	}
	tests := []struct {
		rule   string
		name   string
		change func(*krewPlugin)
	}{
		{"api version", "older", func(p *krewPlugin) {
			p.APIVersion = "krew.googlecontainertools.github.com/v1alpha1"
		}},
		{"kind", "other", func(p *krewPlugin) { p.Kind = "Receipt" }},
		{"name", "snake case", func(p *krewPlugin) { p.Metadata.Name = "fleet_doctor" }},
		{"name", "upper case", func(p *krewPlugin) { p.Metadata.Name = "FleetDoctor" }},
		{"name", "kubectl prefix", func(p *krewPlugin) { p.Metadata.Name = "kubectl-fleetdoctor" }},
		{"name", "reserved", func(p *krewPlugin) { p.Metadata.Name = "com1" }},
		{"version", "no v", func(p *krewPlugin) { p.Spec.Version = "1.2.3" }},
		{"version", "two numbers", func(p *krewPlugin) { p.Spec.Version = "v1.2" }},
		{"version", "absent", func(p *krewPlugin) { p.Spec.Version = "" }},
		{"homepage", "absent", func(p *krewPlugin) { p.Spec.Homepage = "" }},
		{"homepage", "plain http", func(p *krewPlugin) { p.Spec.Homepage = "http://example.com" }},
		{"short description", "absent", func(p *krewPlugin) { p.Spec.ShortDescription = "" }},
		{"short description", "two lines", func(p *krewPlugin) { p.Spec.ShortDescription = "Show\nmore" }},
		{"short description", "long", func(p *krewPlugin) { p.Spec.ShortDescription = strings.Repeat("x", 51) }},
		{"short description", "full stop", func(p *krewPlugin) { p.Spec.ShortDescription = "Show it." }},
		{"short description", "redundant", func(p *krewPlugin) { p.Spec.ShortDescription = "A kubectl tool" }},
		{"description", "absent", func(p *krewPlugin) { p.Spec.Description = "\n" }},
		{"description", "not wrapped", func(p *krewPlugin) { p.Spec.Description = strings.Repeat("word ", 17) }},
		{"description", "usage", func(p *krewPlugin) {
			p.Spec.Description = "Use it:\n  $ kubectl fleetdoctor audit\n"
		}},
		{"caveats", "not wrapped", func(p *krewPlugin) { p.Spec.Caveats = strings.Repeat("word ", 17) }},
		{"selector", "absent", platform(func(p *krewPlatform) { p.Selector = nil })},
		{"selector", "empty", platform(func(p *krewPlatform) { p.Selector = &metav1.LabelSelector{} })},
		{"selector", "unknown key", platform(func(p *krewPlatform) { p.Selector.MatchLabels["libc"] = "musl" })},
		{"selector", "unknown system", platform(func(p *krewPlatform) { p.Selector.MatchLabels["os"] = "plan9" })},
		{"overlap", "same system", func(p *krewPlugin) { p.Spec.Platforms[1].Selector = p.Spec.Platforms[0].Selector }},
		{"overlap", "no platform", func(p *krewPlugin) { p.Spec.Platforms = nil }},
		{"archive", "absent", platform(func(p *krewPlatform) { p.URI = "" })},
		{"archive", "plain http", platform(func(p *krewPlatform) { p.URI = "http://example.com/a.tar.gz" })},
		{"archive", "bare binary", platform(func(p *krewPlatform) { p.URI = "https://example.com/a" })},
		{"digest", "short", platform(func(p *krewPlatform) { p.Sha256 = sampleDigest[1:] })},
		{"digest", "upper case", platform(func(p *krewPlatform) { p.Sha256 = strings.ToUpper(sampleDigest) })},
		{"files", "leaves the installation", platform(func(p *krewPlatform) {
			p.Files = append(p.Files, krewFile{From: "README.md", To: "../README.md"})
		})},
		{"files", "leaves the archive", platform(func(p *krewPlatform) {
			p.Files = append(p.Files, krewFile{From: "/etc/hosts", To: "."})
		})},
		{"files", "without to", platform(func(p *krewPlatform) {
			p.Files = append(p.Files, krewFile{From: "README.md"})
		})},
		{"licence", "absent", platform(func(p *krewPlatform) { p.Files = p.Files[:1] })},
		{"executable", "not installed", platform(func(p *krewPlatform) { p.Bin = "doctor" })},
		{"executable", "no .exe on windows", func(p *krewPlugin) {
			w := &p.Spec.Platforms[4]
			w.Bin, w.Files[0].From = "kubectl-fleetdoctor", "kubectl-fleetdoctor"
		}},
	}
	tested := map[string]bool{}
	for _, tt := range tests {
		tested[tt.rule] = true
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			plugin := renderKrew(t, sampleTag)
			tt.change(&plugin)
			var broken []string
			for _, rule := range krewRules {
				if len(rule.check(plugin)) > 0 {
					broken = append(broken, rule.name)
				}
			}
			if diff := cmp.Diff([]string{tt.rule}, broken); diff != "" {
				t.Errorf("rules that fail (-want +got):\n%s", diff)
			}
		})
	}
	for _, rule := range krewRules {
		if !tested[rule.name] {
			t.Errorf("no case in which the rule %q fails", rule.name)
		}
	}
}

// renderKrew fills krew.yaml for a tag, with the same digest for every archive.
func renderKrew(t *testing.T, tag string) krewPlugin {
	t.Helper()
	text, err := os.ReadFile("../../krew.yaml")
	if err != nil {
		t.Fatal(err)
	}
	filled, err := fill(string(text), tag, func(string) (string, error) { return sampleDigest, nil })
	if err != nil {
		t.Fatal(err)
	}
	// Strict: krew ignores unknown fields silently.
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict(filled, &plugin); err != nil {
		t.Fatalf("krew.yaml, filled for %s: %v\n%s", tag, err, filled)
	}
	return plugin
}

// TestFillNamesAMissingArchive checks that an archive without a digest is an error: a manifest with an empty one would
// be submitted.
func TestFillNamesAMissingArchive(t *testing.T) {
	checksums := filepath.Join(t.TempDir(), "checksums.txt")
	if err := os.WriteFile(checksums, []byte(sampleDigest+"  kubectl-fleetdoctor_v1.2.3_linux_amd64.tar.gz\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run("../../krew.yaml", sampleTag, checksums); err == nil || !strings.Contains(err.Error(),
		"kubectl-fleetdoctor_v1.2.3_linux_arm64.tar.gz") {
		t.Errorf("error %v", err)
	}
}
