// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/version"
)

// krewPlugin is krew's manifest (v1alpha2) with the fields that an author writes. krew exports its types but not
// its rules, so both are declared here.
type krewPlugin struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   krewMetadata `json:"metadata"`
	Spec       krewSpec     `json:"spec"`
}

type krewMetadata struct {
	Name string `json:"name"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Caveats          string         `json:"caveats"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector *metav1.LabelSelector `json:"selector"`
	URI      string                `json:"uri"`
	Sha256   string                `json:"sha256"`
	Bin      string                `json:"bin"`
	Files    []krewFile            `json:"files"`
}

type krewFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// krewRule is a rule of krew, or of the reviewers of krew-index.
type krewRule struct {
	name  string
	why   string
	check func(krewPlugin) []string // returns the violations
}

var (
	kebabCase   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	windowsName = regexp.MustCompile(`^(?i)(con|prn|aux|nul|com[1-9]|lpt[1-9])$`)
	hexSHA256   = regexp.MustCompile(`^[a-f0-9]{64}$`)
	redundant   = regexp.MustCompile(`(?i)\b(kubectl|krew|plugin|kubernetes)\b`)
	usageLine   = regexp.MustCompile(`(?m)^\s*\$?\s*kubectl `)
)

// krewSystems are the systems for which krew is distributed (allPlatforms in cmd/validate-krew-manifest).
var krewSystems = []string{
	"darwin/386", "darwin/amd64", "darwin/arm64",
	"linux/386", "linux/amd64", "linux/arm", "linux/arm64", "linux/ppc64le",
	"windows/386", "windows/amd64", "windows/arm64",
}

// licenceNames are the names of licence files that validate-krew-manifest accepts, in lower case.
var licenceNames = []string{
	"license", "license.txt", "license.md", "licenses", "licenses.txt", "licenses.md", "copying", "copying.txt",
}

var krewRules = []krewRule{
	{"api version", "validation.ValidatePlugin: any other version is refused",
		func(p krewPlugin) []string {
			const supported = "krew.googlecontainertools.github.com/v1alpha2"
			return unless(p.APIVersion == supported, "apiVersion is %q", p.APIVersion)
		}},
	{"kind", "validation.ValidatePlugin",
		func(p krewPlugin) []string { return unless(p.Kind == "Plugin", "kind is %q", p.Kind) }},
	{"name", "naming guide: kebab-case, no kube prefix (users type kubectl anyway); " +
		"validation.IsSafePluginName: no name that Windows reserves",
		checkKrewName},
	{"version", "semver.Parse: a semantic version with a leading v", checkKrewVersion},
	{"homepage", "the reviewers of krew-index open it, and `kubectl krew info` shows it",
		func(p krewPlugin) []string {
			return unless(isHTTPS(p.Spec.Homepage), "homepage is %q", p.Spec.Homepage)
		}},
	{"short description",
		"validation.ValidatePlugin: present, on one line; review of krew-index: at most 50 characters, " +
			"without a full stop and without redundant words (`kubectl krew search` shows it)",
		checkShortDescription},
	{"description",
		"plugin manifest guide: required; review of krew-index: wrapped at 80 characters, no usage examples",
		checkDescription},
	{"caveats", "shown after the installation in a terminal: 80 characters",
		func(p krewPlugin) []string { return longLines("caveats", p.Spec.Caveats) }},
	{"selector", "validateSelector: matchLabels or matchExpressions, not empty, over os and arch only; " +
		"validate-krew-manifest: it must select a system that krew runs on",
		perPlatform(checkSelector)},
	{"overlap", "validate-krew-manifest: if two platforms match one system, the installed one is undefined",
		checkOverlap},
	{"archive", "validatePlatform: uri is set; plugin manifest guide: .zip or .tar.gz; downloads must use https",
		perPlatform(func(p krewPlatform) []string {
			archive := strings.HasSuffix(p.URI, ".tar.gz") || strings.HasSuffix(p.URI, ".zip")
			return unless(archive && isHTTPS(p.URI), "uri is %q", p.URI)
		})},
	{"digest", "validatePlatform: 64 hexadecimal digits in lower case",
		perPlatform(func(p krewPlatform) []string {
			return unless(hexSHA256.MatchString(p.Sha256), "sha256 is %q", p.Sha256)
		})},
	{"files", "validateFiles: an empty list or field is refused; installation.isMoveAllowed: " +
		"nothing may leave the archive or the installation",
		perPlatform(checkFiles)},
	{"licence", "validate-krew-manifest: a plugin without a licence file in its installation is refused",
		perPlatform(func(p krewPlatform) []string {
			found := slices.ContainsFunc(installed(p), func(f string) bool {
				return slices.Contains(licenceNames, strings.ToLower(path.Base(f)))
			})
			return unless(found, "none of %q is a licence file", installed(p))
		})},
	{"executable", "installation: bin is linked after the files are moved, so it must be one of them; " +
		"plugin manifest guide: on Windows only .exe can be linked",
		perPlatform(checkExecutable)},
}

func checkKrewName(p krewPlugin) []string {
	name := p.Metadata.Name
	return slices.Concat(
		unless(kebabCase.MatchString(name), "name %q is not in kebab-case", name),
		unless(!strings.HasPrefix(name, "kube"), "name %q repeats kube", name),
		unless(!windowsName.MatchString(name), "name %q is reserved on Windows", name),
	)
}

