// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Style is how Fleet takes a bundle's contents.
type Style string

// The styles. With both, what Helm makes goes through kustomize.
const (
	StyleRaw           Style = "raw"
	StyleHelm          Style = "helm"
	StyleKustomize     Style = "kustomize"
	StyleHelmKustomize Style = "helm+kustomize"
)

const (
	chartFile         = "Chart.yaml"
	kustomizationFile = "kustomization.yaml"
	chartDir          = "chart/"     // what Helm is given is all below it
	rawDir            = "raw-yaml/"  // in the chart: manifests that are no templates
	templateDir       = "templates/" // of a bundle without a chart: templates all the same
)

// style is what was found: the paths of the Chart.yaml and the kustomization.yaml among the contents, empty where there is none.
type style struct{ chart, kustomization string }

func (s style) raw() bool { return s.chart == "" && s.kustomization == "" }

func (s style) name() Style {
	switch {
	case s.raw():
		return StyleRaw
	case s.kustomization == "":
		return StyleHelm
	case s.chart == "":
		return StyleKustomize
	default:
		return StyleHelmKustomize
	}
}

// detectStyle looks for the chart and the kustomization that the options name. Source: docs/fleet-behavior.md, 2.6.
func detectStyle(resources []v1alpha1.BundleResource, o *v1alpha1.Options) style {
	helm := v1alpha1.HelmOptions{}
	if o.Helm != nil {
		helm = *o.Helm
	}
	dir := helm.Chart
	if dir == "" {
		dir = helm.Repo
	}
	local, embedded := below(dir, chartFile), EmbeddedChartDir(&helm)+"/"
	kustomization := below(kustomizeDir(o), kustomizationFile)
	var s style
	for _, r := range resources {
		switch {
		case r.Name == "":
		case r.Name == local, isEmbeddedChart(r.Name, embedded):
			s.chart = r.Name
		case r.Name == kustomization:
			s.kustomization = r.Name
		}
	}
	return s
}

// EmbeddedChartDir is where among the contents a downloaded chart is kept. Source: docs/fleet-behavior.md, 2.6.
func EmbeddedChartDir(helm *v1alpha1.HelmOptions) string {
	sum := sha256.Sum256([]byte(helm.Chart + ":" + helm.Repo + ":" + helm.Version))
	return ".chart/" + hex.EncodeToString(sum[:])
}

// isEmbeddedChart takes the chart's file in the directory itself or in one below it.
func isEmbeddedChart(name, dir string) bool {
	rest, ok := strings.CutPrefix(name, dir)
	if !ok {
		return false
	}
	if _, file, deeper := strings.Cut(rest, "/"); deeper {
		rest = file
	}
	return rest == chartFile
}

func below(dir, file string) string { return strings.TrimPrefix(path.Join(dir, file), "/") }

func kustomizeDir(o *v1alpha1.Options) string {
	if o.Kustomize == nil {
		return ""
	}
	return o.Kustomize.Dir
}

// layOut makes the chart that the agent hands to Helm. Source: docs/fleet-behavior.md, 2.6.
func (b *bundle) layOut() error {
	m := manifestFiles{resources: b.resources, data: b.data, commit: b.in.Commit}
	if b.style.raw() {
		var err error
		if m, err = b.overlay(m); err != nil {
			return err
		}
	}
	switch {
	case b.style.chart != "":
		dir := path.Dir(b.style.chart) + "/"
		if dir == "./" {
			dir = ""
		}
		for i, r := range m.resources {
			if rest, ok := strings.CutPrefix(r.Name, dir); ok {
				b.chart = append(b.chart, file{chartDir + rest, m.data[i]})
			}
		}
		return nil
	case b.style.raw():
		b.chart = m.plain()
	}
	return b.generateChart(m)
}

// generateChart adds the Chart.yaml of a bundle that has none.
func (b *bundle) generateChart(m manifestFiles) error {
	id, _, err := ManifestID(m.resources)
	if err != nil {
		return b.in.fail("", err.Error())
	}
	const shortCommit = 12
	if len(m.commit) > shortCommit {
		id = "git-" + m.commit[:shortCommit]
	}
	name := b.in.Name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	data, err := yaml.Marshal(map[string]string{"apiVersion": "v2", "name": name, "version": "v0.0.0+" + id})
	if err != nil {
		return b.in.fail(chartFile, "writing it failed")
	}
	b.chart = append(b.chart, file{chartDir + chartFile, data})
	return nil
}

// manifestFiles are the files of a bundle of plain manifests, as stored and decoded, and the commit, which overlays lose.
type manifestFiles struct {
	resources []v1alpha1.BundleResource
	data      [][]byte
	commit    string
}

// plain sorts plain manifests into a chart: templates/ is Helm's, the rest is kept away from it. What is no YAML or JSON, and what lies below a
// directory that is a bundle or a chart of its own, stays out.
func (m manifestFiles) plain() []file {
	var others []string
	for _, r := range m.resources {
		switch base := path.Base(r.Name); {
		case !strings.Contains(r.Name, "/"):
		case base == chartFile, base == "fleet.yaml", base == "fleet.yml":
			others = append(others, path.Dir(r.Name)+"/")
		}
	}
	var out []file
	for i, r := range m.resources {
		if r.Name == "fleet.yaml" || r.Name == "fleet.yml" || !isManifest(r.Name) || hasAnyPrefix(r.Name, others) {
			continue
		}
		if strings.HasPrefix(r.Name, templateDir) {
			out = append(out, file{chartDir + r.Name, m.data[i]})
		} else {
			out = append(out, file{chartDir + rawDir + r.Name, m.data[i]})
		}
	}
	return out
}

func isManifest(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".json")
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
