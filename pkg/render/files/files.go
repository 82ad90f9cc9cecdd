// SPDX-License-Identifier: Apache-2.0

// Package files makes of a directory with a fleet.yaml what Fleet would make a Bundle of, ready to be rendered. It reads files, and nothing
// else: what Fleet would download is a gap.
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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

// maxBytes and maxFiles bound what is read of a directory.
const (
	maxBytes = 64 << 20
	maxFiles = 50_000
)

// ErrTooLarge is returned for a directory beyond the bounds.
var ErrTooLarge = errors.New("it holds more than 64 MiB or more than 50,000 files")

// ErrNothing is returned for a directory of which Fleet makes no Bundle.
var ErrNothing = errors.New("reading bundle directory: there is nothing in it to deploy")

// Options say of what repository a directory is.
type Options struct {
	// GitRepo and Path, the directory's within the repository, make the bundle's name where the fleet.yaml states none. Path "" is the
	// repository's root.
	GitRepo, Path string
	// Root is the directory that values files may not be outside of, usually the working copy's. Empty: the bundle's own.
	Root string
	// BundleFile is the name of the fleet.yaml where the GitRepo gives it another. Its name without extension enters the bundle's.
	BundleFile string
}

// bundleFile is what is read of a fleet.yaml.
type bundleFile struct {
	Name string `json:"name"`
	v1alpha1.Options
	Targets              []json.RawMessage `json:"targets"`
	TargetCustomizations []json.RawMessage `json:"targetCustomizations"`
	// OverrideTargets that are there and empty restrict nothing (docs/fleet-behavior.md, 5.1).
	OverrideTargets *[]json.RawMessage `json:"overrideTargets"`
	// unknown says which keys Fleet ignores.
	unknown []string
}

// Load reads a directory. What the caller knows of the cluster (SetID, versions, values of valuesFrom), it sets in the Input itself.
// Links that lead out of the directory are refused. Errors name the file and quote nothing of it.
func Load(dir string, o Options) (*render.Input, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening bundle directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	if abs, err := filepath.Abs(dir); err != nil || strings.HasPrefix(filepath.Base(abs), ".") {
		return nil, ErrNothing // of a hidden directory Fleet takes nothing
	}
	f, err := readBundleFile(root, o.BundleFile)
	if err != nil {
		return nil, err
	}
	name, err := bundleName(f.Name, o)
	if err != nil {
		return nil, err
	}
	in := &render.Input{Name: name, Options: f.Options, Notes: f.unknown}
	if len(f.Targets)+len(f.TargetCustomizations) > 0 {
		in.Gaps = append(in.Gaps, "the fleet.yaml has targetCustomizations, which depend on the cluster")
		if f.OverrideTargets != nil && len(*f.OverrideTargets) == 0 {
			in.Notes = append(in.Notes, "its fleet.yaml has overrideTargets that are there and empty: nothing restricts its targetCustomizations, which become targets of their own")
		}
	}
	applied := []string{"fleet.yaml"}
	if o.BundleFile != "" {
		applied = append(applied, o.BundleFile)
	}
	if helm := in.Options.Helm; helm != nil {
		for _, v := range helm.ValuesFiles {
			applied = append(applied, v, path.Base(v))
		}
		if err := mergeValuesFiles(dir, o.Root, in); err != nil {
			return nil, err
		}
	}
	t := tree{root: root, applied: applied}
	if err := t.read(); err != nil {
		return nil, err
	}
	if in.Resources = t.resources; len(in.Resources) == 0 {
		return nil, ErrNothing
	}
	if in.Options.Helm == nil || !in.Options.Helm.DisableDependencyUpdate {
		in.Gaps = append(in.Gaps, missingDependencies(t.resources)...)
	}
	return in, nil
}

func readBundleFile(root *os.Root, name string) (*bundleFile, error) {
	candidates := []string{"fleet.yaml", "fleet.yml"}
	if name != "" {
		candidates = []string{name}
	}
	f := &bundleFile{}
	for _, c := range candidates {
		data, err := readFile(root, c, maxBytes)
		if errors.Is(err, fs.ErrNotExist) && name == "" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", c, err)
		}
		if err := f.parse(c, data); err != nil {
			return nil, fmt.Errorf("reading %s: %w", c, err)
		}
		break
	}
	return f, nil
}

// parse reads the text of a fleet.yaml. Errors name the line where there is one, and quote nothing.
func (f *bundleFile) parse(name string, data []byte) error {
	raw, err := yaml.YAMLToJSON(data)
	if err != nil {
		return errors.New("it is no YAML" + lineOf(err, data))
	}
	var root yamlv3.Node
	located := yamlv3.Unmarshal(data, &root) == nil
	if err := json.Unmarshal(raw, f); err != nil {
		var wrong *json.UnmarshalTypeError
		if !errors.As(err, &wrong) || wrong.Field == "" {
			return errors.New("it is no map of a bundle's options")
		}
		field, at := strings.TrimPrefix(wrong.Field, "Options."), ""
		if line := lineOfField(&root, field); located && line > 0 {
			at = fmt.Sprintf(" (line %d)", line)
		}
		return fmt.Errorf("%s is of the wrong type%s", field, at)
	}
	if located {
		f.unknown = unknownKeys(name, &root)
	}
	return nil
}

