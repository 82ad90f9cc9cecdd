// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// fleetManifests is the file with the output of Helm for a kustomization.
const fleetManifests = "fleet-manifests.yaml"

// errRemote means that a kustomization was not run because it would use the network; the gap is recorded.
var errRemote = errors.New("it refers to the network")

// kustomizable reports whether a file has the name of a kustomization, in any directory. It is the agent's first condition.
func (b *bundle) kustomizable() bool {
	for _, r := range b.resources {
		for _, name := range konfig.RecognizedKustomizationFileNames() {
			if strings.HasSuffix(r.Name, name) {
				return true
			}
		}
	}
	return false
}

// kustomize runs the kustomization of the options over the contents and the output of Helm. It processes nothing if the kustomization.yaml is
// missing: the agent accepts no other name for the first one. Source: docs/fleet-behavior.md, 2.7.
func (b *bundle) kustomize(manifests []byte) (objs []*unstructured.Unstructured, processed bool, err error) {
	dir := path.Join(".", kustomizeDir(&b.in.Options))
	fs := filesys.MakeEmptyDirInMemory()
	for i, r := range b.resources {
		if r.Name == "" {
			continue
		}
		if _, err := fs.AddFile(r.Name, b.data[i]); err != nil {
			return nil, false, b.in.fail(r.Name, "kustomize takes no file of that name")
		}
	}
	if _, err := fs.AddFile(path.Join(dir, fleetManifests), manifests); err != nil {
		return nil, false, b.in.fail(dir, "kustomize takes no directory of that name")
	}
	first := path.Join(dir, kustomizationFile)
	if !fs.Exists(first) {
		b.note("no kustomization is run: " + first + " is not among the contents")
		return nil, false, nil
	}
	if len(manifests) > 0 {
		if err := prepend(fs, first); err != nil {
			return nil, false, b.in.fail(first, "it "+err.Error())
		}
	}
	w := kustomizations{fs: fs, seen: map[string]bool{}}
	if w.walk(dir); len(w.remote) > 0 {
		for _, r := range w.remote {
			b.addGap("a kustomization refers to " + withoutUser(r) + ", which is fetched when it is deployed")
		}
		return nil, false, errRemote
	}
	if w.missing != "" {
		return nil, false, b.in.fail(w.missing, "it names a file or directory that is not among the contents")
	}
	objs, err = runKustomize(fs, dir)
	if err != nil {
		return nil, false, b.in.fail(first, "kustomize: "+b.redact(err))
	}
	return objs, true, nil
}

func runKustomize(fs filesys.FileSystem, dir string) (objs []*unstructured.Unstructured, err error) {
	// kustomize can panic on malformed input, and the input is not trusted.
	defer func() {
		if recover() != nil {
			err = errors.New("it broke down over these files")
		}
	}()
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig()})
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
		return errors.New("cannot be read")
	}
	var k map[string]any
	if err := yaml.Unmarshal(data, &k); err != nil {
		return errors.New("is no YAML map" + lineOf(err))
	}
	if k == nil {
		k = map[string]any{}
	}
	list, _ := k["resources"].([]any)
	if slices.Contains(list, any(fleetManifests)) {
		return nil
	}
	k["resources"] = append([]any{fleetManifests}, list...)
	if data, err = yaml.Marshal(k); err != nil {
		return errors.New("cannot be written anew")
	}
	if err := fs.WriteFile(file, data); err != nil {
		return errors.New("cannot be written anew")
	}
	return nil
}

// kustomizations visits a kustomization and its bases, and finds what kustomize would fetch: kustomize treats a path without a file as a
// repository, and clones it.
type kustomizations struct {
	fs      filesys.FileSystem
	seen    map[string]bool
	remote  []string
	missing string // the first kustomization that names a missing file
}

// bases are the fields that may name a file, a directory or a repository.
var bases = []string{"resources", "bases", "components"}

// plugins are the fields that may name files that name files themselves.
var plugins = []string{"generators", "transformers", "validators"}

// loaded are the fields, at any depth, whose texts are read as files, from the network where they are addresses.
var loaded = []string{"path", "files", "env", "envs", "crds", "configurations", "patchesStrategicMerge", "generators", "transformers", "validators"}

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
			continue // the error of kustomize is better
		}
		for _, field := range append(slices.Clone(bases), plugins...) {
			list, _ := k[field].([]any)
			for _, e := range list {
				switch s, ok := e.(string); {
				case !ok:
				case strings.Contains(s, "\n"):
					w.plugin([]byte(s)) // the list may contain the configuration of a plugin itself
				default:
					w.base(dir, file, s)
				}
			}
		}
		w.addresses(k, false)
	}
}

func (w *kustomizations) base(dir, from, entry string) {
	target := path.Join(dir, entry)
	switch {
	case isRemote(entry):
		w.remote = append(w.remote, entry)
	case w.fs.IsDir(target):
		w.walk(target)
	case w.fs.Exists(target):
		if data, err := w.fs.ReadFile(target); err == nil {
			w.plugin(data)
		}
	case w.missing == "":
		w.missing = from
	}
}

// plugin searches for addresses in what may configure generators or transformers. Addresses in an object have no effect.
func (w *kustomizations) plugin(data []byte) {
	for _, document := range strings.Split(string(data), "\n---") {
		var v map[string]any
		if yaml.Unmarshal([]byte(document), &v) == nil && v["apiVersion"] == "builtin" {
			w.addresses(v, false)
		}
	}
}

func (w *kustomizations) addresses(v any, read bool) {
	switch v := v.(type) {
	case string:
		if _, file, ok := strings.Cut(v, "="); ok && read && isAddress(file) {
			w.remote = append(w.remote, file)
		} else if read && isAddress(v) {
			w.remote = append(w.remote, v)
		}
	case []any:
		for _, e := range v {
			w.addresses(e, read)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			w.addresses(v[k], slices.Contains(loaded, k))
		}
	}
}

func isAddress(s string) bool {
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// isRemote accepts more addresses than kustomize does: an unnecessary gap is better than a clone.
func isRemote(entry string) bool {
	return strings.ContainsAny(entry, ":@?") || strings.HasPrefix(strings.ToLower(entry), "github.com")
}
