// SPDX-License-Identifier: Apache-2.0

// Package report defines the documents that the commands print. They are a versioned API: fields are added, never
// renamed. A report is a copy of the result of an evaluation and its findings, with secrets hidden. Only printers read
// it.
package report

import (
	"slices"

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

// Source is the source of the data.
type Source struct {
	Kind              string `json:"kind"` // cluster or snapshot
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

// Owner is the present owner of an object, if it is not the bundle.
type Owner struct {
	SetID   string `json:"setID,omitempty" text:"name"`
	Hash    string `json:"hash,omitempty" text:"keep"`
	Release string `json:"release,omitempty" text:"name"` // "namespace/name"
	// BundleDeployment is "namespace/name" of the one on this cluster that the ownership metadata names; empty if no
	// bundle here has that set.
	BundleDeployment string `json:"bundleDeployment,omitempty" text:"name"`
}

// Value is a value in a difference.
type Value = evaluate.Value

// Step is one step of a path.
type Step = evaluate.Step

// Difference is one field that differs. Manager, operation and time are set if the object's managedFields record them.
type Difference struct {
	Path string `json:"path" text:"path"`
	// Steps are the steps of the path, for layouts. A report that was read from a file has none. Pointer does not
	// follow from them: it has positions in the live list, and is checked with the other rules of the bundle.
	Steps   []Step `json:"-" text:"redact"`
	Desired Value  `json:"desired,omitzero" text:"redact"` // absent if the bundle does not state the field
	Live    Value  `json:"live,omitzero" text:"redact"`    // absent if the live object does not have the field
	// the value in the release record, if the bundle was rendered and states another one
	Release     Value  `json:"release,omitzero" text:"redact"`
	Manager     string `json:"manager,omitempty" text:"redact"`
	Operation   string `json:"operation,omitempty" text:"keep"`
	Subresource string `json:"subresource,omitempty" text:"keep"`
	Time        string `json:"time,omitempty" text:"word"`
	// AtAdmission is true if no manager is recorded for this value, although managers are recorded for others: an
	// admission webhook or the API server set it.
	AtAdmission bool `json:"atAdmission,omitempty"`
	// Pointer is the JSON pointer with which diff.comparePatches ignores exactly this field on this cluster. It is
	// absent if none does.
	Pointer string `json:"pointer,omitempty" text:"pointer"`
	// Note qualifies the difference: a different order, or the result of the server's dry run.
	Note string `json:"note,omitempty" text:"redact"`
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

// Compare puts the more severe one first. The empty one is the last.
func (s Severity) Compare(o Severity) int {
	order := []Severity{Error, Warning, Info, ""}
	return slices.Index(order, s) - slices.Index(order, o)
}

// Remedy is one way to proceed after a finding, or an item of a preflight. It has a text, a command, or both.
type Remedy struct {
	// Text is a sentence: what to do if there is no command, otherwise the effect of the command.
	Text string `json:"text,omitempty" text:"redact"`
	// Command is a command line for a shell. It does not depend on how the program was called. A command of kubectl or
	// Helm for a snapshot has a placeholder for the context of the captured cluster, which a shell refuses, if
	// --context did not name the context.
	Command string `json:"command,omitempty" text:"redact"`
	// URL is the address of a page that explains the finding, or the rule of the item.
	URL string `json:"url,omitempty" text:"keep"`
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

// follow removes the pointer to a field with a hidden value in its path: it would not lead to the field.
func (d *Difference) follow(before any) {
	if old, ok := before.(*Difference); ok && old.Path != d.Path {
		d.Pointer = ""
	}
}

// follow removes a command with a hidden value: a shell would not run it as it was meant.
func (r *Remedy) follow(before any) {
	if old, ok := before.(*Remedy); ok && old.Command != r.Command {
		r.Command, r.Text = "", r.Text+" (the command has a value of a Secret, and is not shown)"
	}
}
