// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Status has the fields that the statuses of Bundle, GitRepo, HelmOp and ClusterGroup share.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Status struct {
	Summary Summary `json:"summary,omitempty"`
	Display Display `json:"display,omitempty"`
	// ResourceCounts is nil if Fleet has never written it. A Bundle has none.
	ResourceCounts *ResourceCounts `json:"resourceCounts,omitempty"`
	Conditions     []Condition     `json:"conditions,omitempty"`
	// ObservedGeneration is the generation of the spec from which the status was computed. A ClusterGroup has none.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ResourcesSHA256Sum is, in a Bundle whose contents are a Content, the checksum of the manifest document.
	ResourcesSHA256Sum string `json:"resourcesSha256Sum,omitempty"`

	// The following fields are those of a GitRepo or HelmOp: the clusters of its BundleDeployments.
	DesiredReadyClusters *int `json:"desiredReadyClusters,omitempty"`
	ReadyClusters        int  `json:"readyClusters,omitempty"`
	// PerCluster are the object counts of each cluster ("namespace/name"), from Fleet 0.12 on.
	PerCluster map[string]ResourceCounts `json:"perClusterResourceCounts,omitempty"`
	// Resources are the objects on all clusters.
	Resources []RepoResource `json:"resources,omitempty"`
}

// Summary counts BundleDeployments by state.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Summary struct {
	Ready        int `json:"ready,omitempty"`
	DesiredReady int `json:"desiredReady,omitempty"`
	NotReady     int `json:"notReady,omitempty"`
	WaitApplied  int `json:"waitApplied,omitempty"`
	ErrApplied   int `json:"errApplied,omitempty"`
	OutOfSync    int `json:"outOfSync,omitempty"`
	Modified     int `json:"modified,omitempty"`
	// Pending counts the targets of a Bundle without a BundleDeployment.
	Pending           int                `json:"pending,omitempty"`
	NonReadyResources []NonReadyResource `json:"nonReadyResources,omitempty"`
}

// Sum returns the number of BundleDeployments in all states. Fleet newer than this program can have other states.
func (s *Summary) Sum() int {
	return s.Ready + s.NotReady + s.WaitApplied + s.ErrApplied + s.OutOfSync + s.Modified + s.Pending
}

// NonReadyResource is one of the first ten BundleDeployments that are not ready.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NonReadyResource struct {
	Name           string           `json:"name,omitempty"`
	State          string           `json:"bundleState,omitempty"`
	ModifiedStatus []ModifiedStatus `json:"modifiedStatus,omitempty"`
}

// RepoResource is one object of a GitRepo or HelmOp, on all clusters.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RepoResource struct {
	State string `json:"state,omitempty"`
}

// Display has the columns of kubectl get.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Display struct {
	State string `json:"state,omitempty"`
}

// Condition is a condition of one of Fleet's own objects. Its time is a string.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Condition struct {
	Type           string `json:"type,omitempty"`
	Status         string `json:"status,omitempty"`
	LastUpdateTime string `json:"lastUpdateTime,omitempty"`
	Reason         string `json:"reason,omitempty"`
	// Message may quote values of Secrets.
	Message string `json:"message,omitempty"`
}

// newest returns the newest time among conditions, empty if none has a time. RFC 3339 in UTC sorts as text.
func newest(conditions []Condition) string {
	out := ""
	for _, c := range conditions {
		out = max(out, c.LastUpdateTime)
	}
	return out
}

// ResourceCounts are the agent's counts of objects.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ResourceCounts struct {
	DesiredReady int `json:"desiredReady,omitempty"`
	Ready        int `json:"ready,omitempty"`
	WaitApplied  int `json:"waitApplied,omitempty"`
	Modified     int `json:"modified,omitempty"`
	Orphaned     int `json:"orphaned,omitempty"`
	Missing      int `json:"missing,omitempty"`
	Unknown      int `json:"unknown,omitempty"`
	NotReady     int `json:"notReady,omitempty"`
}

// Plus returns the field-wise sum.
func (c ResourceCounts) Plus(o ResourceCounts) ResourceCounts {
	return ResourceCounts{
		DesiredReady: c.DesiredReady + o.DesiredReady, Ready: c.Ready + o.Ready, WaitApplied: c.WaitApplied +
			o.WaitApplied,
		Modified: c.Modified + o.Modified, Orphaned: c.Orphaned + o.Orphaned, Missing: c.Missing + o.Missing,
		Unknown:  c.Unknown + o.Unknown,
		NotReady: c.NotReady + o.NotReady,
	}
}

// ModifiedStatus is an object that the agent reports as modified, missing or extra. Patch has the desired values, also
// those of a Secret.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ModifiedStatus struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	Patch      string `json:"patch,omitempty"`
	// Missing is true if the agent does not own a live object with that name; Exist if there is one that it does not
	// own.
	Missing bool `json:"missing,omitempty"`
	Exist   bool `json:"exist,omitempty"`
	// Delete is true if the object is no longer desired.
	Delete bool `json:"delete,omitempty"`
}

// Key identifies the object.
func (m *ModifiedStatus) Key() ObjectKey {
	return ObjectKey{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
}

// ObjectKey identifies an object in the lists of a status. Objects in two versions of a kind have two keys.
type ObjectKey struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}
