// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

const (
	chartFile         = "Chart.yaml"
	kustomizationFile = "kustomization.yaml"
	chartDir          = "chart/"     // the root of the chart for Helm
	rawDir            = "raw-yaml/"  // of a chart: manifests that are not templates
	templateDir       = "templates/" // also of a bundle without a chart
)

// style says how Fleet interprets the contents: the paths of Chart.yaml and kustomization.yaml among the contents,
// empty if they are not found. A bundle without both has plain manifests. With both, the output of Helm is input of
// kustomize.
type style struct{ chart, kustomization string }

func (s style) plain() bool { return s == style{} }

// detectStyle searches for the chart and the kustomization of the options. Source: docs/fleet-behavior.md, 2.6.
func detectStyle(resources []resource, o *v1alpha1.Options) style {
	local := below(cmp.Or(o.Helm.Chart, o.Helm.Repo), chartFile)
	embedded := embeddedChartDir(o.Helm)
	kustomization := below(o.Kustomize.Dir, kustomizationFile)
	var s style
	for _, r := range resources {
		inDir, _ := path.Match(path.Join(embedded, "*", chartFile), r.Name)
		switch {
		case r.Name == local, r.Name == path.Join(embedded, chartFile), inDir:
			s.chart = r.Name
		case r.Name == kustomization:
			s.kustomization = r.Name
		}
	}
	return s
}

// embeddedChartDir is the directory among the contents in which Fleet stores a downloaded chart. Source:
// docs/fleet-behavior.md, 2.6.
func embeddedChartDir(helm *v1alpha1.HelmOptions) string {
	return fmt.Sprintf(".chart/%x", sha256.Sum256([]byte(helm.Chart+":"+helm.Repo+":"+helm.Version)))
}

func below(dir, file string) string { return strings.TrimPrefix(path.Join(dir, file), "/") }

// layOut makes the chart that the agent passes to Helm. Source: docs/fleet-behavior.md, 2.6.
func (b *bundle) layOut() error {
	if b.style.chart != "" {
		dir := strings.TrimPrefix(path.Dir(b.style.chart)+"/", "./")
		for _, r := range b.resources {
			if rest, ok := strings.CutPrefix(r.Name, dir); ok {
				b.chartFiles = append(b.chartFiles, file{chartDir + rest, r.data})
			}
		}
		return nil
	}
	resources, commit := b.resources, b.in.Commit
	if b.style.plain() {
		var applied bool
		var err error
		if resources, applied, err = b.overlay(); err != nil {
			return err
		}
		if applied {
			commit = "" // Fleet loses it, so the manifest id is the version of the generated chart
		}
		b.chartFiles = plainFiles(resources)
	}
	return b.generateChart(resources, commit)
}

// generateChart adds the Chart.yaml of a bundle without a chart.
func (b *bundle) generateChart(resources []resource, commit string) error {
	encoded := make([]v1alpha1.BundleResource, len(resources))
	for i, r := range resources {
		encoded[i] = r.BundleResource
	}
	id, err := ManifestID(encoded)
	if err != nil {
		return b.in.fail("", err.Error())
	}
	const shortCommit = 12
	if len(commit) > shortCommit {
		id = "git-" + commit[:shortCommit]
	}
	name := b.in.Name[strings.LastIndexByte(b.in.Name, '/')+1:]
	data, err := yaml.Marshal(map[string]string{"apiVersion": "v2", "name": name, "version": "v0.0.0+" + id})
	if err != nil {
		return b.in.fail(chartFile, "it cannot be written as YAML")
	}
	b.chartFiles = append(b.chartFiles, file{chartDir + chartFile, data})
	return nil
}

// plainFiles returns plain manifests as files of a chart. Helm renders those in templates/. Others are in raw-yaml/,
// which Helm ignores. Left out are files that are not YAML or JSON, and files below a directory that is another bundle
// or a chart.
func plainFiles(resources []resource) []file {
	var others []string
	for _, r := range resources {
		if base := path.Base(r.Name); strings.Contains(r.Name, "/") && (base == chartFile || isBundleFile(base)) {
			others = append(others, path.Dir(r.Name)+"/")
		}
	}
	var out []file
	for _, r := range resources {
		isOther := slices.ContainsFunc(others, func(dir string) bool { return strings.HasPrefix(r.Name, dir) })
		if isOther || isBundleFile(r.Name) || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(r.Name)) {
			continue
		}
		dir := chartDir
		if !strings.HasPrefix(r.Name, templateDir) {
			dir += rawDir
		}
		out = append(out, file{dir + r.Name, r.data})
	}
	return out
}

func isBundleFile(name string) bool { return name == "fleet.yaml" || name == "fleet.yml" }
