// SPDX-License-Identifier: Apache-2.0

package installation

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"

// StatusKind is the kind of the printed document.
const StatusKind = "AuditorStatus"

// Status is the document that `auditor status` prints. Its checks are installed, deployment, metrics, leader, synced,
// evaluation, coverage, version, rights and manifests.
type Status struct {
	install.Status `json:",inline"`
	// Leader is the holder of the Lease, absent if nobody holds it or if it is unknown.
	Leader string `json:"leader,omitempty"`
	// Replicas are the running pods, ordered by name.
	Replicas []Replica `json:"replicas"`
}

// Replica is what the metrics of one pod say.
type Replica struct {
	Pod string `json:"pod"`
	// Reason is why its metrics could not be read. All other fields are absent then.
	Reason string `json:"reason,omitempty"`
	// Version is the version of the program.
	Version string `json:"version,omitempty"`
	// Leader reports whether it writes.
	Leader *bool `json:"leader,omitempty"`
	// Synced reports whether it has read everything once.
	Synced *bool `json:"synced,omitempty"`
	// LastEvaluation is the time of its last evaluation (RFC 3339).
	LastEvaluation string `json:"lastEvaluation,omitempty"`
	// Gaps is the number of parts of the cluster that it could not read.
	Gaps *int `json:"gaps,omitempty"`
}