func checkKrewVersion(p krewPlugin) []string {
	if !strings.HasPrefix(p.Spec.Version, "v") {
		return []string{fmt.Sprintf("version %q has no leading v", p.Spec.Version)}
	}
	if _, err := version.ParseSemantic(p.Spec.Version); err != nil {
		return []string{err.Error()}
	}
	return nil
}

func checkShortDescription(p krewPlugin) []string {
	text := p.Spec.ShortDescription
	return slices.Concat(
		unless(text != "", "missing"),
		unless(!strings.ContainsAny(text, "\r\n"), "more than one line"),
		unless(len([]rune(text)) <= 50, "%d characters, more than 50", len([]rune(text))),
		unless(!strings.HasSuffix(text, "."), "a full stop at the end"),
		unless(!redundant.MatchString(text), "%q is redundant", redundant.FindString(text)),
	)
}

func checkDescription(p krewPlugin) []string {
	return slices.Concat(
		unless(strings.TrimSpace(p.Spec.Description) != "", "missing"),
		unless(!usageLine.MatchString(p.Spec.Description), "contains usage examples"),
		longLines("description", p.Spec.Description),
	)
}

func checkSelector(p krewPlatform) []string {
	if p.Selector == nil {
		return []string{"missing"}
	}
	keys := slices.Sorted(maps.Keys(p.Selector.MatchLabels))
	for _, e := range p.Selector.MatchExpressions {
		keys = append(keys, e.Key)
	}
	var wrong []string
	for _, key := range keys {
		wrong = append(wrong, unless(key == "os" || key == "arch", "unknown key %q", key)...)
	}
	return append(wrong, unless(len(selected(p)) > 0, "selects no system that krew supports")...)
}

func checkOverlap(p krewPlugin) []string {
	var wrong []string
	seen := map[string]int{}
	for i, platform := range p.Spec.Platforms {
		for _, system := range selected(platform) {
			if first, ok := seen[system]; ok {
				wrong = append(wrong, fmt.Sprintf("%s is selected by platforms %d and %d", system, first, i))
			}
			seen[system] = i
		}
	}
	return append(wrong, unless(len(p.Spec.Platforms) > 0, "no platform")...)
}

func checkFiles(p krewPlatform) []string {
	var wrong []string
	for _, f := range p.Files {
		wrong = append(wrong, unless(isInside(f.From), "from %q is not a clean relative path", f.From)...)
		wrong = append(wrong, unless(isInside(f.To), "to %q is not a clean relative path", f.To)...)
	}
	return append(wrong, unless(len(p.Files) > 0, "missing")...)
}

func checkExecutable(p krewPlatform) []string {
	wrong := unless(slices.Contains(installed(p), p.Bin), "bin %q is not among the files %q", p.Bin, installed(p))
	for _, system := range selected(p) {
		if strings.HasPrefix(system, "windows/") && !strings.HasSuffix(p.Bin, ".exe") {
			wrong = append(wrong, fmt.Sprintf("bin %q is not an .exe on %s", p.Bin, system))
		}
	}
	return wrong
}

// selected returns the systems (os/arch, of krewSystems) of a platform. An empty selector would match all of them;
// krew refuses it, so it selects none.
func selected(p krewPlatform) []string {
	if p.Selector == nil || len(p.Selector.MatchLabels)+len(p.Selector.MatchExpressions) == 0 {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(p.Selector)
	if err != nil {
		return nil
	}
	var systems []string
	for _, system := range krewSystems {
		goos, arch, _ := strings.Cut(system, "/")
		if selector.Matches(labels.Set{"os": goos, "arch": arch}) {
			systems = append(systems, system)
		}
	}
	return systems
}

// installed returns the paths of the installed files: a `to` of "." keeps the name of the file.
func installed(p krewPlatform) []string {
	var files []string
	for _, f := range p.Files {
		to := path.Clean(f.To)
		if to == "." {
			to = path.Base(f.From)
		}
		files = append(files, to)
	}
	return files
}

// perPlatform applies a rule for a platform to all platforms of a manifest.
func perPlatform(check func(krewPlatform) []string) func(krewPlugin) []string {
	return func(p krewPlugin) []string {
		var wrong []string
		for i, platform := range p.Spec.Platforms {
			for _, w := range check(platform) {
				wrong = append(wrong, fmt.Sprintf("platforms[%d]: %s", i, w))
			}
		}
		return wrong
	}
}

func unless(ok bool, format string, args ...any) []string {
	if ok {
		return nil
	}
	return []string{fmt.Sprintf(format, args...)}
}

func longLines(field, text string) []string {
	var wrong []string
	for i, line := range strings.Split(text, "\n") {
		if len([]rune(line)) > 80 {
			wrong = append(wrong, fmt.Sprintf("%s: line %d is longer than 80 characters", field, i+1))
		}
	}
	return wrong
}

func isHTTPS(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Host != ""
}

// isInside reports whether a path is clean and stays in the directory in which it starts.
func isInside(p string) bool {
	return p != "" && path.Clean(p) == p && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../")
}
