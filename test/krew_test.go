// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

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

// TestKrewPlatforms checks that the manifest has the platforms and archive names that `make dist` builds.
func TestKrewPlatforms(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^PLATFORMS\s*:=\s*(.+)$`).FindSubmatch(makefile)
	if line == nil {
		t.Fatal("Makefile: no PLATFORMS")
	}
	const releases = "https://github.com/fleetdoctor/kubectl-fleetdoctor/releases/download/"
	var want []string
	for _, system := range strings.Fields(string(line[1])) {
		name := strings.ReplaceAll(system, "/", "_")
		want = append(want, fmt.Sprintf("%s %s%s/kubectl-fleetdoctor_%s_%s.tar.gz", system, releases, sampleTag, sampleTag, name))
	}
	var got []string
	for _, platform := range renderKrew(t, sampleTag).Spec.Platforms {
		got = append(got, strings.Join(selected(platform), ",")+" "+platform.URI)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archives of `make dist` and of krew.yaml differ (-want +got):\n%s", diff)
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
		{"api version", "older", func(p *krewPlugin) { p.APIVersion = "krew.googlecontainertools.github.com/v1alpha1" }},
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
		{"description", "usage", func(p *krewPlugin) { p.Spec.Description = "Use it:\n  $ kubectl fleetdoctor audit\n" }},
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

// renderKrew fills krew.yaml for a tag, with the same digest for every archive. addURIAndSha writes the same text
// as in krew-release-bot, including the fixed indent of the second line.
func renderKrew(t *testing.T, tag string) krewPlugin {
	t.Helper()
	values := map[string]string{"TagName": tag}
	functions := template.FuncMap{"addURIAndSha": func(uri, tag string) (string, error) {
		inner, err := template.New("uri").Parse(uri)
		if err != nil {
			return "", err
		}
		var out bytes.Buffer
		if err := inner.Execute(&out, map[string]string{"TagName": tag}); err != nil {
			return "", err
		}
		return fmt.Sprintf("uri: %s\n    sha256: %s", &out, sampleDigest), nil
	}}
	tmpl, err := template.New("krew.yaml").Option("missingkey=error").Funcs(functions).ParseFiles("../krew.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, values); err != nil {
		t.Fatal(err)
	}
	// Strict: krew ignores unknown fields silently.
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict(out.Bytes(), &plugin); err != nil {
		t.Fatalf("krew.yaml, filled for %s: %v\n%s", tag, err, &out)
	}
	return plugin
}
