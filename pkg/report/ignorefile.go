// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
)

// IgnoreFile has the entries of an ignore file.
type IgnoreFile struct {
	name    string // for messages
	entries []entry
}

// entry selects findings. A pattern that is not stated matches everything.
type entry struct {
	line                  int
	codes                 []string
	kind, namespace, name string
	bundle, cluster       string
	reason                string
	expires               time.Time // the beginning of the last day on which it applies; zero if it always does
}

const dateLayout = "2006-01-02"

// ParseIgnoreFile reads the content of an ignore file. Its errors name the file, the line and the remedy, all of them
// at once.
func ParseIgnoreFile(name string, content []byte) (*IgnoreFile, error) {
	p := &parser{file: &IgnoreFile{name: name}}
	var root yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(string(content)))
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF): // empty, or only comments
		return p.file, nil
	case err != nil:
		return nil, notYAML(name, err)
	}
	switch err := decoder.Decode(&yaml.Node{}); {
	case err == nil:
		return nil, fmt.Errorf("%s: it has several YAML documents: join their lists \"ignore\"", name)
	case !errors.Is(err, io.EOF):
		return nil, notYAML(name, err)
	}
	if top := root.Content[0]; top.Kind != yaml.MappingNode {
		p.fail(top, "the ignore file has no field: it must have the field \"ignore\" with a list of entries")
		return nil, errors.Join(p.errs...)
	}
	p.fields("the ignore file", root.Content[0], map[string]func(*yaml.Node){"ignore": func(list *yaml.Node) {
		if list.Kind != yaml.SequenceNode && list.Tag != "!!null" {
			p.fail(list, "ignore: expected a list of entries")
			return
		}
		for _, n := range list.Content {
			p.entry(n)
		}
	}}, "ignore")
	if len(p.errs) > maxErrors {
		p.errs = append(p.errs[:maxErrors], fmt.Errorf("further errors: %d", len(p.errs)-maxErrors))
	}
	return p.file, errors.Join(p.errs...)
}

// notYAML is the error of a file that the decoder cannot read.
func notYAML(name string, err error) error {
	return fmt.Errorf("%s:%s", name, inYAML.ReplaceAllString(err.Error(), "$1"))
}

// inYAML matches the beginning of an error of the decoder. It states the line, unless that is the first one.
var inYAML = regexp.MustCompile(`^yaml:(?: line (\d+:))?`)

// maxErrors is the number of errors of a file that are shown.
const maxErrors = 10

type parser struct {
	file *IgnoreFile
	errs []error
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: "+format, slices.Concat([]any{p.file.name, n.Line}, args)...))
}

// fields calls the function of each field of a map. what is the name of the map, order lists the names of the fields
// for messages.
func (p *parser) fields(what string, n *yaml.Node, known map[string]func(*yaml.Node), order ...string) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "%s: expected a map with the fields %s", what, strings.Join(order, ", "))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		read, ok := known[key.Value]
		switch {
		case !ok:
			p.fail(key, "unknown field %q of %s: expected %s", key.Value, what, strings.Join(order, ", "))
		case seen[key.Value]:
			p.fail(key, "the field %s is stated twice", key.Value)
		default:
			seen[key.Value] = true
			read(n.Content[i+1])
		}
	}
}

// text reads the value of a field, a string that is not empty.
func (p *parser) text(field string, n *yaml.Node) (value string, ok bool) {
	if n.Kind != yaml.ScalarNode || strings.TrimSpace(n.Value) == "" || n.Tag == "!!null" {
		p.fail(n, "%s: expected a text that is not empty", field)
		return "", false
	}
	return n.Value, true
}

// pattern returns the function that reads the pattern of a field.
func (p *parser) pattern(field string, into *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		*into, _ = p.text(field, n)
		if _, err := path.Match(*into, ""); err != nil {
			p.fail(n, "%s: invalid pattern %q: * matches any characters, ? matches one character, [a-z] matches one "+
				"of a range", field, *into)
		}
	}
}

func (p *parser) entry(n *yaml.Node) {
	e := entry{line: n.Line}
	failed := len(p.errs)
	p.fields("the entry", n, map[string]func(*yaml.Node){
		"code": func(n *yaml.Node) {
			codes := []*yaml.Node{n}
			if n.Kind == yaml.SequenceNode {
				codes = n.Content
			}
			for _, c := range codes {
				e.codes = append(e.codes, p.code(c))
			}
		},
		"object": func(n *yaml.Node) {
			p.fields("object", n, map[string]func(*yaml.Node){"kind": p.pattern("object.kind", &e.kind),
				"namespace": p.pattern("object.namespace", &e.namespace),
				"name":      p.pattern("object.name", &e.name)}, "kind", "namespace", "name")
		},
		"bundle": p.pattern("bundle", &e.bundle), "cluster": p.pattern("cluster", &e.cluster),
		"reason": func(n *yaml.Node) { e.reason, _ = p.text("reason", n) },
		"expires": func(n *yaml.Node) {
			value, ok := p.text("expires", n)
			day, err := time.Parse(dateLayout, value)
			if ok && err != nil {
				p.fail(n, "expires: invalid date %q: it must be a day, YYYY-MM-DD", value)
			}
			e.expires = day
		},
	}, "code", "object", "bundle", "cluster", "reason", "expires")
	if len(p.errs) == failed { // otherwise the error may be the cause
		if len(e.codes) == 0 {
			p.fail(n, "the entry has no code: state the code of a finding, or a list of codes")
		}
		if e.reason == "" {
			p.fail(n, "the entry has no reason: state why the finding is ignored")
		}
	}
	p.file.entries = append(p.file.entries, e)
}

