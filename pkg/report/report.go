// SPDX-License-Identifier: Apache-2.0

// Package report defines the documents that the commands print. They are a versioned API: fields are added, never renamed. A report is a copy of
// the result of an evaluation and its findings, with secrets hidden. Only printers read it.
package report

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// The version and kind of the document.
const (
	APIVersion = "fleetdoctor.io/v1alpha1"
	Kind       = "AuditReport"
)

// Audit is the whole report.
type Audit struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is when the data was taken, not when it was printed (RFC 3339). For a snapshot, it is the newest time in it.
	TakenAt string  `json:"takenAt,omitempty"`
	Tool    Tool    `json:"tool"`
	Source  Source  `json:"source"`
	Scope   Scope   `json:"scope"`
	Summary Summary `json:"summary"`
	// Filter is set if the user selected findings by severity or by code. The report then has only these findings.
	Filter *Filter `json:"filter,omitempty"`

	// The objects above the BundleDeployments: those in scope, and those that have a BundleDeployment in scope.
	GitRepos      []Aggregate `json:"gitRepos,omitempty"`
	HelmOps       []Aggregate `json:"helmOps,omitempty"`
	Bundles       []Aggregate `json:"bundles,omitempty"`
	Clusters      []Aggregate `json:"clusters,omitempty"`
	ClusterGroups []Aggregate `json:"clusterGroups,omitempty"`

	BundleDeployments []BundleDeployment `json:"bundleDeployments"`
	Findings          []Finding          `json:"findings"`
	Gaps              []Gap              `json:"gaps"`
	// Ignored are the findings that the ignore file excludes. They are not among the findings and their totals.
	Ignored []Ignored `json:"ignored,omitempty"`
	// IgnoreFile is the name of the ignore file, if it excludes a finding. The default is .fleetdoctor.yaml in the current directory.
	IgnoreFile string `json:"ignoreFile,omitempty"`
	// Notes are information for the reader that is neither a finding nor a gap.
	Notes []string `json:"notes,omitempty"`
}

// Tool is the program that made the report.
type Tool struct {
	Version string `json:"version"`
}

