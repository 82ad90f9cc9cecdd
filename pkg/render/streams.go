// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// originAnnotation is how Helm 4 remembers, past the post-renderer, which file a document is of. That decides the order of the manifest.
const originAnnotation = "postrenderer.helm.sh/postrender-filename"

// fault is what is wrong with one file.
type fault struct{ file, reason string }

// mergeFiles makes one stream of rendered files for the post-renderer, as Helm does: files in the order of their names, partials and
// empty ones left out, every document marked with its file.
func mergeFiles(files map[string]string) (string, *fault) {
	var all []*yaml.RNode
	for _, name := range sortedKeys(files) {
		if strings.HasPrefix(path.Base(name), "_") || strings.TrimSpace(files[name]) == "" {
			continue
		}
		documents := releaseutil.SplitManifests(files[name])
		keys := sortedKeys(documents)
		sort.Sort(releaseutil.BySplitManifestsOrder(keys))
		for _, key := range keys {
			if strings.TrimSpace(documents[key]) == "" {
				continue
			}
			nodes, err := kio.ParseAll(documents[key])
			if err != nil {
				return "", &fault{name, "it renders to what is no YAML object" + lineOf(err)}
			}
			for _, n := range nodes {
				if err := n.PipeE(yaml.SetAnnotation(originAnnotation, name)); err != nil {
					return "", &fault{name, "it renders to what is no object"}
				}
			}
			if all = append(all, nodes...); len(all) > maxNumber {
				return "", &fault{name, ErrTooLarge.Error()}
			}
		}
	}
	out, err := kio.StringAll(all)
	if err != nil {
		return "", &fault{"", "what was rendered cannot be written"}
	}
	return out, nil
}

// splitFiles undoes mergeFiles. Documents of no file get a name by their place.
func splitFiles(stream string) (map[string]string, error) {
	nodes, err := kio.ParseAll(stream)
	if err != nil {
		return nil, err
	}
	byFile := map[string][]*yaml.RNode{}
	for i, n := range nodes {
		meta, err := n.GetMeta()
		if err != nil {
			return nil, err
		}
		name := meta.Annotations[originAnnotation]
		if name == "" {
			name = fmt.Sprintf("generated-by-postrender-%d.yaml", i)
		}
		if err := n.PipeE(yaml.ClearAnnotation(originAnnotation)); err != nil {
			return nil, err
		}
		byFile[name] = append(byFile[name], n)
	}
	out := make(map[string]string, len(byFile))
	for name, nodes := range byFile {
		if out[name], err = kio.StringAll(nodes); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
