// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Close sorts the report, sums it up and hides secrets; it is called once, last. After it the same input gives the same bytes.
func (a *Audit) Close(s *Secrets) {
	a.APIVersion, a.Kind = APIVersion, Kind
	a.BundleDeployments, a.Findings, a.Gaps = present(a.BundleDeployments), present(a.Findings), present(a.Gaps)
	a.sort()
	a.sum()
	s.hide(func(h *hider) { h.audit(a) }, a.names, a.public)
}

// hide hides the secrets that a document quotes. walk shows a hider all of its texts, names all of its names.
func (s *Secrets) hide(walk func(*hider), names func(func(...string)), public func(*published)) {
	texts := shingles{}
	walk(&hider{replace: func(text string) string {
		texts.shown(text)
		return text
	}})
	values := s.quoted(texts)
	if s.others != nil {
		if others := s.others.quoted(texts); len(others) > 0 {
			var said published
			public(&said)
			said.without(others)
			maps.Copy(values, others)
		}
	}
	hiding := replacer(values, namesAmong(values, names))
	walk(&hider{replace: func(text string) string { return hideEscaped(hiding, text) }, ordinals: map[string]string{}})
}

// namesAmong picks the values that are names in the document. A Secret whose value is one, as that of a database often is, hides nothing by
// taking it out of the sentences around it, and a command without its namespace is none.
func namesAmong(values map[string]bool, names func(func(...string))) map[string]bool {
	out := map[string]bool{}
	if len(values) == 0 {
		return out
	}
	names(func(all ...string) {
		for _, name := range all {
			if values[name] {
				out[name] = true
			}
			for part := range strings.SplitSeq(name, "/") {
				if values[part] {
					out[part] = true
				}
			}
		}
	})
	return out
}

// names passes on every name in the report.
func (a *Audit) names(add func(...string)) {
	ref := func(r object.Ref) { add(r.Kind, r.Namespace, r.Name) }
	for _, bd := range a.BundleDeployments {
		add(bd.Namespace, bd.Name, bd.Cluster, bd.Bundle, bd.GitRepo, bd.HelmOp, bd.Release, bd.SetID)
		for _, r := range bd.Resources {
			ref(r.Ref)
		}
	}
	for _, f := range a.Findings {
		ref(f.Object)
		add(f.Cluster, f.BundleDeployment)
	}
}

// present makes a list that is always there be there when it is empty too: [] and not null.
func present[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func (a *Audit) sort() {
	for _, l := range [][]Aggregate{a.GitRepos, a.HelmOps, a.Bundles, a.Clusters, a.ClusterGroups} {
		slices.SortFunc(l, func(x, y Aggregate) int {
			return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
		})
	}
	slices.SortFunc(a.BundleDeployments, func(x, y BundleDeployment) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Release, y.Release))
	})
	for _, bd := range a.BundleDeployments {
		slices.SortFunc(bd.Resources, func(x, y Resource) int { return x.Compare(y.Ref) })
	}
	slices.SortFunc(a.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Code, y.Code), cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.BundleDeployment, y.BundleDeployment),
			x.Object.Compare(y.Object), cmp.Compare(x.Message, y.Message))
	})
	slices.SortFunc(a.Gaps, func(x, y Gap) int {
		return cmp.Or(cmp.Compare(x.What, y.What), cmp.Compare(x.Reason, y.Reason), cmp.Compare(x.Effect, y.Effect))
	})
	a.Gaps = slices.Compact(a.Gaps)
}

// sum fills in the summary and which findings each aggregate has.
func (a *Audit) sum() {
	a.Summary = Summary{BundleDeployments: len(a.BundleDeployments)}
	for _, bd := range a.BundleDeployments {
		a.Summary.Counts = a.Summary.Counts.Plus(bd.Counts)
	}
	codes := map[string][]string{}
	for _, f := range a.Findings {
		switch f.Severity {
		case Error:
			a.Summary.Findings.Error++
		case Warning:
			a.Summary.Findings.Warning++
		default:
			a.Summary.Findings.Info++
		}
		k := f.Object.Kind + " " + f.Object.Namespace + "/" + f.Object.Name
		codes[k] = append(codes[k], f.Code)
	}
	for kind, list := range map[string][]Aggregate{"GitRepo": a.GitRepos, "HelmOp": a.HelmOps, "Bundle": a.Bundles,
		"Cluster": a.Clusters, "ClusterGroup": a.ClusterGroups} {
		for i := range list {
			list[i].Findings = slices.Compact(codes[kind+" "+list[i].Namespace+"/"+list[i].Name])
		}
	}
}

// hider takes secrets out of a sorted report.
type hider struct {
	replace  func(text string) string
	ordinals map[string]string // nil for one that only reads
}

func (h *hider) audit(a *Audit) {
	for _, bd := range a.BundleDeployments {
		for i := range bd.Resources {
			r := &bd.Resources[i]
			r.Message = h.replace(r.Message)
			h.differences(r.Differences)
		}
	}
	for i := range a.Findings {
		f := &a.Findings[i]
		f.Message, f.Remediation = h.replace(f.Message), h.replace(f.Remediation)
		h.texts(f.Evidence)
	}
	h.texts(a.Notes)
	h.gaps(a.Gaps)
}

func (h *hider) differences(list []Difference) {
	for i := range list {
		d := &list[i]
		d.Desired, d.Live, d.Release, d.Note = h.value(d.Desired), h.value(d.Live), h.value(d.Release), h.replace(d.Note)
		d.Manager = h.replace(d.Manager) // anyone may call himself anything
		d.Path = h.replace(d.Path)       // which has keys, and elements of sets
	}
}

func (h *hider) texts(list []string) {
	for i := range list {
		list[i] = h.replace(list[i])
	}
}

func (h *hider) gaps(list []Gap) {
	for i := range list {
		g := &list[i]
		g.What, g.Reason, g.Effect = h.replace(g.What), h.replace(g.Reason), h.replace(g.Effect)
	}
}

// value gives a secret its ordinal by first appearance, so that equal values look equal, and hides secrets inside others.
func (h *hider) value(v Value) Value {
	switch {
	case !v.set:
		return v
	case !v.secret:
		v.v = h.inside(v.v)
		return v
	case h.ordinals == nil:
		return v
	}
	raw, err := json.Marshal(v.v)
	if err != nil {
		raw = []byte(fmt.Sprint(v.v))
	}
	mask, ok := h.ordinals[string(raw)]
	if !ok {
		mask = fmt.Sprintf("***%d", len(h.ordinals)+1)
		h.ordinals[string(raw)] = mask
	}
	return Value{set: true, secret: true, mask: mask}
}

// inside hides secrets in the strings of a value that is none itself.
func (h *hider) inside(v any) any {
	switch v := v.(type) {
	case string:
		return h.replace(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = h.inside(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[h.replace(k)] = h.inside(v[k])
		}
		return out
	}
	return v
}
