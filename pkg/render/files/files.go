// SPDX-License-Identifier: Apache-2.0

// Package files reads a directory with a fleet.yaml as the input of a rendering, in the way in which Fleet makes a Bundle of it. Files that Fleet would
// download are gaps.
package files

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// maxBytes and maxFiles limit the files of a directory.
const (
	maxBytes = 64 << 20
	maxFiles = 50_000
)

// ErrNoName is returned for a directory whose fleet.yaml states no name: the name of its bundle depends on the GitRepo and the path, which Options state.
var ErrNoName = errors.New("naming the bundle: no fleet.yaml states its name")

var (
	errTooLarge = errors.New("the directory has more than 64 MiB or more than 50,000 files")
	// errEmpty is returned for a directory of which Fleet does not make a Bundle.
	errEmpty = errors.New("reading bundle directory: it has no file to deploy")
)

// Options describe the repository of a directory.
type Options struct {
	// GitRepo and Path are the name of the GitRepo and the path of the directory in the repository, empty for its root. They determine the name of the
	// bundle if the fleet.yaml does not state one.
	GitRepo, Path string
}

// bundleFile is the part of a fleet.yaml that is read.
type bundleFile struct {
	Name string `json:"name"`
	v1alpha1.Options
	Targets              []json.RawMessage `json:"targets"`
	TargetCustomizations []json.RawMessage `json:"targetCustomizations"`
	// OverrideTargets that are present but empty restrict nothing (docs/fleet-behavior.md, 5.1).
	OverrideTargets *[]json.RawMessage `json:"overrideTargets"`
	// unknown are notes on keys that Fleet ignores.
	unknown []string
}

// Load reads a directory. The caller sets what it knows about the cluster (SetID, versions, values of valuesFrom) in the Input. A symbolic link
// that leaves the directory is refused. Errors name the file and do not quote it.
func Load(dir string, o Options) (*render.Input, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening bundle directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	if abs, err := filepath.Abs(dir); err != nil || strings.HasPrefix(filepath.Base(abs), ".") {
		return nil, errEmpty // Fleet ignores hidden directories
	}
	f, err := readBundleFile(root)
	if err != nil {
		return nil, err
	}
	in := &render.Input{Name: f.Name, Options: f.Options, Notes: f.unknown}
	if in.Name == "" {
		if o.GitRepo == "" {
			return nil, ErrNoName
		}
		in.Name = fleet.HelmReleaseName(path.Join(o.GitRepo, filepath.ToSlash(o.Path))) // docs/fleet-behavior.md, 1.4
	}
	if len(f.Targets)+len(f.TargetCustomizations) > 0 {
		in.Gaps = append(in.Gaps, "the fleet.yaml has targetCustomizations, which depend on the cluster")
		if f.OverrideTargets != nil && len(*f.OverrideTargets) == 0 {
			in.Notes = append(in.Notes, "the fleet.yaml has empty overrideTargets: they restrict nothing, and every entry of targetCustomizations becomes a target")
		}
	}
	t := tree{root: root, applied: []string{"fleet.yaml"}}
	if helm := in.Options.Helm; helm != nil {
		for _, v := range helm.ValuesFiles {
			t.applied = append(t.applied, v, path.Base(v))
		}
		if err := mergeValuesFiles(root, in); err != nil {
			return nil, err
		}
	}
	if err := t.read(); err != nil {
		return nil, err
	}
	in.Resources = t.resources
	if helm := in.Options.Helm; len(in.Resources) == 0 && (helm == nil || helm.Chart == "" && helm.Repo == "") { // a chart that Fleet downloads is enough
		return nil, errEmpty
	}
	if in.Options.Helm == nil || !in.Options.Helm.DisableDependencyUpdate {
		in.Gaps = append(in.Gaps, missingDependencies(t.resources)...)
	}
	return in, nil
}

