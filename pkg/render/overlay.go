// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// overlayDir is where overlays are, and never part of the manifests.
const overlayDir = "overlays/"

// overlay gives names to files without a name, applies the overlays of the options and removes the directory of all overlays.
// Source: docs/fleet-behavior.md, 2.6.
func (b *bundle) overlay(m manifestFiles) (manifestFiles, error) {
	out := manifestFiles{resources: slices.Clone(m.resources), data: m.data, commit: m.commit}
	for i, r := range out.resources {
		if r.Name == "" {
			out.resources[i].Name = fmt.Sprintf("manifests/file%03d.yaml", i)
		}
	}
	if y := b.in.Options.YAML; y != nil && len(y.Overlays) > 0 {
		content := map[string][]byte{}
		for i, r := range out.resources {
			content[r.Name] = out.data[i] // of two files with one name the last
		}
		for _, name := range y.Overlays {
			if err := b.applyOverlay(content, name); err != nil {
				return manifestFiles{}, err
			}
		}
		out = manifestFiles{} // and the commit is lost, so that the generated chart's version is the manifest's id
		for name, data := range content {
			out.resources = append(out.resources, v1alpha1.BundleResource{Name: name, Content: string(data)})
			out.data = append(out.data, data)
		}
	}
	return out.withoutOverlays(), nil
}

func (m manifestFiles) withoutOverlays() manifestFiles {
	order := make([]int, 0, len(m.resources))
	for i, r := range m.resources {
		if !strings.HasPrefix(r.Name, overlayDir) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(m.resources[a].Name, m.resources[b].Name) })
	out := manifestFiles{commit: m.commit}
	for _, i := range order {
		out.resources = append(out.resources, m.resources[i])
		out.data = append(out.data, m.data[i])
	}
	return out
}

// applyOverlay replaces files, then patches files. The agent does both in no fixed order; if the order matters, it is a gap.
func (b *bundle) applyOverlay(content map[string][]byte, name string) error {
	prefix := overlayDir + name + "/"
	replaced := map[string]bool{}
	var patches []string
	for _, source := range sortedKeys(content) {
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
	for _, source := range patches {
		dir, leaf := path.Split(strings.TrimPrefix(source, prefix))
		target := path.Join(dir, strings.Replace(leaf, "_patch.", ".", 1))
		if replaced[target] {
			b.addGap(fmt.Sprintf("overlay %s both replaces and patches %s: which of them Fleet does first is left to chance", name, target))
		}
		replaced[target] = true // a second patch of the same file is as uncertain
		base, ok := content[target]
		if !ok {
			return b.in.fail(source, "there is no "+target+" that it could patch")
		}
		patched, err := patchFile(base, content[source])
		if err != nil {
			return b.in.fail(source, err.Error())
		}
		content[target] = patched
	}
	return nil
}

// patchFile applies a patch to the first document of a file: a JSON patch if it is a list, a strategic merge patch to built-in kinds except
// CRDs, a JSON merge patch to all others.
func patchFile(target, patch []byte) ([]byte, error) {
	base, err := toJSON(target)
	if err != nil {
		return nil, fmt.Errorf("what it patches %w", err)
	}
	change, err := toJSON(patch)
	if err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	if change[0] == '[' {
		return applyJSONPatch(base, change)
	}
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(base, &head); err != nil {
		return nil, errors.New("what it patches is no Kubernetes object")
	}
	gvk := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	typed, err := scheme.Scheme.New(gvk)
	if err != nil || gvk.Kind == crdKind {
		out, err := jsonpatch.MergePatch(base, change)
		if err != nil {
			return nil, errors.New("it does not merge with what it patches")
		}
		return out, nil
	}
	out, err := strategicpatch.StrategicMergePatch(base, change, typed)
	if err != nil {
		return nil, fmt.Errorf("it does not merge with a %s", gvk.Kind)
	}
	return out, nil
}

func applyJSONPatch(base, change []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(change)
	if err != nil {
		return nil, errors.New("it is a list, but no JSON patch")
	}
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = maxBytes
	out, err := operations.ApplyWithOptions(base, options)
	if err != nil {
		return nil, errors.New("one of its operations does not apply")
	}
	return out, nil
}

func toJSON(document []byte) ([]byte, error) {
	var v any
	if err := yaml.Unmarshal(document, &v); err != nil {
		return nil, fmt.Errorf("is no YAML%s", lineOf(err))
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
		return nil, errors.New("has keys that are no text")
	}
	return out, nil
}
