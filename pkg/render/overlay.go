// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// overlayDir is the directory of overlays. It is never part of the manifests.
const overlayDir = "overlays/"

// overlay names files without a name, applies the overlays of the options, and removes the directory of all overlays.
// applied means that overlays were applied. Source: docs/fleet-behavior.md, 2.6.
func (b *bundle) overlay() (out []resource, applied bool, err error) {
	out = slices.Clone(b.resources)
	for i := range out {
		if out[i].Name == "" {
			out[i].Name = fmt.Sprintf("manifests/file%03d.yaml", i)
		}
	}
	if y := b.in.Options.YAML; y != nil && len(y.Overlays) > 0 {
		content := map[string][]byte{}
		for _, r := range out {
			content[r.Name] = r.data // the last of two files with the same name
		}
		for _, name := range y.Overlays {
			if err := b.applyOverlay(content, name); err != nil {
				return nil, false, err
			}
		}
		out, applied = nil, true
		for name, data := range content {
			out = append(out, resource{v1alpha1.BundleResource{Name: name, Content: string(data)}, data})
		}
	}
	out = slices.DeleteFunc(out, func(r resource) bool { return strings.HasPrefix(r.Name, overlayDir) })
	slices.SortStableFunc(out, func(a, b resource) int { return strings.Compare(a.Name, b.Name) })
	return out, applied, nil
}

// applyOverlay replaces files, then patches files. The agent does both in no fixed order. If the order matters, that is
// a gap.
func (b *bundle) applyOverlay(content map[string][]byte, name string) error {
	prefix := overlayDir + name + "/"
	replaced := map[string]bool{}
	var patches []string
	for _, source := range slices.Sorted(maps.Keys(content)) {
		target, ok := strings.CutPrefix(source, prefix)
		if !ok {
			continue
		}
		if strings.Contains(path.Base(target), "_patch.") {
			patches = append(patches, source)
			continue
		}
		content[target] = content[source]
		replaced[target] = true
	}
	if len(replaced)+len(patches) == 0 {
		b.note("there is no file in " + prefix + ": the overlay " + name + " changes nothing")
	}
	for _, source := range patches {
		dir, base := path.Split(strings.TrimPrefix(source, prefix))
		target := path.Join(dir, strings.Replace(base, "_patch.", ".", 1))
		if replaced[target] {
			b.addGap(fmt.Sprintf("overlay %s replaces and patches %s, and Fleet does this in random order", name,
				target))
		}
		replaced[target] = true // the order of two patches of a file is random too
		data, ok := content[target]
		if !ok {
			return b.in.fail(source, "the file that it patches, "+target+", does not exist")
		}
		patched, err := patchFile(data, content[source])
		if err != nil {
			return b.in.fail(source, err.Error())
		}
		content[target] = patched
	}
	return nil
}

// patchFile applies a patch to the first document of a file. A list is a JSON patch. A map is a strategic merge patch
// for built-in kinds except CRDs, and a JSON merge patch for other kinds.
func patchFile(target, patch []byte) ([]byte, error) {
	base, err := toJSON(target)
	if err != nil {
		return nil, fmt.Errorf("the file that it patches %w", err)
	}
	change, err := toJSON(patch)
	if err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	if change[0] == '[' {
		return applyJSONPatch(base, change)
	}
	var meta metav1.TypeMeta
	if err := json.Unmarshal(base, &meta); err != nil {
		return nil, errors.New("the file that it patches is not a Kubernetes object")
	}
	gvk := meta.GroupVersionKind()
	var out []byte
	if typed, schemeErr := scheme.Scheme.New(gvk); schemeErr == nil && gvk.Kind != crdKind {
		out, err = strategicpatch.StrategicMergePatch(base, change, typed)
	} else {
		out, err = jsonpatch.MergePatch(base, change)
	}
	if err != nil {
		return nil, fmt.Errorf("it cannot be merged into the object of kind %s", gvk.Kind)
	}
	return out, nil
}

func applyJSONPatch(base, change []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(change)
	if err != nil {
		return nil, errors.New("it is a list, but not a JSON patch")
	}
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = maxBytes
	out, err := operations.ApplyWithOptions(base, options)
	if err != nil {
		return nil, errors.New("an operation of the JSON patch cannot be applied")
	}
	return out, nil
}

func toJSON(document []byte) ([]byte, error) {
	var v any
	if err := yaml.Unmarshal(document, &v); err != nil {
		return nil, fmt.Errorf("is not valid YAML%s", LineOf(err, document))
	}
	switch v.(type) {
	case map[string]any, []any:
	case nil:
		v = map[string]any{}
	default:
		return nil, errors.New("is neither a map nor a list")
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, errors.New("has keys that are not strings")
	}
	return out, nil
}
