// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
)

// loadChart reads the embedded chart.
func loadChart() (*chart.Chart, error) {
	var files []*archive.BufferedFile
	err := fs.WalkDir(manifests.Chart, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := manifests.Chart.ReadFile(name)
		files = append(files, &archive.BufferedFile{Name: name, Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	return loader.LoadFiles(files)
}

// RenderChart returns the objects of the chart in the order in which Helm applies them. It needs no cluster.
func RenderChart(namespace string, values map[string]any) ([]*unstructured.Unstructured, error) {
	c, err := loadChart()
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler)))
	install.ReleaseName, install.Namespace, install.DryRunStrategy = Name, namespace, action.DryRunClient
	install.KubeVersion = &common.KubeVersion{Version: "v1.28.0", Major: "1", Minor: "28"} // the chart's minimum
	r, err := install.Run(c, values)
	if err != nil {
		return nil, fmt.Errorf("rendering the chart: %w", err)
	}
	return manifestOf(r)
}

// manifestOf returns the objects in the manifest of a release.
func manifestOf(r release.Releaser) ([]*unstructured.Unstructured, error) {
	a, err := release.NewAccessor(r)
	if err != nil {
		return nil, fmt.Errorf("reading a release: %w", err)
	}
	var out []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(a.Manifest()), len(a.Manifest())); ; {
		u := &unstructured.Unstructured{}
		switch err := d.Decode(u); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("reading the manifest of release %s: %w", a.Name(), err)
		case u.Object != nil:
			out = append(out, u)
		}
	}
}
