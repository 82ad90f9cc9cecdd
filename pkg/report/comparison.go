// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// KindComparison is the kind of a Comparison.
const KindComparison = "ComparisonReport"

// Comparison reports what changed between two audits of a cluster.
type Comparison struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Tool       Tool     `json:"tool"`
	Before     Compared `json:"before"`
	After      Compared `json:"after"`
	Scope      Scope    `json:"scope"`
	// Summary counts the changes.
	Summary ComparisonSummary `json:"summary"`
	// BundleDeployments are those whose state or whose number of ready objects changed.
	BundleDeployments []BundleDeploymentChange `json:"bundleDeployments"`
	Findings          []FindingChange          `json:"findings"`
	// Resources are the objects whose state changed, of bundle deployments that have a result on both sides.
	Resources []ResourceChange `json:"resources"`
	Gaps      []GapChange      `json:"gaps"`
	// Notes are information for the reader that is not a change.
	Notes []string `json:"notes,omitempty"`
}

// Compared is one of the two audits.
type Compared struct {
	// TakenAt is when the data was taken (RFC 3339).
	TakenAt string  `json:"takenAt,omitempty"`
	Tool    Tool    `json:"tool"`
	Source  Source  `json:"source"`
	Summary Summary `json:"summary"`
	// Gaps is the number of gaps.
	Gaps int `json:"gaps"`
	// AsVersion is the version of Fleet for which the data was evaluated, if it is not the version that runs.
	AsVersion string `json:"asVersion,omitempty"`
}

// ComparisonSummary counts changes by their effects.
type ComparisonSummary struct {
	BundleDeployments ChangeCounts `json:"bundleDeployments"`
	Findings          ChangeCounts `json:"findings"`
	Resources         ChangeCounts `json:"resources"`
	Gaps              ChangeCounts `json:"gaps"`
	// FromStatus is the number of bundle deployments without a result on both sides: only the status that Fleet reports
	// was compared.
	FromStatus int `json:"fromStatus"`
	// Complete is false if something may have got worse, but one of the audits could not read it.
	Complete bool `json:"complete"`
}

// ChangeCounts counts changes by their effects.
type ChangeCounts struct {
	Worse   int `json:"worse"`
	Better  int `json:"better"`
	Changed int `json:"changed"`
	Unknown int `json:"unknown"`
}

// Add counts a change.
func (c *ChangeCounts) Add(e Effect) { *c.number(e)++ }

// Number is the number of changes with an effect.
func (c ChangeCounts) Number(e Effect) int { return *c.number(e) }

func (c *ChangeCounts) number(e Effect) *int {
	switch e {
	case Worse:
		return &c.Worse
	case Better:
		return &c.Better
	case Changed:
		return &c.Changed
	}
	return &c.Unknown
}

// Effect is the effect of a change.
type Effect string

// The effects. A change has the effect Changed if it is neither better nor worse, and EffectUnknown if one of the
// audits could not read what changed.
const (
	Worse         Effect = "Worse"
	Better        Effect = "Better"
	Changed       Effect = "Changed"
	EffectUnknown Effect = "Unknown"
)

// FindingChange is a finding that only one of the audits has, or whose severity changed.
type FindingChange struct {
	Effect Effect `json:"effect" jsonschema:"enum=Worse,enum=Better,enum=Changed,enum=Unknown"`
	// Before and After are the severities; empty if the audit does not have the finding.
	Before           Severity   `json:"before,omitempty"`
	After            Severity   `json:"after,omitempty"`
	ID               string     `json:"id"`
	Code             string     `json:"code"`
	Title            string     `json:"title"`
	Object           object.Ref `json:"object"`
	Cluster          string     `json:"cluster,omitempty"`          // "namespace/name"
	BundleDeployment string     `json:"bundleDeployment,omitempty"` // "namespace/name"
	Bundle           string     `json:"bundle,omitempty"`           // "namespace/name"
	Message          string     `json:"message"`
}

// Severity is the severity after the change; that before it if the finding is gone.
func (f *FindingChange) Severity() Severity { return cmp.Or(f.After, f.Before) }

// BundleDeploymentChange is a bundle deployment that changed.
type BundleDeploymentChange struct {
	Effect    Effect `json:"effect" jsonschema:"enum=Worse,enum=Better,enum=Changed,enum=Unknown"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Cluster   string `json:"cluster,omitempty"` // "namespace/name"
	Bundle    string `json:"bundle,omitempty"`  // "namespace/name"
	// Before and After are absent if the audit does not have the bundle deployment.
	Before *DeploymentState `json:"before,omitempty"`
	After  *DeploymentState `json:"after,omitempty"`
}

// DeploymentState is the state of a bundle deployment in one of the audits.
type DeploymentState struct {
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"` // of the state Unknown
	Counts   Counts    `json:"counts"`
	Reported *Reported `json:"reported,omitempty"`
}

// ResourceChange is an object whose state changed.
type ResourceChange struct {
	Effect Effect `json:"effect" jsonschema:"enum=Worse,enum=Better,enum=Changed,enum=Unknown"`
	object.Ref
	Cluster          string `json:"cluster,omitempty"` // "namespace/name"
	BundleDeployment string `json:"bundleDeployment"`  // "namespace/name"
	// Before and After are absent if the audit does not have the object.
	Before *ResourceState `json:"before,omitempty"`
	After  *ResourceState `json:"after,omitempty"`
}

