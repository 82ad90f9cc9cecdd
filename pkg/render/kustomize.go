// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// fleetManifests is the file with the output of Helm for a kustomization.
const fleetManifests = "fleet-manifests.yaml"

// errRemote means that a kustomization was not run because it would use the network. The gap is recorded.
var errRemote = errors.New("the kustomization refers to the network")

// hasKustomization reports whether a file in any directory has the name of a kustomization. This is the agent's first
// condition for kustomize.
func (b *bundle) hasKustomization() bool {
	return slices.ContainsFunc(b.resources, func(r resource) bool {
		return slices.ContainsFunc(konfig.RecognizedKustomizationFileNames(), func(name string) bool {
			return strings.HasSuffix(r.Name, name)
		})
	})
}

// kustomize runs the kustomization of the options over the contents and the output of Helm, which is given as objects
// and as a stream. It returns the objects unchanged if there is no kustomization.yaml: the agent accepts no other name.
// Source: docs/fleet-behavior.md, 2.7.
func (b *bundle) kustomize(objs []*unstructured.Unstructured, stream []byte) ([]*unstructured.Unstructured, error) {
	dir := path.Join(".", b.in.Options.Kustomize.Dir)
	fs := filesys.MakeEmptyDirInMemory()
	for _, r := range b.resources {
		if r.Name == "" {
			continue
		}
		if err := fs.WriteFile(r.Name, r.data); err != nil {
			return nil, b.in.fail(r.Name, "kustomize does not accept this file name")
		}
	}
	if err := fs.WriteFile(path.Join(dir, fleetManifests), stream); err != nil {
		return nil, b.in.fail(dir, "kustomize does not accept this directory name")
	}
	first := path.Join(dir, kustomizationFile)
	if !fs.Exists(first) {
		b.note("kustomize does not run: " + first + " is not among the contents")
		return objs, nil
	}
	if len(stream) > 0 {
		if err := prepend(fs, first); err != nil {
			return nil, b.in.fail(first, err.Error())
		}
	}
	w := kustomizations{fs: fs, seen: map[string]bool{}}
	if w.walk(dir); len(w.remote) > 0 {
		for _, r := range w.remote {
			b.addGap("a kustomization refers to " + escape.WithoutCredentials(r) + ", which the agent downloads")
		}
		return nil, errRemote
	}
	if w.missing != "" {
		return nil, b.in.fail(w.missing, "it refers to a file or directory that is not among the contents")
	}
	objs, err := runKustomize(fs, dir)
	if err != nil {
		return nil, b.in.fail(first, "kustomize: "+b.redact(err.Error()))
	}
	return objs, nil
}

func runKustomize(fs filesys.FileSystem, dir string) (objs []*unstructured.Unstructured, err error) {
	// kustomize can panic on malformed input, and the input is not trusted.
	defer func() {
		if recover() != nil {
			err = errors.New("it crashed")
		}
	}()
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly,
		PluginConfig: types.DisabledPluginConfig()})
	resources, err := k.Run(fs, dir)
	if err != nil {
		return nil, err
	}
	for _, r := range resources.Resources() {
		m, err := r.Map()
		if err != nil {
			return nil, err
		}
		objs = append(objs, &unstructured.Unstructured{Object: m})
	}
	return objs, nil
}

// prepend inserts the output of Helm before the other resources of a kustomization.
func prepend(fs filesys.FileSystem, file string) error {
	data, err := fs.ReadFile(file)
	if err != nil {
		return errors.New("it cannot be read")
	}
	k := map[string]any{}
	if err := yaml.Unmarshal(data, &k); err != nil {
		return errors.New("it is not a YAML map" + LineOf(err, data))
	}
	list, _ := k["resources"].([]any)
	if slices.Contains(list, any(fleetManifests)) {
		return nil
	}
	k["resources"] = append([]any{fleetManifests}, list...)
	if data, err = yaml.Marshal(k); err == nil {
		err = fs.WriteFile(file, data)
	}
	if err != nil {
		return errors.New("it cannot be written")
	}
	return nil
}

// kustomizations visits a kustomization and its bases, and finds what kustomize would download. kustomize assumes that
// a path without a file is a repository, and clones it.
type kustomizations struct {
	fs      filesys.FileSystem
	seen    map[string]bool
	remote  []string
	missing string // the first kustomization that refers to a missing file
}

// entries are the fields of a kustomization that may contain files, directories or repositories. The last three may
// contain files that refer to other files.
var entries = []string{"resources", "bases", "components", "generators", "transformers", "validators"}

// loaded are the fields, at any depth, that contain files, or addresses of files.
var loaded = []string{"path", "files", "env", "envs", "crds", "configurations", "patchesStrategicMerge", "generators",
	"transformers", "validators"}

func (w *kustomizations) walk(dir string) {
	dir = path.Clean(dir)
	if w.seen[dir] {
		return
	}
	w.seen[dir] = true
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		file := path.Join(dir, name)
		data, err := w.fs.ReadFile(file)
		if err != nil {
			continue
		}
		var k map[string]any
		if yaml.Unmarshal(data, &k) != nil {
			continue // kustomize returns a better error
		}
		for _, field := range entries {
			list, _ := k[field].([]any)
			for _, e := range list {
				if s, ok := e.(string); !ok {
					continue
				} else if strings.Contains(s, "\n") {
					w.plugin([]byte(s)) // the entry itself is the configuration of a plugin
				} else {
					w.entry(dir, file, s)
				}
			}
		}
		w.addresses(k, false)
	}
}

// entry visits an entry of the kustomization file in dir.
func (w *kustomizations) entry(dir, file, entry string) {
	target := path.Join(dir, entry)
	if isRemote(entry) {
		w.remote = append(w.remote, entry)
	} else if w.fs.IsDir(target) {
		w.walk(target)
	} else if data, err := w.fs.ReadFile(target); err == nil {
		w.plugin(data)
	} else if w.missing == "" {
		w.missing = file
	}
}

// plugin searches for addresses in a file that may configure generators or transformers. Addresses in other objects
// have no effect.
func (w *kustomizations) plugin(data []byte) {
	for document := range strings.SplitSeq(string(data), "\n---") {
		var v map[string]any
		if yaml.Unmarshal([]byte(document), &v) == nil && v["apiVersion"] == "builtin" {
			w.addresses(v, false)
		}
	}
}

// addresses searches a value for addresses. inLoaded means that the value is in one of the loaded fields.
func (w *kustomizations) addresses(v any, inLoaded bool) {
	switch v := v.(type) {
	case string:
		if _, file, ok := strings.Cut(v, "="); ok && isAddress(file) {
			v = file // "key=file" of a generator
		}
		if inLoaded && isAddress(v) {
			w.remote = append(w.remote, v)
		}
	case []any:
		for _, e := range v {
			w.addresses(e, inLoaded)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			w.addresses(v[k], slices.Contains(loaded, k))
		}
	}
}

func isAddress(s string) bool {
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// isRemote accepts more addresses than kustomize: an unnecessary gap is better than a clone.
func isRemote(entry string) bool {
	return strings.ContainsAny(entry, ":@?") || strings.HasPrefix(strings.ToLower(entry), "github.com")
}
