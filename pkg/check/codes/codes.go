// SPDX-License-Identifier: Apache-2.0

// Package codes has the codes of findings, what the program asks of a code, and what users read about it: one YAML file
// for each code.
package codes

import (
	"embed"
	"slices"

	"sigs.k8s.io/yaml"
)

// The codes. Each has the name that users read.
const (
	Missing          = "FD101"
	Unowned          = "FD102"
	Contested        = "FD103"
	Modified         = "FD104"
	Orphaned         = "FD105"
	Abandoned        = "FD106"
	NotReady         = "FD107"
	IDMismatch       = "FD108"
	CopiedHash       = "FD109"
	NamespaceMeta    = "FD110"
	ExpiredJob       = "FD111"
	DeploymentCounts = "FD201"
	BundleSummary    = "FD202"
	RepoResources    = "FD203"
	RepoClusters     = "FD204"
	ClusterCounts    = "FD205"
	GroupCounts      = "FD206"
	Truncated        = "FD207"
	Frozen           = "FD208"
	Contradiction    = "FD209"
	Leftover         = "FD301"
	Absent           = "FD302"
	Orphan           = "FD303"
	NoRepo           = "FD304"
	NoTargets        = "FD305"
	TargetError      = "FD306"
	ValuesPending    = "FD401"
	ValuesMissing    = "FD402"
	ValuesMismatch   = "FD403"
	BundleValues     = "FD404"
	ValuesLeftover   = "FD405"
	CopyMissing      = "FD406"
	WillReimport     = "FD501"
	AgentStale       = "FD502"
	AgentNeverSeen   = "FD503"
	ScopeUnproven    = "FD504"
	ContentMissing   = "FD601"
	ReleaseRecord    = "FD602"
	StuckDeletion    = "FD603"
	NotApplied       = "FD604"
	RepoNotFollowed  = "FD605"
	LeftoverRelease  = "FD606"
	Unread           = "FD607"
	WillUninstall    = "FD608"
	NotCorrected     = "FD609"
	NotProcessed     = "FD610"
	ReportedNotReady = "FD611"
	ScaledOutside    = "FD612"
	WaitsForPause    = "FD613"
	DeployedNowhere  = "FD614"
	SecretInStatus   = "FD701"
	ComparePatch     = "FD702"
	LargeBundle      = "FD703"
	Hazard           = "FD704"
	Unconfirmed      = "FD705"
)

// Attribute is something that the program asks of a code, to treat its findings in another way than others.
type Attribute string

// The attributes.
const (
	// AboutTotals is that a number or a word in the status of an object of Fleet is wrong, missing or old.
	AboutTotals Attribute = "about totals"
	// AboutSpec is that what a bundle, or a release record, states has a problem of its own.
	AboutSpec Attribute = "about spec"
	// AboutFields is that fields of the object may differ.
	AboutFields Attribute = "about fields"
	// AboutOwnership is that the evidence is ownership metadata, which the verb adopt shows.
	AboutOwnership Attribute = "about ownership"
	// SaysNotReady is that Fleet does not report everything as ready and applied.
	SaysNotReady Attribute = "says not ready"
	// QuotesPaths is that the message quotes nothing from the cluster but paths.
	QuotesPaths Attribute = "quotes paths"
	// DatedByField is that the time of the finding is the one at which a field was changed.
	DatedByField Attribute = "dated by field"
	// SameForBundles is that equal findings about objects of several bundles are one for people.
	SameForBundles Attribute = "same for bundles"
)

// attributes are the codes with each attribute.
var attributes = map[Attribute][]string{
	AboutTotals: {DeploymentCounts, BundleSummary, RepoResources, RepoClusters, ClusterCounts, GroupCounts, Truncated,
		Frozen, Contradiction},
	AboutSpec:      {SecretInStatus, ComparePatch, LargeBundle, Hazard, Unconfirmed},
	AboutFields:    {Unowned, Modified},
	AboutOwnership: {Unowned},
	SaysNotReady:   {NotApplied, NotProcessed, ReportedNotReady},
	QuotesPaths:    {Missing, Modified, Orphaned, NotReady, ExpiredJob},
	DatedByField:   {Modified, NotCorrected},
	SameForBundles: {ReportedNotReady},
}

// Is reports whether a code has an attribute.
func Is(code string, a Attribute) bool { return slices.Contains(attributes[a], code) }

// Severity of a finding: error, warning or info.
type Severity string

// Urgency is what a finding says about users of the bundle. It orders what people read.
type Urgency string

// The urgencies, the most urgent one first.
const (
	// Now is that something does not run as desired, is not deployed, or is not known.
	Now Urgency = "now"
	// Later is that a later change will have an effect that nobody expects, or that something is left over.
	Later Urgency = "later"
	// Status is that only a number or a word of Fleet is wrong.
	Status Urgency = "status"
)

// Text is what users read about a code. Its facts are those of docs/fleet-behavior.md.
type Text struct {
	// Name is one word, Title is a sentence.
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
	Urgency  Urgency  `json:"urgency"`
	Title    string   `json:"title"`
	// Explanation describes in a few sentences the meaning, the causes and the remedy.
	Explanation string `json:"explanation"`
	// Evidence says which data the finding is based on.
	Evidence string `json:"evidence"`
	// Remedy says how to proceed, with the effect of each step.
	Remedy string `json:"remedy"`
	// Versions says which versions of Fleet behave so.
	Versions string `json:"versions"`
	// Issues are issues of Fleet, such as "rancher/fleet#5550".
	Issues []string `json:"issues,omitempty"`
	// Sections are sections of docs/fleet-behavior.md.
	Sections []string `json:"sections"`
}

//go:embed *.yaml
var files embed.FS

// TextOf returns the text of a code, such as "FD101". It returns an error for a code without a text.
func TextOf(code string) (Text, error) {
	var out Text
	content, err := files.ReadFile(code + ".yaml")
	if err != nil {
		return out, err
	}
	err = yaml.UnmarshalStrict(content, &out)
	return out, err
}
