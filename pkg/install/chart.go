// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helm "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/manifests"
)

// Chart is a chart of this project. A cluster has one installation of it.
type Chart struct {
	// Dir is its directory in the package manifests.
	Dir string
	// Name is the name of the release, of the Deployment, and the value of the inventory label.
	Name string
	// Kinds are the kinds of its objects, in the order in which they are removed.
	Kinds []schema.GroupVersionKind
	// Names are the names of its objects.
	Names []string
}

// Selector selects the objects of an installation.
func (c Chart) Selector() string { return NameLabel + "=" + c.Name }

// Common are the values that every chart has. A zero value keeps the value of the chart.
type Common struct {
	Image    string `json:"image,omitempty"`
	Replicas int    `json:"replicas,omitempty"`
	// APIServers are the addresses of the API servers, for the NetworkPolicy; none means all.
	APIServers []string `json:"apiServers,omitempty"`
}

// Replicas is the number of replicas in the charts.
const Replicas = 2

// repository has the images of the program.
const repository = "fleetdoctor/kubectl-fleetdoctor"

// described is the end of a version that git describe or the go command makes of a commit without a tag, or of a
// changed tree.
var described = regexp.MustCompile(`(-[0-9]+-g[0-9a-f]+|[-.][0-9]{14}-[0-9a-f]{12})?(-dirty|\+dirty)?$`)

// ImageOf returns the image of a version of the program; ok is false if no release has that version, and so no image
// exists.
func ImageOf(version string) (image string, ok bool) {
	number, tagged := strings.CutPrefix(version, "v")
	if _, err := semver.StrictNewVersion(number); !tagged || err != nil || described.FindString(version) != "" {
		return "", false
	}
	// A tag cannot contain a plus sign.
	return repository + ":" + strings.ReplaceAll(version, "+", "_"), true
}

// encode returns values, a map or a pointer to a struct, in the form that Helm reads from a file.
func encode(v any) (map[string]any, error) {
	if values, ok := v.(map[string]any); ok {
		return values, nil
	}
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(v)
	if err != nil {
		return nil, fmt.Errorf("encoding the values: %w", err)
	}
	return values, nil
}

// load returns the embedded chart.
func (c Chart) load() (*chart.Chart, error) {
	var files []*archive.BufferedFile
	err := fs.WalkDir(manifests.Charts, c.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := manifests.Charts.ReadFile(name)
		files = append(files, &archive.BufferedFile{Name: strings.TrimPrefix(name, c.Dir+"/"), Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	return loader.LoadFiles(files)
}

// Render returns the objects of an installation in the order in which they are applied: the Namespace, and those of the
// chart with its values, a map or a pointer to a struct. It needs no cluster.
func (c Chart) Render(namespace string, v any) ([]*unstructured.Unstructured, error) {
	values, err := encode(v)
	if err != nil {
		return nil, err
	}
	loaded, err := c.load()
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler)))
	install.ReleaseName, install.Namespace, install.DryRunStrategy = c.Name, namespace, action.DryRunClient
	install.KubeVersion = &common.KubeVersion{Version: "v1.28.0", Major: "1", Minor: "28"} // the minimum of the charts
	r, err := install.Run(loaded, values)
	if err != nil {
		return nil, fmt.Errorf("rendering the chart: %w", err)
	}
	rendered, _ := r.(*helm.Release)
	objects, err := manifestOf(rendered)
	return append([]*unstructured.Unstructured{namespaceObject(namespace)}, objects...), err
}

// namespaceObject is the Namespace of an installation. It is not in the charts, because Helm needs it for the release.
// It has the same labels for every chart.
func namespaceObject(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(NamespaceKind)
	u.SetName(name)
	u.SetLabels(map[string]string{
		"pod-security.kubernetes.io/audit":   "restricted",
		"pod-security.kubernetes.io/enforce": "restricted",
		"pod-security.kubernetes.io/warn":    "restricted",
	})
	return u
}

// manifestOf returns the objects in the manifest of a release.
func manifestOf(r *helm.Release) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(r.Manifest), len(r.Manifest)); ; {
		u := &unstructured.Unstructured{}
		switch err := d.Decode(u); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("reading the manifest of release %s: %w", r.Name, err)
		case u.Object != nil:
			out = append(out, u)
		}
	}
}
