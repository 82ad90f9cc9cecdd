// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Audit is the whole report.
type Audit struct {
	APIVersion string `json:"apiVersion" text:"keep"`
	Kind       string `json:"kind" text:"keep"`
	// TakenAt is when the data was taken, not when it was printed (RFC 3339). For a snapshot, it is the newest time in
	// it.
	TakenAt string  `json:"takenAt,omitempty" text:"keep"`
	Tool    Tool    `json:"tool" text:"keep"`
	Source  Source  `json:"source" text:"keep"`
	Scope   Scope   `json:"scope" text:"keep"`
	Summary Summary `json:"summary"`
	// Filter is set if the user selected findings by severity, by code or by time. The report then has only these
	// findings.
	Filter *Filter `json:"filter,omitempty" text:"keep"`

	// The objects above the BundleDeployments: those in scope, and those that have a BundleDeployment in scope.
	GitRepos      []Aggregate `json:"gitRepos,omitempty" text:"keep"`
	HelmOps       []Aggregate `json:"helmOps,omitempty" text:"keep"`
	Bundles       []Aggregate `json:"bundles,omitempty" text:"keep"`
	Clusters      []Aggregate `json:"clusters,omitempty" text:"keep"`
	ClusterGroups []Aggregate `json:"clusterGroups,omitempty" text:"keep"`

	BundleDeployments []BundleDeployment `json:"bundleDeployments"`
	Findings          []Finding          `json:"findings"`
	Gaps              []Gap              `json:"gaps"`
	// Ignored are the findings that the ignore file excludes. They are not among the findings and their totals.
	Ignored []Ignored `json:"ignored,omitempty" text:"keep"`
	// IgnoreFile is the name of the ignore file, if it excludes a finding. The default is .fleetdoctor.yaml in the
	// current directory.
	IgnoreFile string `json:"ignoreFile,omitempty" text:"keep"`
	// Notes are information for the reader that is neither a finding nor a gap.
	Notes []string `json:"notes,omitempty" text:"redact"`
}

// Filter selects findings by severity, by code and by time. A finding that says that a bundle deployment has no result
// is always selected: what could not be read is not hidden.
type Filter struct {
	// Severity is the lowest severity of the findings; empty for all severities.
	Severity Severity `json:"severity,omitempty" jsonschema:"enum=error,enum=warning,enum=info"`
	// Codes are the codes of the findings; empty for all codes.
	Codes []string `json:"codes,omitempty"`
	// Since is the time (RFC 3339) at or after which a change was recorded; empty for all times. A finding without a
	// recorded time is selected: it may be new.
	Since string `json:"since,omitempty"`
	// Hidden counts the findings that were left out.
	Hidden FindingCounts `json:"hidden"`
}

// Ignored is a finding that an entry of the ignore file excludes from the report.
type Ignored struct {
	ID       string     `json:"id"`
	Code     string     `json:"code"`
	Severity Severity   `json:"severity"`
	Object   object.Ref `json:"object"`
	Cluster  string     `json:"cluster,omitempty"` // "namespace/name"
	// BundleDeployment is "namespace/name" of the bundle deployment that the finding is about; empty if it is about
	// none.
	BundleDeployment string `json:"bundleDeployment,omitempty"`
	// Reason is the reason in the entry, Expires the last day on which the entry applies (YYYY-MM-DD), if it states
	// one.
	Reason  string `json:"reason"`
	Expires string `json:"expires,omitempty"`
}

// Summary has the totals of the report.
type Summary struct {
	BundleDeployments int    `json:"bundleDeployments"`
	Counts            Counts `json:"counts"`
	// Findings counts the findings that the report has. Filter counts those that it leaves out.
	Findings FindingCounts `json:"findings"`
	// Ignored is the number of findings that the ignore file excludes.
	Ignored int `json:"ignored,omitempty"`
}

// FindingCounts counts findings by severity.
type FindingCounts struct {
	Error   int `json:"error"`
	Warning int `json:"warning"`
	Info    int `json:"info"`
}

// Total is the number of all findings.
func (c FindingCounts) Total() int { return c.Error + c.Warning + c.Info }

// add counts a finding.
func (c *FindingCounts) add(s Severity) {
	switch s {
	case Error:
		c.Error++
	case Warning:
		c.Warning++
	default:
		c.Info++
	}
}

// Aggregate is one object above the BundleDeployments, with its totals.
type Aggregate struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// OutOfScope is true if the scope does not include the object: it is here because one of its BundleDeployments is
	// in scope.
	OutOfScope bool `json:"outOfScope,omitempty"`
	// Actual are the actual totals. They are absent unless all of its BundleDeployments are in scope and their objects
	// were read.
	Actual *Actual `json:"actual,omitempty"`
	// Statuses are the totals of the statuses of all its BundleDeployments, in scope or not, as old as the oldest of
	// them. They are absent unless all of these were read. The numbers of objects are absent if one of the statuses has
	// none.
	Statuses *Reported `json:"statuses,omitempty"`
	// Reported is what Fleet reports of the object itself.
	Reported *Reported `json:"reported,omitempty"`
	// Findings are the codes of the findings about the aggregate object itself.
	Findings []string `json:"findings,omitempty"`
}

