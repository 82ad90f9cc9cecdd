// SPDX-License-Identifier: Apache-2.0

// Package report defines the documents that the commands print. They are a versioned API: fields are added, never
// renamed. A report is a copy of the result of an evaluation and its findings, with secrets hidden. Only printers read
// it.
package report

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// The version and kind of the document.
const (
	APIVersion = "fleetdoctor.io/v1alpha1"
	Kind       = "AuditReport"
)

// Tool is the program that made the report.
type Tool struct {
	Version string `json:"version"`
}

// Head is the beginning of a document.
type Head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is when the data was taken (RFC 3339).
	TakenAt string `json:"takenAt,omitempty"`
	Tool    Tool   `json:"tool"`
	Source  Source `json:"source"`
}

// Source is the source of the data.
type Source struct {
	Kind              string `json:"kind"` // cluster, snapshot or metrics (of the auditors on the clusters)
	Context           string `json:"context,omitempty"`
	Server            string `json:"server,omitempty"`
	Path              string `json:"path,omitempty"` // only for a snapshot; several paths are joined with ", "
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// ClusterUID is the uid of the Namespace kube-system, which identifies the cluster. It is absent if this Namespace
	// was not read.
	ClusterUID    string         `json:"clusterUID,omitempty"`
	FleetVersions *FleetVersions `json:"fleetVersions,omitempty"`
	// Clusters are the clusters that were read in addition.
	Clusters []ClusterSource `json:"clusters,omitempty"`
}

// ClusterSource is the source of the data of one cluster.
type ClusterSource struct {
	Name string `json:"name"` // as the user gives it, or "namespace/name" of its Cluster
	// Cluster is "namespace/name" of the Cluster that the cluster is; empty if its agent does not show it.
	Cluster           string `json:"cluster,omitempty"`
	Kind              string `json:"kind"` // cluster, snapshot or metrics
	Context           string `json:"context,omitempty"`
	Server            string `json:"server,omitempty"`
	Path              string `json:"path,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// TakenAt is when the data of the cluster was taken, or its auditor evaluated it (RFC 3339).
	TakenAt string `json:"takenAt,omitempty"`
}

// FleetVersions are the image tags of Fleet's workloads that could be read.
type FleetVersions struct {
	Controller string `json:"controller,omitempty"`
	// by cluster ("namespace/name"), or by agent namespace if the cluster is not known
	Agents map[string]string `json:"agents,omitempty"`
}

// Scope is the requested scope; empty lists mean everything.
type Scope struct {
	Namespaces []string `json:"namespaces,omitempty"`
	Selectors  []string `json:"selectors,omitempty"`
	Targets    []string `json:"targets,omitempty"`
}

// Reported is Fleet's status. Its missing objects include those that this report calls unowned. A number that Fleet
// does not report is nil.
type Reported struct {
	State        string `json:"state,omitempty"`
	DesiredReady *int   `json:"desiredReady,omitempty"`
	Ready        *int   `json:"ready,omitempty"`
	Missing      *int   `json:"missing,omitempty"`
	Modified     *int   `json:"modified,omitempty"`
	NotReady     *int   `json:"notReady,omitempty"`
	Orphaned     *int   `json:"orphaned,omitempty"`
	// BundleDeployments and ReadyBundleDeployments are the summary of an aggregate.
	BundleDeployments      *int `json:"bundleDeployments,omitempty"`
	ReadyBundleDeployments *int `json:"readyBundleDeployments,omitempty"`
	// AsOf is when Fleet last wrote the status (RFC 3339), if that is recorded.
	AsOf string `json:"asOf,omitempty"`
	// Stale is true if the agent of the cluster has stopped reporting (FD502): the status is old.
	Stale bool `json:"stale,omitempty"`
}

// State is the state of a resource or of a BundleDeployment.
type State string

// The states. A resource that is desired has the first state that applies, in the order Unknown, Missing, Unowned,
// Modified, NotReady, Ready. A BundleDeployment may also be OutOfSync, WaitApplied or ErrApplied.
const (
	Unknown     State = "Unknown"
	Missing     State = "Missing"
	Unowned     State = "Unowned"
	Modified    State = "Modified"
	NotReady    State = "NotReady"
	Ready       State = "Ready"
	Orphaned    State = "Orphaned"
	OutOfSync   State = "OutOfSync"
	WaitApplied State = "WaitApplied"
	ErrApplied  State = "ErrApplied"
)

// Resource is one desired object, or an orphaned one.
type Resource struct {
	object.Ref `text:"name"`
	State      State `json:"state" text:"keep"`
	// Reason is the reason of the states Unowned and Unknown, a word of the catalogue.
	Reason string `json:"reason,omitempty" text:"keep"`
	// Message is a sentence: the condition that is not met, or why a read failed.
	Message     string       `json:"message,omitempty" text:"redact"`
	Owner       *Owner       `json:"owner,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
}

