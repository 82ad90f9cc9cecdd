// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// quotedSecrets collects the values of live Secrets that the report may quote, for every scope and every owner of the Secrets. It lists all
// Secrets except release records once, and only where the report has a text to check. It does not keep values that nothing quotes.
func (r *run) quotedSecrets(ctx context.Context, c *check.Case) error {
	said := r.said(c)
	if said.Empty() {
		return nil
	}
	r.counter.start("reading Secrets, to hide their values")
	namespaces := r.knownNamespaces()
	public := publicWords(r.kinds, namespaces)
	undecodable := 0
	q := source.Query{Kind: secretKind, FieldSelector: "type!=" + release.SecretType, Fallback: sortedKeys(namespaces)}
	cover, err := r.src.List(ctx, q, func(o source.Object) error {
		r.counter.object()
		if content, _, err := object.Decode(o.Raw); err == nil {
			r.secrets.AddQuoted(content, said, public)
		} else {
			undecodable++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if undecodable > 0 {
		cover = undecoded(undecodable)
	}
	if _, all := cover.Of(""); !all && showsValues(c) {
		r.coverageGaps("listing Secrets, to hide their values", cover, "a value of a Secret that was not read is shown where an object quotes it")
	}
	return nil
}

// said are the texts that a report of the case holds, or a plan made of it.
func (r *run) said(c *check.Case) *report.Quotes {
	draft := r.assemble(c)
	draft.Findings = check.Run(c)
	out := draft.Quotes()
	for _, d := range c.Deployments {
		for i := range d.Objects {
			if live := d.Objects[i].Live; live != nil {
				out.Add(live.LastApplied...)
			}
		}
	}
	return out
}

// ownWords are those of the program's sentences that are as long as a value which is hidden.
var ownWords = []string{"default", "cluster", "bundle", "release", "releases", "object", "objects", "kubectl", "fleetdoctor", "namespace", "manifest",
	"server", "status", "deployed", "missing", "modified", "unowned", "orphaned", "unknown", "warning", "failed", "Forbidden", "operation", "Update",
	"Opaque", "kubernetes", "Kubernetes", "annotation", "webhook"}

// publicWords are no secrets, though a Secret may hold one, as many hold "default". A report without them says nothing.
func publicWords(kinds *source.Kinds, namespaces map[string]bool) map[string]bool {
	out := maps.Clone(namespaces)
	for _, word := range ownWords {
		out[word] = true
	}
	for _, k := range kinds.All() {
		for _, word := range []string{k.Kind, strings.ToLower(k.Kind), k.Resource, k.Group} {
			out[word] = true
		}
	}
	return out
}

// knownNamespaces are those that Fleet and Helm work in.
func (r *run) knownNamespaces() map[string]bool {
	out := map[string]bool{}
	for _, ns := range systemNamespaces {
		out[ns] = true
	}
	for name := range r.inv.Releases {
		ns, _, _ := strings.Cut(name, "/")
		out[ns] = true
	}
	for _, d := range r.inv.Deployments {
		for _, w := range d.Desired {
			out[w.Namespace] = true
		}
		for _, key := range []string{d.Key(), d.Bundle, d.Cluster} {
			if ns, _, ok := strings.Cut(key, "/"); ok {
				out[ns] = true
			}
		}
	}
	delete(out, "")
	return out
}

// showsValues says whether values of objects are shown, other than those that are masked whole.
func showsValues(c *check.Case) bool {
	for _, d := range c.Deployments {
		for i := range d.Objects {
			if slices.ContainsFunc(d.Objects[i].Differences, report.Difference.ShowsValue) {
				return true
			}
		}
	}
	return false
}

// valueOf makes what is shown of a value in a difference.
type valueOf func(d compare.Difference, value any) report.Value

// plain shows a value. One that is a Secret's after all is hidden within it.
func plain(_ compare.Difference, v any) report.Value { return report.Plain(v) }

// valuesOf says what may be shown of an object's values: of a Secret neither data nor what repeats it.
func valuesOf(ref object.Ref, sides ...object.Content) valueOf {
	if !isSecret(ref) {
		return plain
	}
	held := map[string]bool{}
	for _, c := range sides {
		dataOf(c, held)
	}
	return func(d compare.Difference, v any) report.Value {
		if holdsSecret(d.Path) || repeats(d.Desired, held) || repeats(d.Live, held) || repeats(v, held) {
			return report.Secret(v)
		}
		return report.Plain(v)
	}
}

// holdsSecret says whether a field of a Secret shows its data: anything but type, immutable and metadata, and of that the copies which
// kubectl and Rancher's apply leave in annotations.
func holdsSecret(p fieldpath.Path) bool {
	if len(p) == 0 || p[0].FieldName == nil {
		return true
	}
	switch *p[0].FieldName {
	case "type", "immutable":
		return false
	case "metadata":
		return strings.Contains(p.String(), corev1.LastAppliedConfigAnnotation) || strings.Contains(p.String(), "objectset.rio.cattle.io/applied")
	}
	return true
}

// dataOf adds the values of a Secret, however short, as they are stored and in the clear.
func dataOf(c object.Content, into map[string]bool) {
	for _, field := range []string{"data", "stringData"} {
		data, _ := c[field].(map[string]any)
		for _, v := range data {
			text := fmt.Sprint(v)
			into[strings.TrimSpace(text)] = true
			if b, err := base64.StdEncoding.DecodeString(text); err == nil {
				into[strings.TrimSpace(string(b))] = true
			}
		}
	}
	delete(into, "")
}

// repeats says whether a value outside of a Secret's data holds some of it: a Secret as JSON, or a word that is a value, however short. A long
// value within a text is hidden as everywhere.
func repeats(v any, held map[string]bool) bool {
	found := report.SecretIn(v) != nil
	leaves(v, func(text string) {
		words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`=:,;"'{}[]()`, r) })
		words = append(words, strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })...)
		found = found || held[strings.TrimSpace(text)] || slices.ContainsFunc(words, func(word string) bool { return held[word] })
	})
	return found
}
