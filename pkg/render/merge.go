// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// originAnnotation is the annotation in which Helm 4 keeps the file of a document during post-rendering. The file decides the order of the manifest.
const originAnnotation = "postrenderer.helm.sh/postrender-filename"

// postRenderFiles runs the post-renderer as Helm 4 does: it merges all files into one stream, and splits and sorts the result.
func (b *bundle) postRenderFiles(files map[string]string) error {
	merged, err := b.mergeFiles(files)
	if err != nil {
		return err
	}
	stream, err := b.postRender(merged)
	if err != nil {
		return err
	}
	if files, err = splitFiles(stream); err != nil {
		return b.in.fail("", "the rendered manifests are not a list of objects"+LineOf(err, []byte(stream)))
	}
	return b.sort(files)
}

// mergeFiles makes one stream of rendered files, as Helm does: the files are in the order of their names, partials and empty files are left out, and
// every document is annotated with its file.
func (b *bundle) mergeFiles(files map[string]string) (string, error) {
	var all []*yaml.RNode
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		documents := releaseutil.SplitManifests(files[name])
		keys := slices.Collect(maps.Keys(documents))
		sort.Sort(releaseutil.BySplitManifestsOrder(keys))
		for _, key := range keys {
			nodes, err := kio.ParseAll(documents[key])
			if err != nil {
				return "", b.in.fail(name, "it renders to a document that is not a YAML object"+LineOf(err, []byte(documents[key])))
			}
			for _, n := range nodes {
				if err := n.PipeE(yaml.SetAnnotation(originAnnotation, name)); err != nil {
					return "", b.in.fail(name, "it renders to a document that is not an object")
				}
			}
			if all = append(all, nodes...); len(all) > maxNumber {
				return "", b.in.fail(name, errTooLarge.Error())
			}
		}
	}
	out, err := kio.StringAll(all)
	if err != nil {
		return "", b.in.fail("", "the rendered manifests cannot be written as YAML")
	}
	return out, nil
}

// splitFiles is the inverse of mergeFiles. A document without a file gets a name from its index.
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
