// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// postRenderFiles runs the post-renderer as Helm 4 does: it merges all files into one stream, and splits and sorts the
// result.
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

// mergeFiles makes one stream of rendered files, as Helm does: the files are in the order of their names, partials and
// empty files are left out, and every document is annotated with its file.
func (b *bundle) mergeFiles(files map[string]string) (string, error) {
	var all []*yaml.RNode
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		for _, document := range b.split(files[name]) {
			nodes, err := kio.ParseAll(document)
			if err != nil {
				return "", b.in.fail(name, "it renders to a document that is not a YAML object"+LineOf(err,
					[]byte(document)))
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

// separator separates the documents of a file in Helm up to 4.2, which the agents have. It includes the white space
// before the marker, so a block scalar at the end of a document loses its last newline. Helm 4.3, with which this
// program is built, keeps it.
var separator = regexp.MustCompile(`(?:^|\s*\n)---\s*`)

// split returns the documents of a rendered file, as the agent's version of Helm does. Helm 3 also removes the white
// space at the end of the last one.
func (b *bundle) split(text string) []string {
	trim := func(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }
	if b.in.Helm3 {
		trim = strings.TrimSpace
	}
	var out []string
	for _, document := range separator.Split(trim(text), -1) {
		if strings.TrimSpace(document) != "" {
			out = append(out, trim(document))
		}
	}
	return out
}

// sort separates hooks from manifests and sorts both in Helm's order.
func (b *bundle) sort(files map[string]string) error {
	for name, text := range files {
		files[name] = strings.Join(b.split(text), "\n---\n")
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return b.in.fail("", "the rendered manifests cannot be sorted: a document is not a YAML object, or its "+
			"metadata has a wrong type"+LineOf(err, nil))
	}
	var text strings.Builder
	for _, m := range manifests {
		text.WriteString("---\n# Source: " + m.Name + "\n" + m.Content + "\n")
	}
	b.manifest, b.hooks = text.String(), hooks
	return nil
}
