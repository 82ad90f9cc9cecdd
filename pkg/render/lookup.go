// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
)

// maxNamed is how many different lookups without an answer are named. A template may have a loop of them.
const maxNamed = 10

// lookup is Helm's template function lookup.
func (b *bundle) lookup(ctx context.Context, l Lookup) (map[string]any, error) {
	b.asked = true
	empty := map[string]any{}
	found := Found{Unknown: ", and no cluster is read"}
	if b.cluster != nil {
		found = b.cluster.Lookup(ctx, l)
	}
	if found.Refused != "" && b.defines(l.Kind) {
		found = Found{Unknown: ", and the chart has definitions, which Helm installs first"}
	}
	switch {
	case found.Refused != "":
		return empty, errors.New(found.Refused)
	case found.Unknown != "":
		b.unanswered(l, found.Unknown)
		if b.pass > 0 { // what depends on the answer must differ between the renderings, so that it is not compared
			return l.otherThan(found), nil
		}
	}
	if len(found.Object) == 0 {
		return empty, nil
	}
	v := found.decoded()
	if v == nil {
		b.unanswered(l, ", which could not be decoded")
		return empty, nil
	}
	b.learn(v)
	return v, nil
}

// decoded returns a new copy of the object, because a template may change it; nil if it cannot be decoded.
func (f Found) decoded() map[string]any {
	var v map[string]any
	if json.Unmarshal(f.Object, &v) != nil {
		return nil
	}
	return v
}

// otherThan returns an answer that differs from found: nothing, or an object of which only the name is known.
func (l Lookup) otherThan(found Found) map[string]any {
	if len(found.Object) > 0 {
		return map[string]any{}
	}
	out := map[string]any{"apiVersion": l.APIVersion, "kind": l.Kind, "metadata": map[string]any{"name": l.Name,
		"namespace": l.Namespace}}
	if l.Name == "" {
		return map[string]any{"items": []any{out}}
	}
	return out
}

// unanswered adds the gap of a lookup.
func (b *bundle) unanswered(l Lookup, why string) {
	if b.named == nil {
		b.named = map[Lookup]bool{}
	}
	if !b.named[l] && len(b.named) == maxNamed {
		b.addGap("a template looks up more objects that are not known")
		return
	}
	b.named[l] = true
	b.addGap("a template looks up " + l.String() + why)
}

// defines reports whether the chart has a definition of a kind. It searches the text of the definitions: an
// unnecessary gap is better than a wrong result.
func (b *bundle) defines(kind string) bool {
	for _, crd := range b.chart.CRDObjects() {
		if bytes.Contains(crd.File.Data, []byte(kind)) {
			return true
		}
	}
	return false
}

// learn keeps the values of a Secret, or of the Secrets in a list, to hide them in errors.
func (b *bundle) learn(v map[string]any) {
	items, isList := v["items"].([]any)
	if !isList {
		items = []any{v}
	}
	for _, item := range items {
		content, _ := item.(map[string]any)
		if content["kind"] != secretKind.Kind || content["apiVersion"] != secretKind.Version {
			continue
		}
		secret.Leaves(content["data"], func(text string) {
			decoded, _ := base64.StdEncoding.DecodeString(text)
			b.learned = append(b.learned, text, strings.TrimSpace(string(decoded)))
			for line := range strings.Lines(string(decoded)) {
				b.learned = append(b.learned, strings.TrimSpace(line))
			}
		})
	}
}

// dryRunAnswers reports whether the dry run of the agent answers lookups. The agent does not find a call of lookup in
// a template that also calls a function which Go's templates do not have, or in a subchart.
func (b *bundle) dryRunAnswers() bool {
	if b.in.OfflineDryRun {
		return false
	}
	lookup := template.FuncMap{"lookup": func() error { return nil }}
	parses := func(text string, functions template.FuncMap) bool {
		_, err := template.New("").Funcs(functions).Parse(text)
		return err == nil
	}
	for _, t := range b.chart.Templates {
		if text := string(t.Data); parses(text, lookup) && !parses(text, nil) {
			return true
		}
	}
	return false
}

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