// code reads a code, in upper or lower case.
func (p *parser) code(n *yaml.Node) string {
	value, _ := p.text("code", n)
	code := strings.ToUpper(value)
	switch known := slices.ContainsFunc(check.Catalogue(), func(c check.Check) bool { return c.Code == code }); {
	case code == codes.Unread: // without it, the report would look like that of a deployment without problems
		p.fail(n, "code: %s cannot be ignored: it reports a bundle deployment without a result. Exclude the bundle "+
			"deployment with the arguments of the command", code)
	case code != "" && !known:
		p.fail(n, "code: %q is not known: kubectl fleetdoctor explain lists the codes, such as FD104", value)
	}
	return code
}

// Apply returns a copy of a report without the findings that the entries of the file select. The report has a finding
// for each cluster: an entry can select one of them. Entries that have expired on the day of now select nothing. A
// finding that says that a deployment has no result stays.
func (f *IgnoreFile) Apply(a *Audit, now time.Time) *Audit {
	used, refused := make([]bool, len(f.entries)), make([]bool, len(f.entries))
	kept := make([]Finding, 0, len(a.Findings))
	out := *a
	stays := a.Unread()
	for _, x := range a.Findings {
		var by *entry
		for i := range f.entries {
			if e := &f.entries[i]; !e.expired(now) && e.selects(&x) {
				by, used[i], refused[i] = cmp.Or(by, e), true, refused[i] || stays(&x)
			}
		}
		if by == nil || stays(&x) {
			kept = append(kept, x)
			continue
		}
		ignored := Ignored{ID: x.ID, Code: x.Code, Severity: x.Severity, Object: x.Object, Cluster: x.Cluster,
			BundleDeployment: x.BundleDeployment, Reason: by.reason}
		if !by.expires.IsZero() {
			ignored.Expires = by.expires.Format(dateLayout)
		}
		out.Ignored = append(out.Ignored, ignored)
	}
	if out.Summary.Ignored = len(out.Ignored); out.Summary.Ignored > 0 {
		out.IgnoreFile = f.name
	}
	out.Notes = slices.Concat(a.Notes, f.notes(a, used, refused, now))
	return out.WithFindings(kept)
}

// notes describe the entries that select nothing, and those that select a finding which stays. In a report about a part
// of the bundles, many entries select nothing.
func (f *IgnoreFile) notes(a *Audit, used, refused []bool, now time.Time) []string {
	var expired, unused, without []string
	for i, e := range f.entries {
		where := fmt.Sprintf("line %d (%s)", e.line, strings.Join(e.codes, ", "))
		switch {
		case e.expired(now):
			expired = append(expired, where+" on "+e.expires.Format(dateLayout))
		case refused[i]:
			without = append(without, where)
		case !used[i] && len(a.Scope.Namespaces)+len(a.Scope.Selectors)+len(a.Scope.Targets) == 0:
			unused = append(unused, where)
		}
	}
	var out []string
	if len(expired) > 0 {
		out = append(out, fmt.Sprintf("%s: entries that have expired ignore nothing: %s", f.name,
			strings.Join(expired, ", ")))
	}
	if len(without) > 0 {
		out = append(out, fmt.Sprintf("%s: findings about bundle deployments without a result are not ignored: %s",
			f.name, strings.Join(without, ", ")))
	}
	if len(unused) > 0 {
		out = append(out, fmt.Sprintf("%s: entries that match no finding: %s", f.name, strings.Join(unused, ", ")))
	}
	return out
}

// expired reports whether the last day on which the entry applies has passed, in UTC.
func (e *entry) expired(now time.Time) bool {
	return !e.expires.IsZero() && !now.UTC().Before(e.expires.AddDate(0, 0, 1))
}

func (e *entry) selects(f *Finding) bool {
	if !slices.Contains(e.codes, f.Code) || !matchesKey(e.bundle, f.Bundle) || !matchesKey(e.cluster, f.Cluster) {
		return false
	}
	kind := matches(strings.ToLower(e.kind), strings.ToLower(f.Object.Kind))
	return kind && matches(e.namespace, f.Object.Namespace) && matches(e.name, f.Object.Name)
}

// matches reports whether a name matches a pattern. No name matches no pattern but the empty one: a pattern for
// namespaces selects no cluster-scoped object.
func matches(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok && name != ""
}

// matchesKey reports whether "namespace/name" matches a pattern, which states a namespace or not.
func matchesKey(pattern, key string) bool {
	if !strings.Contains(pattern, "/") {
		key = key[strings.LastIndexByte(key, '/')+1:]
	}
	return matches(pattern, key)
}