func readBundleFile(root *os.Root) (*bundleFile, error) {
	f := &bundleFile{}
	for _, name := range []string{"fleet.yaml", "fleet.yml"} {
		data, err := readFile(root, name, maxBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = f.parse(name, data)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		break
	}
	return f, nil
}

// parse reads the text of a fleet.yaml. Errors contain the line if it is known, and do not quote the text.
func (f *bundleFile) parse(name string, data []byte) error {
	raw, err := yaml.YAMLToJSON(data)
	if err != nil {
		return errors.New("it is not valid YAML" + render.LineOf(err, data))
	}
	root := &yamlv3.Node{}
	if err := yamlv3.Unmarshal(data, root); err != nil || root.Kind != yamlv3.DocumentNode {
		root.Content = []*yamlv3.Node{{}} // without lines
	}
	if err := json.Unmarshal(raw, f); err != nil {
		wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if !ok || wrong.Field == "" {
			return errors.New("it is not a map of bundle options")
		}
		field, at := strings.TrimPrefix(wrong.Field, "Options."), ""
		if line := lineOfField(root.Content[0], field); line > 0 {
			at = fmt.Sprintf(" (line %d)", line)
		}
		return fmt.Errorf("%s has a wrong type%s", field, at)
	}
	f.unknown = unknownKeys(name, root.Content[0])
	return nil
}

// mergeValuesFiles merges the values files over the values if the options name a chart. Without a chart, Fleet does not read them. It adds a gap for
// every value that depends on the labels of a cluster.
func mergeValuesFiles(root *os.Root, in *render.Input) error {
	helm := in.Options.Helm
	values := map[string]any{}
	if len(helm.Values) > 0 {
		if err := json.Unmarshal(helm.Values, &values); err != nil {
			return errors.New("reading fleet.yaml: helm.values is not a map")
		}
	}
	if helm.Chart == "" && helm.Repo == "" && len(helm.ValuesFiles) > 0 {
		in.Gaps = append(in.Gaps, "the fleet.yaml has helm.valuesFiles without helm.chart or helm.repo, so Fleet does not read them")
		helm.ValuesFiles = nil
	}
	for _, name := range helm.ValuesFiles {
		data, err := readFile(root, name, maxBytes)
		if err != nil {
			return fmt.Errorf("reading values file %s: %w", name, err)
		}
		var more map[string]any
		raw, err := yaml.YAMLToJSON(data)
		if err == nil {
			err = json.Unmarshal(raw, &more)
		}
		if err != nil {
			return fmt.Errorf("reading values file %s: it is not a YAML map%s", name, render.LineOf(err, data))
		}
		values = loader.MergeMaps(values, more)
	}
	helm.ValuesFiles = nil // in a Bundle, they are part of the values
	if len(values) > 0 {
		raw, err := json.Marshal(values)
		if err != nil {
			return errors.New("reading fleet.yaml: its values cannot be encoded as JSON")
		}
		helm.Values = raw
	}
	for _, at := range render.ClusterValues(helm, values) {
		in.Gaps = append(in.Gaps, "helm.values"+at+" depends on the labels of the cluster")
	}
	return nil
}

// missingDependencies returns gaps for the dependencies of charts that Fleet would download before it makes the Bundle.
func missingDependencies(resources []v1alpha1.BundleResource) []string {
	var gaps []string
	for _, r := range resources {
		if base := path.Base(r.Name); base != "Chart.yaml" && base != "requirements.yaml" {
			continue
		}
		var c struct {
			Dependencies []struct {
				Name string `json:"name"`
			} `json:"dependencies"`
		}
		if yaml.Unmarshal([]byte(r.Content), &c) != nil {
			continue // Helm returns a better error
		}
		charts := path.Join(path.Dir(r.Name), "charts") + "/"
		for _, d := range c.Dependencies {
			found := slices.ContainsFunc(resources, func(r v1alpha1.BundleResource) bool {
				in, ok := strings.CutPrefix(r.Name, charts+d.Name)
				return ok && (in == "/Chart.yaml" || strings.HasPrefix(in, "-") && strings.HasSuffix(in, ".tgz"))
			})
			if !found {
				gaps = append(gaps, fmt.Sprintf("%s depends on chart %s, which Fleet downloads when it makes the bundle", r.Name, d.Name))
			}
		}
	}
	return gaps
}

// encode returns a file as Fleet stores it: text is stored unchanged.
func encode(name string, data []byte) (v1alpha1.BundleResource, error) {
	if utf8.Valid(data) {
		return v1alpha1.BundleResource{Name: name, Content: string(data)}, nil
	}
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		return v1alpha1.BundleResource{}, fmt.Errorf("packing %s: %w", name, err)
	}
	return v1alpha1.BundleResource{Name: name, Content: base64.StdEncoding.EncodeToString(buf.Bytes()), Encoding: "base64+gz"}, nil
}
