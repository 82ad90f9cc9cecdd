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

// fleetManifests is the file in which a kustomization finds what Helm has made.
const fleetManifests = "fleet-manifests.yaml"

// errRemote stands for a kustomization that is not run because it would go to the network; the gap is recorded.
var errRemote = errors.New("it refers to the network")

// kustomizable is the agent's first look: any file so named, wherever it is.
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

// kustomize runs the kustomization of the options over the contents and what Helm made. It has not processed them where there is no
// kustomization.yaml: the agent knows no other name for the first one. Source: docs/fleet-behavior.md, 2.7.
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
			b.learn("a kustomization refers to " + withoutUser(r) + ", which is fetched when it is deployed")
		}
		return nil, false, errRemote
	}
	if w.missing != "" {
		return nil, false, b.in.fail(w.missing, "it names a file or directory that is not among the contents")
	}
	objs, err = runKustomize(fs, dir)
	if err != nil {
		return nil, false, b.in.fail(first, "kustomize: "+b.quiet(err))
	}
	return objs, true, nil
}

func runKustomize(fs filesys.FileSystem, dir string) (objs []*unstructured.Unstructured, err error) {
	// kustomize has been seen to panic over odd input; a bundle is somebody else's.
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

// prepend puts what Helm made before the other resources of a kustomization.
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

// kustomizations walks from one kustomization to those it builds on, and finds what kustomize would fetch: whatever it does not find among
// its files it takes for a repository and clones.
type kustomizations struct {
	fs      filesys.FileSystem
	seen    map[string]bool
	remote  []string
	missing string // the first kustomization that names what is not there
}

// bases are the fields that may name a file, a directory or a repository.
var bases = []string{"resources", "bases", "components"}

// plugins are the fields that may name files which name files in turn.
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
			continue // kustomize says so better
		}
		for _, field := range append(slices.Clone(bases), plugins...) {
			list, _ := k[field].([]any)
			for _, e := range list {
				switch s, ok := e.(string); {
				case !ok:
				case strings.Contains(s, "\n"):
					w.plugin([]byte(s)) // a plugin's configuration may stand in the list itself
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

// plugin looks for addresses in what may configure generators or transformers. In an object they do no harm.
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

// isRemote takes more for a repository than kustomize does: better a gap than a clone.
func isRemote(entry string) bool {
	return strings.ContainsAny(entry, ":@?") || strings.HasPrefix(strings.ToLower(entry), "github.com")
}