// Source is the source of the data.
type Source struct {
	Kind              string `json:"kind"` // cluster or snapshot
	Context           string `json:"context,omitempty"`
	Server            string `json:"server,omitempty"`
	Path              string `json:"path,omitempty"` // only for a snapshot; several paths are joined with ", "
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// ClusterUID is the uid of the Namespace kube-system, which identifies the cluster. It is absent if this Namespace was not read.
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
	Kind              string `json:"kind"` // cluster or snapshot
	Context           string `json:"context,omitempty"`
	Server            string `json:"server,omitempty"`
	Path              string `json:"path,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// TakenAt is when the data of the cluster was taken (RFC 3339).
	TakenAt string `json:"takenAt,omitempty"`
}

// FleetVersions are the image tags of Fleet's workloads that could be read.
type FleetVersions struct {
	Controller string            `json:"controller,omitempty"`
	Agents     map[string]string `json:"agents,omitempty"` // by cluster ("namespace/name"), or by agent namespace if the cluster is not known
}

// Scope is the requested scope; empty lists mean everything.
type Scope struct {
	Namespaces []string `json:"namespaces,omitempty"`
	Selectors  []string `json:"selectors,omitempty"`
	Targets    []string `json:"targets,omitempty"`
}

// Summary has the totals of the report.
type Summary struct {
	BundleDeployments int    `json:"bundleDeployments"`
	Counts            Counts `json:"counts"`
	// Findings counts the findings that the report has. Filter counts those that it leaves out.
	Findings FindingCounts `json:"findings"`
	// Ignored is the number of findings that the ignore file excludes.
	Ignored int `json:"ignored,omitempty"`
	// Baseline is the number of findings that the report of --baseline has, too, and that this report does not list. It is absent without a baseline.
	Baseline *int `json:"baseline,omitempty"`
}

// FindingCounts counts findings by severity.
type FindingCounts struct {
	Error   int `json:"error"`
	Warning int `json:"warning"`
	Info    int `json:"info"`
}

// Counts count the objects of a bundle by their actual state:
// Desired = Ready + Missing + Unowned + Modified + NotReady + Unknown. Orphaned objects are not included in Desired.
type Counts struct {
	Desired  int `json:"desired"`
	Ready    int `json:"ready"`
	Missing  int `json:"missing"`
	Unowned  int `json:"unowned"`
	Modified int `json:"modified"`
	NotReady int `json:"notReady"`
	Orphaned int `json:"orphaned"`
	Unknown  int `json:"unknown"`
}

// Plus returns the field-wise sum.
func (c Counts) Plus(o Counts) Counts { return Counts(evaluate.Counts(c).Plus(evaluate.Counts(o))) }

// Reported is Fleet's status. Its missing objects include those that this report calls unowned. A number that Fleet does not report is nil.
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

// Aggregate is one object above the BundleDeployments, with its totals.
type Aggregate struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// OutOfScope is true if the scope does not include the object: it is here because one of its BundleDeployments is in
	// scope.
	OutOfScope bool `json:"outOfScope,omitempty"`
	// Actual are the actual totals. They are absent unless all of its BundleDeployments are in scope and their objects
	// were read.
	Actual *Actual `json:"actual,omitempty"`
	// Statuses are the totals of the statuses of all its BundleDeployments, in scope or not, as old as the oldest of them.
	// They are absent unless all of these were read. The numbers of objects are absent if one of the statuses has none.
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

// BundleDeployment is one bundle on one cluster. If only its release is known (on a downstream cluster), the name is the bundle id and the
// namespace is empty.
type BundleDeployment struct {
	Namespace   string     `json:"namespace"`
	Name        string     `json:"name"`
	Cluster     string     `json:"cluster,omitempty"` // "namespace/name"
	Bundle      string     `json:"bundle,omitempty"`  // "namespace/name"
	GitRepo     string     `json:"gitRepo,omitempty"` // "namespace/name"
	HelmOp      string     `json:"helmOp,omitempty"`  // "namespace/name"
	Release     string     `json:"release,omitempty"` // "namespace/name:revision"
	SetID       string     `json:"setID,omitempty"`
	Hash        string     `json:"hash,omitempty"`
	DesiredFrom string     `json:"desiredFrom,omitempty"`
	State       State      `json:"state"`            // the actual state
	Reason      string     `json:"reason,omitempty"` // of the state Unknown
	Counts      Counts     `json:"counts"`           // the actual counts
	Reported    *Reported  `json:"reported,omitempty"`
	Resources   []Resource `json:"resources"`
}

// Key is "namespace/name", or the name of a bundle deployment without a namespace.
func (bd *BundleDeployment) Key() string { return strings.TrimPrefix(bd.Namespace+"/"+bd.Name, "/") }

// State is the state of a resource or of a BundleDeployment.
type State string

// The states. A resource that is desired has the first state that applies, in the order Unknown, Missing, Unowned, Modified, NotReady, Ready.
// A BundleDeployment may also be OutOfSync, WaitApplied or ErrApplied.
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
	object.Ref
	State State `json:"state"`
	// Reason is the reason of the states Unowned and Unknown, a word of the catalogue.
	Reason string `json:"reason,omitempty"`
	// Message is a sentence: the condition that is not met, or why a read failed.
	Message     string       `json:"message,omitempty"`
	Owner       *Owner       `json:"owner,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
}

// Owner is the present owner of an object, if it is not the bundle.
type Owner struct {
	SetID   string `json:"setID,omitempty"`
	Hash    string `json:"hash,omitempty"`
	Release string `json:"release,omitempty"` // "namespace/name"
	// BundleDeployment is "namespace/name" of the one on this cluster that the ownership metadata names; empty if no bundle here has that set.
	BundleDeployment string `json:"bundleDeployment,omitempty"`
}

// Value is a value in a difference.
type Value = evaluate.Value

// Step is one step of a path.
type Step = evaluate.Step

