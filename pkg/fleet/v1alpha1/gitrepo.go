// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GitRepo is a Git repository that Fleet deploys.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=gitrepos
// +kubebuilder:pruning:PreserveUnknownFields
type GitRepo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec GitRepoSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status GitRepoStatus `json:"status,omitempty"`

	// SpecWritten is when the spec was last written; zero if it is not known.
	SpecWritten time.Time `json:"-"`
	// Size is the size of its JSON in bytes.
	Size int `json:"-"`
}

// GitRepoSpec has the fields of a GitRepo's spec that are read.
//
// +kubebuilder:pruning:PreserveUnknownFields
type GitRepoSpec struct {
	// ForceSyncGeneration makes Fleet deploy every bundle of the GitRepo again when it changes.
	ForceSyncGeneration int64  `json:"forceSyncGeneration,omitempty"`
	Repo                string `json:"repo,omitempty"`
	// PollingInterval is a Go duration; 15 seconds if it is empty.
	PollingInterval string `json:"pollingInterval,omitempty"`
	DisablePolling  bool   `json:"disablePolling,omitempty"`
	// Bundles are the directories and options files of which bundles are made; then no directory is searched for them.
	// Only their number is read.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Bundles []json.RawMessage `json:"bundles,omitempty"`
	// Targets select the clusters; without any, those of the ClusterGroup default.
	Targets []ClusterTarget `json:"targets,omitempty"`
	// ServiceAccount replaces that of the fleet.yaml.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	RepoDeletion   `json:",inline"`
	Paused         bool `json:"paused,omitempty"`
}

// GitRepoStatus is the status of a GitRepo. Source: docs/fleet-behavior.md, 4.8.
//
// +kubebuilder:pruning:PreserveUnknownFields
type GitRepoStatus struct {
	Status `json:",inline"`

	// ObservedGeneration is the generation of the spec, UpdateGeneration the forceSyncGeneration, for which the last
	// Job was made.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	UpdateGeneration   int64 `json:"updateGeneration,omitempty"`
	// Commit is the commit that is deployed next.
	Commit string `json:"commit,omitempty"`
	// PollingCommit is the commit that the last poll found. It is empty before Fleet 0.15.1.
	PollingCommit string `json:"pollingCommit,omitempty"`
	// GitJobStatus is the state of the Job of that commit: InProgress, Failed, Current.
	GitJobStatus string `json:"gitJobStatus,omitempty"`
	// LastPollingTriggered is when the repository was polled last. It is empty before Fleet 0.12.
	LastPollingTriggered string `json:"lastPollingTriggered,omitempty"`
}

// specField finds the spec in the fields of a manager.
var specField = regexp.MustCompile(`"f:spec"`)

// SpecWritten returns when the spec was last written, according to managedFields; zero if they do not show it.
func SpecWritten(fields []metav1.ManagedFieldsEntry) time.Time {
	var out time.Time
	for _, f := range fields {
		if f.Subresource != "" || f.Time == nil || f.FieldsV1 == nil {
			continue
		}
		if f.Time.After(out) && specField.Match(f.FieldsV1.GetRawBytes()) {
			out = f.Time.Time
		}
	}
	return out
}
