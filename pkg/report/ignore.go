// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

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
