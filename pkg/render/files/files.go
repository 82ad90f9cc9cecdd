// SPDX-License-Identifier: Apache-2.0

// Package files reads a directory with a fleet.yaml as the input of a rendering, in the way in which Fleet makes a
// Bundle of it. Files that Fleet would download are gaps.
package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// ErrNoName is returned for a directory whose fleet.yaml states no name: the name of its bundle depends on the GitRepo
// and the path, which Options state.
var ErrNoName = errors.New("naming the bundle: no fleet.yaml states its name")

// errEmpty is returned for a directory of which Fleet does not make a Bundle.
var errEmpty = errors.New("reading bundle directory: it has no file to deploy")

// Options describe the repository of a directory.
type Options struct {
	// GitRepo and Path are the name of the GitRepo and the path of the directory in the repository, empty for its root.
	// They determine the name of the bundle if the fleet.yaml does not state one.
	GitRepo, Path string
}

// bundleFile is the part of a fleet.yaml that is read.
type bundleFile struct {
	Name string `json:"name"`
	v1alpha1.Options
	Paused               bool                 `json:"paused"`
	Labels               map[string]string    `json:"labels"`
	DependsOn            []v1alpha1.BundleRef `json:"dependsOn"`
	ImageScans           []imageScan          `json:"imageScans"`
	Targets              []render.LocalTarget `json:"targets"`
	TargetCustomizations []render.LocalTarget `json:"targetCustomizations"`
	// OverrideTargets that are present but empty restrict nothing (docs/fleet-behavior.md, 5.1).
	OverrideTargets         *[]v1alpha1.ClusterTarget `json:"overrideTargets"`
	TargetCustomizationMode string                    `json:"targetCustomizationMode"`
	// file is the name of the file; empty without one. unknown are notes on keys that Fleet ignores.
	file    string
	unknown []string
	// dependsOnLines are the lines of the entries of DependsOn.
	dependsOnLines []int
}

// imageScan is the part of an entry of imageScans that fleet apply validates.
type imageScan struct {
	Image   string `json:"image"`
	TagName string `json:"tagName"`
}

// LoadAll reads a directory as fleet apply does: each directory below with a fleet.yaml is a bundle of its own. The
// directory itself is one if it has a fleet.yaml, or a manifest that is in none of the others. A directory without a
// file to deploy is no bundle; there is at least one. No two have the same name.
func LoadAll(dir string, o Options) ([]*render.Local, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening bundle directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	dirs, err := bundleDirs(root)
	if err != nil {
		return nil, fmt.Errorf("reading bundle directory: %w", err)
	}
	var out []*render.Local
	for _, below := range dirs {
		l, err := Load(filepath.Join(dir, filepath.FromSlash(below)),
			Options{GitRepo: o.GitRepo, Path: path.Join(filepath.ToSlash(o.Path), below)})
		if errors.Is(err, errEmpty) {
			continue
		}
		if err != nil && below != "." {
			err = fmt.Errorf("%s: %w", below, err)
		}
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(out, func(o *render.Local) bool { return o.Name == l.Name }); i >= 0 {
			return nil, fmt.Errorf("reading bundle directory: %s and %s both make the bundle %s, and one of them "+
				"replaces the other",
				out[i].Dir, below, l.Name)
		}
		l.Dir = below
		if l.File != "" {
			l.File = path.Join(below, l.File)
		}
		if l.Refused != "" && below != "." {
			l.Refused += " (in directory " + below + ")"
		}
		out = append(out, l)
	}
	if len(out) == 0 {
		return nil, errEmpty
	}
	return out, nil
}

