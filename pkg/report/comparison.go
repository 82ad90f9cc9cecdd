// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"

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
func (c *ChangeCounts) Add(e Effect) {
	switch e {
	case Worse:
		c.Worse++
	case Better:
		c.Better++
	case Changed:
		c.Changed++
	default:
		c.Unknown++
	}
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