// Actual has the totals of the bundle deployments of an aggregate.
type Actual struct {
	BundleDeployments      int    `json:"bundleDeployments"`
	ReadyBundleDeployments int    `json:"readyBundleDeployments"`
	Counts                 Counts `json:"counts"`
}

// BundleDeployment is one bundle on one cluster. If only its release is known (on a downstream cluster), the name is
// the bundle id and the namespace is empty.
type BundleDeployment struct {
	Namespace   string     `json:"namespace" text:"name"`
	Name        string     `json:"name" text:"name"`
	Cluster     string     `json:"cluster,omitempty" text:"name"` // "namespace/name"
	Bundle      string     `json:"bundle,omitempty" text:"name"`  // "namespace/name"
	GitRepo     string     `json:"gitRepo,omitempty" text:"name"` // "namespace/name"
	HelmOp      string     `json:"helmOp,omitempty" text:"name"`  // "namespace/name"
	Release     string     `json:"release,omitempty" text:"name"` // "namespace/name:revision"
	SetID       string     `json:"setID,omitempty" text:"name"`
	Hash        string     `json:"hash,omitempty" text:"keep"`
	DesiredFrom string     `json:"desiredFrom,omitempty" text:"keep"`
	State       State      `json:"state" text:"keep"`            // the actual state
	Reason      string     `json:"reason,omitempty" text:"keep"` // of the state Unknown
	Counts      Counts     `json:"counts"`                       // the actual counts
	Reported    *Reported  `json:"reported,omitempty" text:"keep"`
	Resources   []Resource `json:"resources"`
}

// Key is "namespace/name", or the name of a bundle deployment without a namespace.
func (bd *BundleDeployment) Key() string { return strings.TrimPrefix(bd.Namespace+"/"+bd.Name, "/") }

// aggregates returns the lists of aggregates by their kind.
func (a *Audit) aggregates() map[string]*[]Aggregate {
	return map[string]*[]Aggregate{state.GitRepo: &a.GitRepos, state.HelmOp: &a.HelmOps, state.Bundle: &a.Bundles,
		state.ClusterKind: &a.Clusters, state.ClusterGroup: &a.ClusterGroups}
}

// countFindings counts the findings by severity, and sets their codes in copies of the aggregates.
func (a *Audit) countFindings() {
	a.Summary.Findings = FindingCounts{}
	codes := map[string][]string{} // by object ("Kind namespace/name")
	for _, f := range a.Findings {
		a.Summary.Findings.add(f.Severity)
		k := f.Object.Kind + " " + f.Object.Namespace + "/" + f.Object.Name
		codes[k] = append(codes[k], f.Code)
	}
	for kind, list := range a.aggregates() {
		*list = each(*list, func(x Aggregate) Aggregate {
			x.Findings = slices.Compact(codes[kind+" "+x.Namespace+"/"+x.Name])
			return x
		})
	}
}

// Redacted returns a copy in which secrets are hidden.
func (a *Audit) Redacted(s *secret.Values) *Audit { return redacted(s, a, a.sentences) }

// Texts calls add with each text in which secrets are hidden.
func (a *Audit) Texts(add func(...string)) { document{document: a}.Texts(add) }

// sentences adds the sentences of an audit that this program wrote.
func (a *Audit) sentences(p *secret.Published) {
	paths := map[object.Ref][]string{}
	for _, bd := range a.BundleDeployments {
		p.Sentence("bundle deployment "+bd.Key()+"\x00release "+bd.Release+"\x00cluster "+bd.Cluster, nil)
		for _, r := range bd.Resources {
			p.Sentence(strings.ToLower(r.Kind)+" "+r.Namespace+"/"+r.Name, nil)
			for _, d := range r.Differences {
				paths[r.Ref] = append(paths[r.Ref], d.Path)
			}
		}
	}
	for _, f := range a.Findings {
		if !codes.Is(f.Code, codes.QuotesPaths) {
			continue
		}
		p.Sentence(f.Message, paths[f.Object])
		for _, r := range f.Remedies {
			p.Sentence(r.Command+"\x00"+r.Text, nil)
		}
	}
}

// Merged returns a copy in which the findings that are the same on several clusters are one finding.
func (a *Audit) Merged() *Audit { return a.WithFindings(merged(a.Findings)) }

// WithFindings returns a copy with other findings. The totals and the codes of the aggregates follow from them.
func (a *Audit) WithFindings(findings []Finding) *Audit {
	out := *a
	out.Findings = withoutOrphans(findings)
	out.countFindings()
	return &out
}