// yamlLine is how a YAML error names a line; the rest of it may quote the file. Where the parser did not find what it expected, it counts
// lines from 0, unlike the scanner below it.
var yamlLine = regexp.MustCompile(`line (\d+)(: did not find expected)?`)

func lineOf(err error, text []byte) string {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return ""
	}
	if m[2] != "" {
		line++
	}
	last := 1 + bytes.Count(bytes.TrimSpace(text), []byte("\n")) // an error at the end of the text is in its last line
	return fmt.Sprintf(" (line %d)", min(line, last))
}

// bundleName names the bundle as Fleet does. Source: docs/fleet-behavior.md, 1.4.
func bundleName(stated string, o Options) (string, error) {
	if stated != "" {
		return stated, nil
	}
	if o.GitRepo == "" {
		return "", errors.New("naming the bundle: its fleet.yaml states no name, so it depends on the GitRepo and the path, which are not given")
	}
	id := path.Join(o.GitRepo, filepath.ToSlash(o.Path))
	if o.BundleFile != "" {
		id = path.Join(id, strings.TrimSuffix(o.BundleFile, path.Ext(o.BundleFile)))
	}
	return fleet.HelmReleaseName(id), nil
}

// mergeValuesFiles merges the values files over the values, if the options name a chart: else Fleet does not read them. It then says
// which values only a cluster's labels would complete.
func mergeValuesFiles(dir, root string, in *render.Input) error {
	helm := in.Options.Helm
	values := map[string]any{}
	if len(helm.Values) > 0 {
		if err := json.Unmarshal(helm.Values, &values); err != nil {
			return errors.New("reading fleet.yaml: helm.values is no map")
		}
	}
	if helm.Chart != "" || helm.Repo != "" {
		for _, name := range helm.ValuesFiles {
			data, err := readWithin(dir, root, name)
			if err != nil {
				return fmt.Errorf("reading values file %s: %w", name, err)
			}
			raw, err := yaml.YAMLToJSON(data)
			if err != nil {
				return fmt.Errorf("reading values file %s: it is no YAML%s", name, lineOf(err, data))
			}
			var more map[string]any
			if json.Unmarshal(raw, &more) != nil {
				return fmt.Errorf("reading values file %s: it is no YAML map", name)
			}
			values = loader.MergeMaps(values, more)
		}
	} else if len(helm.ValuesFiles) > 0 {
		in.Gaps = append(in.Gaps, "the fleet.yaml has helm.valuesFiles without helm.chart or helm.repo: Fleet reads them only with one")
	}
	helm.ValuesFiles = nil // Fleet's Bundle has them in the values
	if len(values) > 0 {
		raw, err := json.Marshal(values)
		if err != nil {
			return errors.New("reading fleet.yaml: its values cannot be written as JSON")
		}
		helm.Values = raw
	}
	for _, at := range render.ClusterValues(helm, values) {
		in.Gaps = append(in.Gaps, "helm.values"+at+" needs a cluster's labels")
	}
	return nil
}

// readWithin reads a file by its path from dir, and nothing outside of root.
func readWithin(dir, root, name string) ([]byte, error) {
	if root == "" {
		root = dir
	}
	base, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, fmt.Errorf("the directory is not below %s", root)
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return readFile(r, filepath.Join(base, name), maxBytes)
}

// missingDependencies names the dependencies of charts that Fleet would fetch before it makes the Bundle.
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
			continue // Helm says so better
		}
		charts := path.Join(path.Dir(r.Name), "charts") + "/"
		for _, d := range c.Dependencies {
			there := slices.ContainsFunc(resources, func(r v1alpha1.BundleResource) bool {
				in, ok := strings.CutPrefix(r.Name, charts+d.Name)
				return ok && (in == "/Chart.yaml" || strings.HasPrefix(in, "-") && strings.HasSuffix(in, ".tgz"))
			})
			if !there {
				gaps = append(gaps, fmt.Sprintf("chart %s, on which %s depends, is fetched when the bundle is made", d.Name, r.Name))
			}
		}
	}
	return gaps
}

// resource stores a file as Fleet does: as it is if it is text.
func resource(name string, data []byte) (v1alpha1.BundleResource, error) {
	if utf8.Valid(data) {
		return v1alpha1.BundleResource{Name: name, Content: string(data)}, nil
	}
	buf := &bytes.Buffer{}
	z := gzip.NewWriter(buf)
	if _, err := z.Write(data); err != nil {
		return v1alpha1.BundleResource{}, fmt.Errorf("packing %s: %w", name, err)
	}
	if err := z.Close(); err != nil {
		return v1alpha1.BundleResource{}, fmt.Errorf("packing %s: %w", name, err)
	}
	return v1alpha1.BundleResource{Name: name, Content: base64.StdEncoding.EncodeToString(buf.Bytes()), Encoding: "base64+gz"}, nil
}
