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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

// Cluster answers the lookups of templates. Fleet's agent asks the cluster on which it renders.
type Cluster interface {
	Lookup(ctx context.Context, l Lookup) Found
}

// Lookup is a call of Helm's template function lookup. Without a name it requests all objects of a kind, in one
// namespace or in all.
type Lookup struct {
	APIVersion, Kind, Namespace, Name string
}

// String names what is looked up: "secret web/db", "every secret in namespace web".
func (l Lookup) String() string {
	key := object.Ref{APIVersion: l.APIVersion, Kind: l.Kind, Namespace: l.Namespace, Name: l.Name}.Key()
	switch {
	case l.Name != "":
		return key.String()
	case l.Namespace != "":
		return "every " + key.Type() + " in namespace " + l.Namespace
	}
	return "every " + key.Type()
}

// Found is the answer to a Lookup.
type Found struct {
	// Object is the object, or the list of objects with its items, as JSON. If it is empty, the function returns an
	// empty map: nothing was found.
	Object []byte `json:",omitempty"`
	// Unknown is why the answer is not known, as the rest of a sentence that begins with what is looked up: ", which
	// could not be read". The answer is then a gap. An object beside it is similar to the one of the cluster: its
	// values are masked.
	Unknown string `json:",omitempty"`
	// Refused is the error with which Helm's function ends the template.
	Refused string `json:",omitempty"`
}

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
		secret, _ := item.(map[string]any)
		if secret["kind"] != secretKind.Kind || secret["apiVersion"] != secretKind.Version {
			continue
		}
		redact.Leaves(secret["data"], func(text string) {
			decoded, _ := base64.StdEncoding.DecodeString(text)
			b.learned = append(b.learned, text, strings.TrimSpace(string(decoded)))
			for line := range strings.Lines(string(decoded)) {
				b.learned = append(b.learned, strings.TrimSpace(line))
			}
		})
	}
}

// absent is a cluster without objects.
type absent struct{}

// Lookup implements Cluster.
func (absent) Lookup(context.Context, Lookup) Found { return Found{} }

// dryRun returns the error of the dry run that the agent makes before it writes, if lookups find nothing in it.
// Source: docs/fleet-behavior.md, 2.6.
func (b *bundle) dryRun(ctx context.Context) error {
	if _, is := b.cluster.(absent); is || b.pass > 0 {
		return nil
	}
	if !b.asked || b.dryRunAnswers() {
		return nil
	}
	_, err := b.in.render(ctx, b.pass, absent{})
	refused, ok := errors.AsType[*Error](err)
	if !ok {
		return nil
	}
	return b.in.fail(refused.File,
		"the dry run of Fleet's agent, in which lookups find nothing, fails: "+refused.Reason)
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
