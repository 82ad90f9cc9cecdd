// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/json"

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