// Load reads a directory as one bundle. The caller sets what it knows about the cluster (SetID, versions, values of
// valuesFrom) in the Input. A symbolic link that leaves the directory is refused. Errors name the file and do not
// quote it.
func Load(dir string, o Options) (*render.Local, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening bundle directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	abs, err := filepath.Abs(dir)
	if err != nil || strings.HasPrefix(filepath.Base(abs), ".") {
		return nil, errEmpty // Fleet ignores hidden directories
	}
	f, refused, err := readBundleFile(root)
	if err != nil {
		return nil, err
	}
	l := &render.Local{Input: render.Input{Name: f.Name, Options: f.Options, Notes: f.unknown, FromFiles: true},
		Dir: ".", GitRepo: o.GitRepo, File: f.file, Paused: f.Paused,
		Labels: f.Labels, DependsOn: f.DependsOn, DependsOnLines: f.dependsOnLines, ImageScans: len(f.ImageScans) > 0,
		Targets: slices.Concat(f.Targets, f.TargetCustomizations), Mode: f.TargetCustomizationMode}
	switch {
	case l.Name != "":
	case o.GitRepo != "":
		l.Name = fleet.HelmReleaseName(path.Join(o.GitRepo, filepath.ToSlash(o.Path))) // docs/fleet-behavior.md, 1.4
	case refused != nil:
		l.Name = filepath.Base(abs) // the fleet.yaml may state another one
	default:
		return nil, ErrNoName
	}
	if refused != nil {
		l.Refused = refused.Error()
		return l, nil
	}
	for i := range l.Targets {
		if t := &l.Targets[i]; t.Name == "" {
			t.Name = fmt.Sprintf("target%03d", i)
		}
	}
	if f.OverrideTargets != nil {
		l.OverrideTargets = append([]v1alpha1.ClusterTarget{}, *f.OverrideTargets...)
	}
	if l.OverrideTargets != nil && len(l.OverrideTargets) == 0 && len(l.Targets) > 0 {
		l.Notes = append(l.Notes, "the fleet.yaml has empty overrideTargets: they restrict nothing, "+
			"and every entry of targetCustomizations becomes a target")
	}
	return l, fill(root, l)
}

// fill reads the values files and the other files of a bundle.
func fill(root *os.Root, l *render.Local) error {
	t := tree{root: root, applied: []string{"fleet.yaml"}}
	all := []*v1alpha1.HelmOptions{l.Options.Helm}
	for i := range l.Targets {
		all = append(all, l.Targets[i].Helm)
	}
	for i, helm := range all {
		if helm == nil {
			continue
		}
		for _, v := range helm.ValuesFiles {
			t.applied = append(t.applied, v, path.Base(v))
		}
		err := mergeValuesFiles(root, l, helm, i == 0)
		if refused, ok := errors.AsType[refusedError](err); ok {
			l.Refused = string(refused)
			return nil
		}
		if err != nil {
			return err
		}
	}
	if err := t.read(); err != nil {
		return err
	}
	l.Resources = t.resources
	helm := l.Options.Helm
	downloads := helm != nil && helm.Chart+helm.Repo != "" // a chart that Fleet downloads is enough
	if len(l.Resources) == 0 && !downloads {
		return errEmpty
	}
	if helm == nil || !helm.DisableDependencyUpdate {
		l.Gaps = append(l.Gaps, missingDependencies(t.resources)...)
	}
	return nil
}

// readBundleFile reads the fleet.yaml. refused is why fleet apply refuses it.
func readBundleFile(root *os.Root) (f *bundleFile, refused, err error) {
	f = &bundleFile{}
	for _, name := range bundleFileNames {
		data, err := readFile(root, name, maxBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", name, err)
		}
		f.file = name
		if err := f.parse(name, data); err != nil {
			return f, fmt.Errorf("reading %s: %w", name, err), nil
		}
		if slices.ContainsFunc(f.ImageScans, func(s imageScan) bool { return s.Image != "" && s.TagName == "" }) {
			return f, errors.New("the name of scan is required: an entry of imageScans has no tagName"), nil
		}
		if field, why := f.invalid(); why != "" {
			return f, fmt.Errorf("reading %s: %s: %s", name, field, why), nil
		}
		break
	}
	return f, nil, nil
}

// longestReleaseName is the length in bytes of the longest name of a release.
const longestReleaseName = 53

