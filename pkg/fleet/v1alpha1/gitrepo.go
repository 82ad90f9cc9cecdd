// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