// ResourceState is the state of an object in one of the audits.
type ResourceState struct {
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // of the states Unowned and Unknown
}

// GapChange is something that only one of the audits could read.
type GapChange struct {
	// Effect is Unknown if the later audit could not read it, and Changed if the earlier one could not.
	Effect Effect `json:"effect" jsonschema:"enum=Changed,enum=Unknown"`
	Gap
}

// The reasons for which a report does not list findings.
const (
	ByFilter     = "filter"
	ByIgnoreFile = "ignored"
)

// LeftOut is a number of findings that a report does not list. They may be problems.
type LeftOut struct {
	By    string
	Count int
	// Text has the number and the reason, without a period.
	Text string
}

// LeftOut returns the numbers of findings that the report does not list.
func (a *Audit) LeftOut() []LeftOut {
	var out []LeftOut
	add := func(by string, n int, text string) {
		out = append(out, LeftOut{by, n, Plural(n, "finding") + " " + text})
	}
	if f := a.Filter; f.Hides() {
		add(ByFilter, f.Hidden.Total(), fmt.Sprintf("hidden by %s: %s", f, f.Hidden))
	}
	if n := a.Summary.Ignored; n > 0 {
		text := "ignored"
		if a.IgnoreFile != "" {
			text += " by " + a.IgnoreFile
		}
		add(ByIgnoreFile, n, text)
	}
	return out
}

// String returns the flags of the filter.
func (f *Filter) String() string {
	var out []string
	if f.Severity != "" {
		out = append(out, "--severity="+string(f.Severity))
	}
	if len(f.Codes) > 0 {
		out = append(out, "--code="+strings.Join(f.Codes, ","))
	}
	if f.Since != "" {
		out = append(out, "--since="+f.Since)
	}
	return strings.Join(out, " ")
}

// String lists the numbers that are not 0.
func (c FindingCounts) String() string {
	var out []string
	if c.Error > 0 {
		out = append(out, Plural(c.Error, "error"))
	}
	if c.Warning > 0 {
		out = append(out, Plural(c.Warning, "warning"))
	}
	if c.Info > 0 {
		out = append(out, fmt.Sprintf("%d informational", c.Info))
	}
	return strings.Join(out, ", ")
}

// Why is the reason of the entry, with the last day on which it applies.
func (i *Ignored) Why() string {
	if i.Expires == "" {
		return i.Reason
	}
	return i.Reason + " (until " + i.Expires + ")"
}

// OtherCluster returns why two reports are certainly of different clusters; "" if they are of the same one, or if that
// is not known. Reports with the same scope are of different clusters if they have nothing in common, although both
// have Clusters, or although both have bundle deployments and everything was read.
func OtherCluster(before, after *Audit) string {
	if known, same := byUID(before, after); known {
		if same {
			return ""
		}
		return "the Namespace kube-system has another uid"
	}
	certain, possible := inCommon(before, after)
	named := len(clustersOf(before)) > 0 && len(clustersOf(after)) > 0
	deployed := len(before.BundleDeployments) > 0 && len(after.BundleDeployments) > 0 &&
		len(before.Gaps)+len(after.Gaps) == 0
	compared := slices.Equal(ScopeOf(before), ScopeOf(after)) && (named || deployed)
	if certain || possible || !compared {
		return ""
	}
	return "they have no bundle deployment and no Cluster in common"
}

// ClusterNotes returns a note if two reports may be of different clusters. Those of downstream clusters have only the
// ids of bundles, which are the same on each cluster that a bundle is deployed to.
func ClusterNotes(before, after *Audit) []string {
	known, _ := byUID(before, after)
	certain, possible := inCommon(before, after)
	if known || certain || !possible {
		return nil
	}
	return []string{"it is not known whether both audits are of the same cluster: they have only names of bundles in " +
		"common, and the uid of the Namespace kube-system was not read in both"}
}

// byUID compares the uids of the clusters. known is false if one of them was not read.
func byUID(before, after *Audit) (known, same bool) {
	x, y := before.Source.ClusterUID, after.Source.ClusterUID
	return x != "" && y != "", x == y
}

// inCommon reports whether two reports have a Cluster or a bundle deployment in common. It is only possible that they
// have one if it has no namespace: then only the id of its bundle is known.
func inCommon(before, after *Audit) (certain, possible bool) {
	x := clustersOf(before)
	for name := range clustersOf(after) {
		certain = certain || x[name]
	}
	deployments := map[string]bool{}
	for _, bd := range before.BundleDeployments {
		deployments[bd.Key()] = true
	}
	for _, bd := range after.BundleDeployments {
		if deployments[bd.Key()] {
			certain, possible = certain || bd.Namespace != "", true
		}
	}
	return certain, possible
}

// clustersOf returns the Clusters of a report. Those of which not everything is known are only named by their bundle
// deployments.
func clustersOf(a *Audit) map[string]bool {
	out := map[string]bool{}
	for _, c := range a.Clusters {
		out[c.Namespace+"/"+c.Name] = true
	}
	for _, bd := range a.BundleDeployments {
		if bd.Cluster != "" {
			out[bd.Cluster] = true
		}
	}
	return out
}
