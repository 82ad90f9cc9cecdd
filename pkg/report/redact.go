// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

// Redacted returns a copy in which secrets are hidden.
func (a *Audit) Redacted(s *redact.Secrets) *Audit {
	return newRedactor(s, a).audit(a)
}

// redactor copies documents and hides secrets in the copies.
type redactor struct {
	replace  func(text string) string
	ordinals map[string]string // the masks by value; nil if the redactor only reads
}

func newRedactor(s *redact.Secrets, d redact.Document) *redactor {
	return &redactor{replace: s.Redactor(d), ordinals: map[string]string{}}
}

// reader returns a redactor that changes nothing and calls f with every text.
func reader(f func(...string)) *redactor {
	return &redactor{replace: func(text string) string {
		f(text)
		return text
	}}
}

// Texts implements redact.Document.
func (a *Audit) Texts(add func(...string)) { reader(add).audit(a) }

// Names implements redact.Document.
func (a *Audit) Names(add func(...string)) {
	for _, bd := range a.BundleDeployments {
		add(bd.Namespace, bd.Name, bd.Cluster, bd.Bundle, bd.GitRepo, bd.HelmOp, bd.Release, bd.SetID)
		for _, r := range bd.Resources {
			names(r.Ref, add)
		}
	}
	for _, f := range a.Findings {
		names(f.Object, add)
		add(f.Cluster, f.BundleDeployment, f.Bundle, f.GitRepo, f.HelmOp)
		add(f.Clusters...)
	}
}

// ownSentences are the codes of findings with messages that quote only paths from the cluster.
var ownSentences = map[string]bool{"FD101": true, "FD104": true, "FD105": true, "FD107": true, "FD111": true}

// Published implements redact.Document.
func (a *Audit) Published(p *redact.Published) {
	paths := map[object.Ref][]string{}
	for _, bd := range a.BundleDeployments {
		p.Sentence("bundle deployment "+bd.Key()+"\x00release "+bd.Release+"\x00cluster "+bd.Cluster, nil)
		for _, r := range bd.Resources {
			p.Sentence(strings.ToLower(r.Kind)+" "+r.Namespace+"/"+r.Name, nil)
			for _, d := range r.Differences {
				paths[r.Ref] = append(paths[r.Ref], d.Path)
				p.Sentence(d.Time, nil)
				p.Path(d.Path)
			}
		}
	}
	for _, f := range a.Findings {
		p.Sentence(f.Code+"\x00"+f.Title, nil)
		if ownSentences[f.Code] {
			p.Sentence(f.Message, paths[f.Object])
			for _, r := range f.Remedies {
				p.Sentence(r.Command+"\x00"+r.Text, nil)
			}
		}
	}
}

func (h *redactor) audit(a *Audit) *Audit {
	out := *a
	out.BundleDeployments = each(a.BundleDeployments, func(bd BundleDeployment) BundleDeployment {
		bd.Resources = each(bd.Resources, func(r Resource) Resource {
			r.Message, r.Differences = h.replace(r.Message), h.differences(r.Differences)
			return r
		})
		return bd
	})
	out.Findings = each(a.Findings, func(f Finding) Finding {
		f.Message, f.Evidence, f.Remedies = h.replace(f.Message), h.texts(f.Evidence), h.remedies(f.Remedies)
		f.Aspect = h.replace(f.Aspect)
		f.Remediation = cmp.Or(first(f.Remedies), h.replace(f.Remediation))
		return f
	})
	out.Notes, out.Gaps = h.texts(a.Notes), h.gaps(a.Gaps)
	return &out
}

// unescapePointer replaces the escapes of a JSON pointer.
var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

func (h *redactor) differences(list []Difference) []Difference {
	return each(list, func(d Difference) Difference {
		d.Desired, d.Live, d.Release, d.Note = h.value(d.Desired), h.value(d.Live), h.value(d.Release), h.replace(d.Note)
		d.Manager = h.replace(d.Manager) // any client can choose any name
		path := h.replace(d.Path)        // a path contains map keys and elements of sets
		if plain := unescapePointer.Replace(d.Pointer); path != d.Path || h.replace(plain) != plain {
			d.Pointer = "" // with a mask, it would not lead to the field
		}
		d.Path = path
		d.Steps = each(d.Steps, h.step)
		return d
	})
}

func (h *redactor) remedies(list []Remedy) []Remedy {
	return each(list, func(r Remedy) Remedy {
		r.Text = h.replace(r.Text)
		if r.Command != "" && h.replace(r.Command) != r.Command {
			r.Command, r.Text = "", r.Text+" (the command has a value of a Secret, and is not shown)"
		}
		return r
	})
}

func (h *redactor) step(s Step) Step {
	s.Name, s.Member = h.replace(s.Name), h.inside(s.Member)
	if s.Key != nil {
		s.Key, _ = h.inside(s.Key).(map[string]any)
	}
	return s
}

func (h *redactor) texts(list []string) []string { return each(list, h.replace) }

func (h *redactor) gaps(list []Gap) []Gap {
	return each(list, func(g Gap) Gap {
		return Gap{Cluster: g.Cluster, What: h.replace(g.What), Reason: h.replace(g.Reason), Detail: h.replace(g.Detail), Effect: h.replace(g.Effect)}
	})
}

// each returns a copy of a list with every element changed, and nil for nil.
func each[T any](list []T, change func(T) T) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(list))
	for i, x := range list {
		out[i] = change(x)
	}
	return out
}

// present turns nil into an empty list, so that JSON has [] and not null.
func present[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// value replaces a secret value by a numbered mask: equal values get the same mask. It also hides secrets inside other values.
func (h *redactor) value(v Value) Value {
	switch {
	case v.IsZero():
		return v
	case !v.Secret():
		return evaluate.Plain(h.inside(v.Reveal()))
	case h.ordinals == nil:
		return v
	}
	raw, err := json.Marshal(v.Reveal())
	if err != nil {
		raw = []byte(fmt.Sprint(v.Reveal()))
	}
	mask, ok := h.ordinals[string(raw)]
	if !ok {
		mask = fmt.Sprintf("***%d", len(h.ordinals)+1)
		h.ordinals[string(raw)] = mask
	}
	return evaluate.Masked(mask)
}

// inside hides secrets in the strings of a value that is not itself secret.
func (h *redactor) inside(v any) any {
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
