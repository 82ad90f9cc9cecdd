// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/base64"
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
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
	// kustomize accepts fewer addresses: an unnecessary gap is better than a clone.
	if strings.ContainsAny(entry, ":@?") || strings.HasPrefix(strings.ToLower(entry), "github.com") {
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

var quoted = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`|“[^”]*”")

// redact removes from a library's message everything that may be a value: the lines after the first, quoted text that
// is not a file name of the bundle, the values, and the contents of the bundle's Secrets.
func (b *bundle) redact(message string) string {
	text, _, _ := strings.Cut(message, "\n")
	text, _, _ = strings.Cut(text, "node contents")
	text = quoted.ReplaceAllStringFunc(text, func(s string) string {
		name := strings.Trim(s, "'\"`“”")
		if slices.ContainsFunc(b.resources, func(r resource) bool { return r.hasName(name) }) {
			return s
		}
		return "…"
	})
	return b.hide(text)
}

// hide replaces the values and the contents of the bundle's Secrets, and of those that were looked up, in a text, also
// if they are encoded, and shortens it.
func (b *bundle) hide(text string) string {
	const longest, shortest = 200, 3
	values, err := b.values()
	if err != nil {
		return "the reason is not shown"
	}
	all := append(b.secrets(), b.learned...)
	secret.Leaves(values, func(v string) { all = append(all, v) })
	var found []string
	for _, v := range all {
		if len(v) < shortest {
			continue
		}
		found = append(found, secret.Forms(v)...)
		if decoded, err := base64.StdEncoding.DecodeString(v); err == nil {
			found = append(found, string(decoded))
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) }) // one text may be part of a longer one
	for _, v := range found {
		if len(v) >= shortest {
			text = strings.ReplaceAll(text, v, "…")
		}
	}
	if r := []rune(text); len(r) > longest {
		text = string(r[:longest]) + "…"
	}
	return strings.TrimSpace(text)
}

// hasName reports whether name is the path of a file, or the end of the path.
func (r *resource) hasName(name string) bool { return strings.HasSuffix("/"+r.Name, "/"+name) }

// secrets returns the texts in the bundle that are values of Secrets, or from which such values are generated.
func (b *bundle) secrets() []string {
	var out []string
	for _, r := range b.resources {
		if !bytes.Contains(r.data, []byte("Secret")) && !bytes.Contains(r.data, []byte("secretGenerator")) {
			continue
		}
		for document := range strings.SplitSeq(string(r.data), "\n---") {
			var v map[string]any
			if yaml.Unmarshal([]byte(document), &v) != nil {
				continue
			}
			if v["kind"] == "Secret" {
				secret.Leaves([]any{v["data"], v["stringData"]}, func(s string) { out = append(out, s) })
			}
			secret.Leaves(v["secretGenerator"], func(s string) {
				_, literal, _ := strings.Cut(s, "=")
				out = append(append(out, literal), b.linesOf(s)...)
			})
		}
	}
	return out
}

// linesOf returns the lines of the files with that name, and the values that they assign.
func (b *bundle) linesOf(name string) []string {
	var out []string
	for _, r := range b.resources {
		if !r.hasName(name) {
			continue
		}
		for line := range strings.Lines(string(r.data)) {
			_, assigned, _ := strings.Cut(strings.TrimSpace(line), "=")
			out = append(out, strings.TrimSpace(line), assigned)
		}
	}
	return out
}

// plainReasons are the beginnings of those messages of the template engine that contain only types and names of fields.
var plainReasons = []string{"nil pointer evaluating", "can't evaluate field", "wrong type for value",
	"wrong number of args",
	"function ", "undefined variable", "map has no entry for key", "unexpected ", "no template ", "range can't iterate",
	"error calling include"}

// templateError returns the line where a template failed, with the reason: a message of the template engine, or the
// text of a call of fail or required in the chart. Values in it are hidden.
func (b *bundle) templateError(err error) error {
	text := strings.TrimSpace(err.Error())
	reason := "the template failed"
	last := text[strings.LastIndexByte(text, '\n')+1:]
	for _, part := range append(strings.Split(last, ": "), last) {
		part = strings.TrimSpace(part)
		plain := slices.ContainsFunc(plainReasons, func(p string) bool { return strings.HasPrefix(part, p) })
		if len(part) > 3 && (plain || inTemplates(b.chart, part)) {
			return b.in.fail(templateLine.FindString(text), reason+": "+b.redact(part))
		}
	}
	if found := placeEnd.FindAllStringIndex(last, -1); found != nil {
		reason += ": " + b.hide(last[found[len(found)-1][1]:])
	}
	return b.in.fail(templateLine.FindString(text), reason)
}

// placeEnd is the end of the place in an error of the template engine: "execution error at (app/templates/a.yaml:1:3):
// ", "at <fail .a>: ".
var placeEnd = regexp.MustCompile(`\.\w+:\d+:\d+\): |>: `)

// inTemplates reports whether a text is a string in the templates of a chart or of its dependencies.
func inTemplates(ch *chart.Chart, s string) bool {
	for _, t := range ch.Templates {
		if bytes.Contains(t.Data, []byte(`"`+s+`"`)) || bytes.Contains(t.Data, []byte("`"+s+"`")) {
			return true
		}
	}
	return slices.ContainsFunc(ch.Dependencies(), func(d *chart.Chart) bool { return inTemplates(d, s) })
}

// chartReason returns why Helm cannot load a chart. Helm's messages about YAML and JSON may quote the file.
func (b *bundle) chartReason(err error) string {
	text := err.Error()
	if strings.Contains(text, "YAML") || strings.Contains(text, "yaml:") || strings.Contains(text, "JSON") {
		return LineOf(err, nil)
	}
	return ": " + b.redact(text)
}
