// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"strings"

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