// invalid returns a field with which the API server refuses the Bundle, and why, in its words; empty without one.
func (f *bundleFile) invalid() (field, why string) {
	isName := func(name string) []string {
		if name == "" {
			return nil // Fleet makes one
		}
		return validation.IsDNS1123Subdomain(name)
	}
	release := ""
	if f.Helm != nil {
		release = f.Helm.ReleaseName
	}
	ofRelease := isName(release)
	if len(release) > longestReleaseName {
		ofRelease = append(ofRelease, validation.MaxLenError(longestReleaseName))
	}
	var ofLabels []string
	for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
		ofLabels = slices.Concat(ofLabels, validation.IsQualifiedName(key), validation.IsValidLabelValue(f.Labels[key]))
	}
	for _, x := range []struct {
		field    string
		problems []string
	}{{"name", isName(f.Name)}, {"helm.releaseName", ofRelease}, {"labels", ofLabels}} {
		if len(x.problems) > 0 {
			return x.field, x.problems[0]
		}
	}
	return "", ""
}

// parse reads the text of a fleet.yaml. Errors contain the line if it is known, and do not quote the text.
func (f *bundleFile) parse(name string, data []byte) error {
	if _, err := yaml.YAMLToJSON(data); err != nil {
		return errors.New("it is not valid YAML" + render.LineOf(err, data))
	}
	root := &yamlv3.Node{}
	if err := yamlv3.Unmarshal(data, root); err != nil || root.Kind != yamlv3.DocumentNode {
		root.Content = []*yamlv3.Node{{}} // without lines
	}
	raw, field, err := decode(data)
	if err == nil {
		err = json.Unmarshal(raw, f)
	}
	if err != nil {
		if line := lineOfField(root.Content[0], field); line > 0 {
			err = fmt.Errorf("%w (line %d)", err, line)
		}
		return err
	}
	f.unknown, f.dependsOnLines = unknownKeys(name, root.Content[0]), linesOfList(root.Content[0], "dependsOn")
	return nil
}

// mergeValuesFiles merges the values files over the values if the options name a chart. Without a chart, Fleet does
// not read those of the bundle itself. The error is a refusedError if fleet apply refuses them.
func mergeValuesFiles(root *os.Root, l *render.Local, helm *v1alpha1.HelmOptions, ofBundle bool) error {
	values := map[string]any{}
	if len(helm.Values) > 0 {
		if err := json.Unmarshal(helm.Values, &values); err != nil {
			return fmt.Errorf("reading fleet.yaml: %w", err)
		}
	}
	withoutChart := helm.Chart == "" && helm.Repo == ""
	if ofBundle && withoutChart && len(helm.ValuesFiles) > 0 {
		l.Notes = append(l.Notes,
			"the fleet.yaml has helm.valuesFiles without helm.chart or helm.repo, so Fleet does not read them")
		helm.ValuesFiles = nil
	}
	for _, name := range helm.ValuesFiles {
		data, err := readFile(root, name, maxBytes)
		if errors.Is(err, fs.ErrNotExist) {
			return refusedError(fmt.Sprintf("reading values file: %s: no such file or directory", name))
		}
		if err != nil {
			return fmt.Errorf("reading values file %s: %w", name, err)
		}
		var more map[string]any
		if err := yaml.Unmarshal(data, &more); err != nil {
			return refusedError(fmt.Sprintf("reading values file %s: it is not a YAML map%s", name,
				render.LineOf(err, data)))
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
	return nil
}

// refusedError is why fleet apply refuses a directory.
type refusedError string

// Error implements error.
func (e refusedError) Error() string { return string(e) }

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
				packed := strings.HasPrefix(in, "-") && strings.HasSuffix(in, ".tgz")
				return ok && (packed || in == "/Chart.yaml")
			})
			if !found {
				gaps = append(gaps,
					fmt.Sprintf("%s depends on chart %s, which Fleet downloads when it makes the bundle", r.Name,
						d.Name))
			}
		}
	}
	return gaps
}