// The types of the result that a report has too.
type (
	// Counts count the objects of a bundle.
	Counts = evaluate.Counts
	// Owner is the present owner of an object.
	Owner = evaluate.Owner
	// Difference is one field that differs.
	Difference = evaluate.Difference
	// Value is a value in a difference.
	Value = evaluate.Value
	// Step is one step of a path.
	Step = evaluate.Step
	// Remedy is one way to proceed.
	Remedy = remedy.Remedy
)

// Severity of a finding.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Compare puts the more severe one first. The empty one is the last.
func (s Severity) Compare(o Severity) int {
	order := []Severity{Error, Warning, Info, ""}
	return slices.Index(order, s) - slices.Index(order, o)
}

// Gap is something that could not be read, and the effect on the report.
type Gap struct {
	// Cluster is the name of the cluster that could not be read; empty for the source itself.
	Cluster string `json:"cluster,omitempty" text:"keep"`
	What    string `json:"what" text:"redact"`
	// Reason is a word, such as a reason of the state Unknown, or a sentence.
	Reason string `json:"reason" text:"redact"`
	// Detail is the message of the server or the library, if there is one.
	Detail string `json:"detail,omitempty" text:"redact"`
	Effect string `json:"effect" text:"redact"`
	// Optional is true if no result of this report needs the data. A report with other gaps is not complete: without
	// findings, the exit status is 3.
	Optional bool `json:"optional,omitempty"`
}

// Why returns the reason with its detail.
func (g Gap) Why() string { return source.Gap{Reason: g.Reason, Detail: g.Detail}.Why() }

// KindVersion is the kind of a Version.
const KindVersion = "VersionReport"

// Version reports the version of this program, and the versions on a cluster.
type Version struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Client     ClientVersion `json:"clientVersion"`
	// Source is the cluster or the snapshot, with the versions of Kubernetes and Fleet; absent if none was read.
	Source *Source `json:"source,omitempty"`
	Gaps   []Gap   `json:"gaps"`
}

// ClientVersion is the version of this program.
type ClientVersion struct {
	Version string `json:"version"`
	// GitCommit is the commit that it was built from, absent if the build does not record it.
	GitCommit string `json:"gitCommit,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"` // operating system/architecture
}

// KindExplanation is the kind of an Explanation.
const KindExplanation = "Explanation"

// Explanation explains words that the documents use.
type Explanation struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Tool       Tool    `json:"tool"`
	Topics     []Topic `json:"topics"`
}

// TopicKind says what a word is.
type TopicKind string

// The kinds of topics.
const (
	TopicFinding   TopicKind = "Finding"
	TopicState     TopicKind = "State"     // of an object or a bundle deployment
	TopicReason    TopicKind = "Reason"    // of the states Unowned and Unknown
	TopicCause     TopicKind = "Cause"     // of a wrong number in a status
	TopicStep      TopicKind = "Step"      // of the verb why
	TopicRule      TopicKind = "Rule"      // of the verb preflight
	TopicSituation TopicKind = "Situation" // of the verb adopt
)

// Topic is one word with its explanation.
type Topic struct {
	Kind TopicKind `json:"kind" jsonschema:"enum=Finding,enum=State,enum=Reason,enum=Cause,enum=Step,enum=Rule,enum=Situation"`
	// Name is the word, for a finding its code. Title is the name of a finding, such as Missing.
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	// Severity is that of a finding, or of a rule of preflight.
	Severity Severity `json:"severity,omitempty"`
	// What is the meaning, Why the causes and the effects.
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	// Evidence says on which data it is based, Remedy how to proceed.
	Evidence string `json:"evidence,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
	// Versions says which versions of Fleet behave so. Issues are addresses of issues of Fleet.
	Versions string   `json:"versions,omitempty"`
	Issues   []string `json:"issues,omitempty"`
	// Sections are sections of docs/fleet-behavior.md. URL is the address of the documentation of the word.
	Sections []string `json:"sections,omitempty"`
	URL      string   `json:"url"`
}

// NewExplanation returns the document about topics.
func NewExplanation(topics []Topic, version string) *Explanation {
	return &Explanation{APIVersion: APIVersion, Kind: KindExplanation, Tool: Tool{Version: version}, Topics: topics}
}