// merged joins the findings that are the same on several clusters: about the same object of the same bundle, with the
// same message. The order does not change.
func merged(findings []Finding) []Finding {
	type key struct {
		code, bundle, message string
		object                object.Ref
	}
	positions := map[key]int{}
	out := make([]Finding, 0, len(findings))
	for _, f := range findings {
		k := key{f.Code, f.Bundle, f.Message, f.Object}
		i, known := positions[k]
		switch {
		case f.BundleDeployment == "" || f.Bundle == "" || f.Cluster == "":
		case !known:
			positions[k] = len(out)
		case out[i].Cluster != f.Cluster && !slices.Contains(out[i].Clusters, f.Cluster):
			if out[i].Clusters == nil {
				first := out[i]
				out[i].join(&first)
			}
			out[i].join(&f)
			continue
		}
		out = append(out, f)
	}
	return out
}

// join adds a cluster with the same finding.
func (f *Finding) join(o *Finding) {
	f.Clusters, f.IDs = append(f.Clusters, o.Cluster), append(f.IDs, o.ID)
	f.PerCluster = append(f.PerCluster, ClusterFinding{o.Cluster, o.ID, o.BundleDeployment, o.Evidence, o.Remedies})
}

// age is when the change was recorded that a finding reports: before a time, not at all, or at or after it. Of several
// changes, the last one in this order counts.
type age int

const (
	before age = iota
	unknown
	since
)

// ages returns the function that compares the recorded change of a finding with a time (RFC 3339); without a time, all
// are since then. Only the fields that differ have the time of a change. It is not recorded when an object was deleted
// or lost a label, and the time of a status or of a heartbeat is not that of a change.
func (a *Audit) ages(from string) func(*Finding) age {
	limit, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return func(*Finding) age { return since }
	}
	type key struct {
		cluster, deployment string
		object              object.Ref
	}
	differences := map[key][]Difference{}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		for _, r := range bd.Resources {
			differences[key{bd.Cluster, bd.Key(), r.Ref}] = r.Differences
		}
	}
	return func(f *Finding) age {
		if !codes.Is(f.Code, codes.DatedByField) {
			return unknown
		}
		out := before
		for _, x := range f.OnEach() {
			out = max(out, changed(differences[key{x.Cluster, x.BundleDeployment, f.Object}], limit))
		}
		return out
	}
}

// changed compares the newest time of differences with a limit.
func changed(all []Difference, limit time.Time) age {
	out := before
	if len(all) == 0 {
		out = unknown
	}
	for _, d := range all {
		when, err := time.Parse(time.RFC3339, d.Time)
		switch {
		case err != nil:
			out = unknown
		case !when.Before(limit):
			return since
		}
	}
	return out
}

// Filtered returns a copy of the report with the findings that f selects, and f with the number of the others. The
// states and the counts of objects do not change. If f selects everything, it returns the report itself.
func (a *Audit) Filtered(f Filter) *Audit {
	if f.selectsAll() {
		return a
	}
	unread, age := a.Unread(), a.ages(f.Since)
	shown, undated := []Finding{}, 0
	for _, x := range a.Findings {
		is := age(&x)
		selected := f.selects(&x) && is != before
		switch {
		case !selected && !unread(&x):
			f.Hidden.add(x.Severity)
			continue
		case is == unknown:
			undated++
		}
		shown = append(shown, x)
	}
	out := a.WithFindings(shown)
	out.Filter = &f
	if undated > 0 {
		out.Notes = append(slices.Clip(out.Notes), fmt.Sprintf("no time of a change is recorded for %s. A finding "+
			"without a time may be new, so --since does not hide it", Plural(undated, "finding")))
	}
	return out
}

func (f *Filter) selectsAll() bool { return f.Severity == "" && f.Since == "" && len(f.Codes) == 0 }

// selects reports whether a finding has the severity and the code.
func (f *Filter) selects(x *Finding) bool {
	return x.Severity.Compare(f.Severity) <= 0 && (len(f.Codes) == 0 || slices.Contains(f.Codes, x.Code))
}

// Hides reports whether findings were left out. Without a filter, none is.
func (f *Filter) Hides() bool { return f != nil && f.Hidden.Total() > 0 }

// Same reports whether two filters select the same findings. A report without a filter has nil.
func (f *Filter) Same(o *Filter) bool {
	codes := func(f *Filter) []string { return slices.Compact(slices.Sorted(slices.Values(f.Codes))) }
	if f == nil || o == nil {
		return false
	}
	return f.Severity == o.Severity && f.Since == o.Since && slices.Equal(codes(f), codes(o))
}

// Unread returns a function that reports whether a finding says that a bundle deployment has no result. Without such a
// finding, a report would look like that of a deployment without problems.
func (a *Audit) Unread() func(*Finding) bool {
	noResult := map[[2]string]bool{} // by cluster and bundle deployment
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		noResult[[2]string{bd.Cluster, bd.Key()}] = bd.Reason != ""
	}
	return func(f *Finding) bool {
		return f.Code == codes.Unread ||
			f.Code == codes.ReleaseRecord && noResult[[2]string{f.Cluster, f.BundleDeployment}]
	}
}
