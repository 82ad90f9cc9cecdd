// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Schedule limits when Fleet deploys to some Clusters. The controller ignores it unless schedules are switched on.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type Schedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec ScheduleSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status FeatureStatus `json:"status,omitempty"`
}

// Reported implements Object.
func (s *Schedule) Reported() Reported { return Reported{AsOf: newest(s.Status.Conditions)} }

// ScheduleSpec has the fields of a Schedule's spec that are read.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ScheduleSpec struct {
	// +kubebuilder:pruning:PreserveUnknownFields
	Targets ScheduleTargets `json:"targets,omitempty"`
}

// ScheduleTargets select Clusters of the namespace of a Schedule.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ScheduleTargets struct {
	Clusters []ClusterTarget `json:"clusters,omitempty"`
}

// ImageScan lets Fleet write new tags of an image to a Git repository. The controller ignores it unless the scan of
// images is switched on.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type ImageScan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec ImageScanSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status FeatureStatus `json:"status,omitempty"`
}

// Reported implements Object.
func (s *ImageScan) Reported() Reported { return Reported{AsOf: newest(s.Status.Conditions)} }

// ImageScanSpec has the fields of an ImageScan's spec that are read.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ImageScanSpec struct {
	GitRepoName string `json:"gitrepoName,omitempty"`
}

// FeatureStatus has what the controller writes first into the status of a Schedule or an ImageScan.
//
// +kubebuilder:pruning:PreserveUnknownFields
type FeatureStatus struct {
	NextStartTime      string      `json:"nextStartTime,omitempty"`
	LastScanTime       string      `json:"lastScanTime,omitempty"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	Conditions         []Condition `json:"conditions,omitempty"`
}

// Written reports whether the controller has ever processed the object.
func (s *FeatureStatus) Written() bool {
	times := s.NextStartTime != "" || s.LastScanTime != ""
	return times || s.ObservedGeneration > 0 || len(s.Conditions) > 0
}

// ClusterRegistration is what an agent creates to register its cluster. Its other fields are part of a credential.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterRegistration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec ClusterRegistrationSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status ClusterRegistrationStatus `json:"status,omitempty"`
}

// ClusterRegistrationSpec has the fields of a ClusterRegistration's spec that are read.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterRegistrationSpec struct {
	ClientID string `json:"clientID,omitempty"`
}

// ClusterRegistrationStatus is the answer of the controller.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterRegistrationStatus struct {
	// ClusterName is the Cluster in the same namespace for which the agent registers.
	ClusterName string `json:"clusterName,omitempty"`
	Granted     bool   `json:"granted,omitempty"`
}
