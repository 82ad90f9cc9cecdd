// SPDX-License-Identifier: Apache-2.0

package report

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// quotedPart is what a sentence or a path quotes.
var quotedPart = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// ownSentences are the codes of findings whose message quotes nothing of the cluster but paths.
var ownSentences = map[string]bool{"FD101": true, "FD104": true, "FD105": true, "FD107": true, "FD111": true}

// published gathers what the program says by itself: sentences made of constant text and of identifiers, without what they quote.
type published struct{ sentences, paths strings.Builder }

// sentence adds a sentence, without its quoted parts and without the paths, whose map keys may be anything.
func (p *published) sentence(text string, paths []string) {
	longest := slices.SortedFunc(slices.Values(paths), func(x, y string) int { return len(y) - len(x) })
	for _, path := range longest { // one path may begin as another one does
		text = strings.ReplaceAll(text, path, "\x00")
	}
	p.sentences.WriteString(quotedPart.ReplaceAllString(text, "\x00") + "\x00")
}

// without deletes the values that are a part of what was added: hiding them keeps nothing secret, and takes the report away. Of a path that
// holds for a value that begins as a field does, as any other one may be a map key.
func (p *published) without(values map[string]bool) {
	sentences, paths := p.sentences.String(), p.paths.String()
	for v := range values {
		if strings.Contains(sentences, v) || strings.HasPrefix(v, ".") && strings.Contains(paths, v) {
			delete(values, v)
		}
	}
}

// public gathers what the report says by itself.
func (a *Audit) public(p *published) {
	paths := map[object.Ref][]string{}
	for _, bd := range a.BundleDeployments {
		key := bd.Namespace + "/" + bd.Name
		p.sentence("bundle deployment "+key+"\x00release "+bd.Release+"\x00cluster "+bd.Cluster, nil)
		for _, r := range bd.Resources {
			p.sentence(strings.ToLower(r.Kind)+" "+r.Namespace+"/"+r.Name, nil)
			for _, d := range r.Differences {
				paths[r.Ref] = append(paths[r.Ref], d.Path)
				p.sentence(d.Time, nil)
				p.paths.WriteString(quotedPart.ReplaceAllString(d.Path, "\x00") + "\x00")
			}
		}
	}
	for _, f := range a.Findings {
		p.sentence(f.Code+"\x00"+f.Title, nil)
		if ownSentences[f.Code] {
			p.sentence(f.Message, paths[f.Object])
			p.sentence(f.Remediation, nil)
		}
	}
}
