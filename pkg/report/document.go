// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

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

// countFindings counts the findings by severity, and returns their codes by object ("Kind namespace/name").
func (a *Audit) countFindings() map[string][]string {
	codes := map[string][]string{}
	for _, f := range a.Findings {
		a.Summary.Findings.add(f.Severity)
		k := f.Object.Kind + " " + f.Object.Namespace + "/" + f.Object.Name
		codes[k] = append(codes[k], f.Code)
	}
	return codes
}

// Redacted returns a copy in which secrets are hidden.
func (a *Audit) Redacted(s *secret.Values) *Audit { return redacted(s, a, a.sentences) }

// Texts calls add with each text in which secrets are hidden.
func (a *Audit) Texts(add func(...string)) { document{of: a}.Texts(add) }

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