// Difference is one field that differs. Manager, operation and time are set if the object's managedFields record them.
type Difference struct {
	Path string `json:"path"`
	// Steps are the steps of the path, for layouts. A report that was read from a file has none.
	// Pointer does not follow from them: it has positions in the live list, and is checked with the other rules of the bundle.
	Steps       []Step `json:"-"`
	Desired     Value  `json:"desired,omitzero"` // absent if the bundle does not state the field
	Live        Value  `json:"live,omitzero"`    // absent if the live object does not have the field
	Release     Value  `json:"release,omitzero"` // the value in the release record, if the bundle was rendered and states another one
	Manager     string `json:"manager,omitempty"`
	Operation   string `json:"operation,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Time        string `json:"time,omitempty"`
	// AtAdmission is true if no manager is recorded for this value, although managers are recorded for others: an admission webhook or the API
	// server set it.
	AtAdmission bool `json:"atAdmission,omitempty"`
	// Pointer is the JSON pointer with which diff.comparePatches ignores exactly this field on this cluster. It is absent if none does.
	Pointer string `json:"pointer,omitempty"`
	// Note qualifies the difference: a different order, or the result of the server's dry run.
	Note string `json:"note,omitempty"`
}

// Who describes the writer of the live value and the time, if they are recorded.
func (d Difference) Who() string {
	return evaluate.Difference(d).Who()
}

// Severity of a finding.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Remedy is one way to proceed after a finding, or an item of a preflight. It has a text, a command, or both.
type Remedy struct {
	// Text is a sentence: what to do if there is no command, otherwise the effect of the command.
	Text string `json:"text,omitempty"`
	// Command is a command line for a shell. It does not depend on how the program was called. A command of kubectl or
	// Helm for a snapshot has a placeholder for the context of the captured cluster, which a shell refuses, if
	// --context did not name the context.
	Command string `json:"command,omitempty"`
	// URL is the address of a page that explains the finding, or the rule of the item.
	URL string `json:"url,omitempty"`
}

// Finding is one problem, or one piece of information.
type Finding struct {
	// ID identifies the finding in every report of the same cluster: it depends on the code, the object, the bundle deployment and the cluster, and on
	// what the check examines. Other findings and the words of a message do not change it.
	ID       string     `json:"id"`
	Code     string     `json:"code"`
	Severity Severity   `json:"severity"`
	Title    string     `json:"title"`
	Object   object.Ref `json:"object"`
	// Aspect distinguishes the finding from others of the same code about the same object, such as a number or a condition.
	Aspect  string `json:"aspect,omitempty"`
	Cluster string `json:"cluster,omitempty"` // "namespace/name"
	// Clusters are all clusters with the same finding about the same object of the same bundle, if there are several. Cluster is the first of them.
	Clusters []string `json:"clusters,omitempty"`
	// IDs are the identities of the finding on each of Clusters, in the same order. ID is the first of them: if the finding is fixed on the first
	// cluster, ID becomes that of another one. Compare IDs to find out on which clusters a finding is new or fixed.
	IDs []string `json:"ids,omitempty"`
	// PerCluster has what differs between Clusters, in the same order. BundleDeployment, Evidence, Remedies and
	// Remediation are those of the first one.
	PerCluster []ClusterFinding `json:"perCluster,omitempty"`
	// BundleDeployment is "namespace/name" of the bundle deployment that the finding is about; empty if it is about none.
	BundleDeployment string `json:"bundleDeployment,omitempty"`
	// Bundle, GitRepo and HelmOp are those of the bundle deployment, or the object itself ("namespace/name"), if they are known.
	Bundle   string   `json:"bundle,omitempty"`
	GitRepo  string   `json:"gitRepo,omitempty"`
	HelmOp   string   `json:"helmOp,omitempty"`
	Message  string   `json:"message"`
	Evidence []string `json:"evidence,omitempty"`
	// Remedies are ways to proceed, the safest one first. Remediation is the first of them as one text: its command, or its sentence.
	Remedies    []Remedy `json:"remedies,omitempty"`
	Remediation string   `json:"remediation,omitempty"`
	AsOf        string   `json:"asOf,omitempty"`
	// Cause is why a number that Fleet reports is wrong, for findings about numbers (FD201 to FD206).
	Cause Cause `json:"cause,omitempty" jsonschema:"enum=Lag,enum=StaleAgent,enum=Paused,enum=OffSchedule,enum=PendingRollout,enum=Truncated,enum=StickyIncompleteState,enum=LeftoverLastApplied,enum=KnownBug,enum=Unexplained"`
}

// ClusterFinding is the part of a finding on several clusters that is of one cluster.
type ClusterFinding struct {
	Cluster          string   `json:"cluster"` // "namespace/name"
	ID               string   `json:"id"`
	BundleDeployment string   `json:"bundleDeployment"` // "namespace/name"
	Evidence         []string `json:"evidence,omitempty"`
	Remedies         []Remedy `json:"remedies,omitempty"`
}

// Cause is why a number in a status of Fleet is not the recomputed one. docs/output.md describes the causes.
type Cause = facts.Cause

// Gap is something that could not be read, and the effect on the report.
type Gap struct {
	// Cluster is the name of the cluster that could not be read; empty for the source itself.
	Cluster string `json:"cluster,omitempty"`
	What    string `json:"what"`
	// Reason is a word, such as a reason of the state Unknown, or a sentence.
	Reason string `json:"reason"`
	// Detail is the message of the server or the library, if there is one.
	Detail string `json:"detail,omitempty"`
	Effect string `json:"effect"`
	// Optional is true if no result of this report needs the data. A report with other gaps is not complete: without
	// findings, the exit status is 3.
	Optional bool `json:"optional,omitempty"`
}

// Why returns the reason with its detail.
func (g Gap) Why() string { return source.Gap{Reason: g.Reason, Detail: g.Detail}.Why() }
