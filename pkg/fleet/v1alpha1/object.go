// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the fields of Fleet's API that fleetdoctor reads, as Fleet writes them
// (fleet.cattle.io/v1alpha1, 0.10 to main). The CRDs that the tests generate from these types keep unknown fields.
//
// +kubebuilder:object:generate=false
// +groupName=fleet.cattle.io
package v1alpha1

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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

// Object is one of Fleet's own objects.
type Object interface {
	metav1.Object
	// Reported returns the status of the object, in the form that all kinds share.
	Reported() Reported
}

// Reported is the status of an object. A field that the kind does not have is nil or empty.
type Reported struct {
	State  string
	Counts *ResourceCounts
	// Summary counts BundleDeployments.
	Summary *Summary
	// AsOf is when Fleet last wrote the status (RFC 3339), if that is recorded.
	AsOf string
}

// Reported implements Object. A BundleDeployment has no summary.
func (d *BundleDeployment) Reported() Reported {
	return Reported{State: d.Status.Display.State, Counts: d.Status.ResourceCounts, AsOf: newest(d.Status.Conditions)}
}

// Reported implements Object.
func (b *Bundle) Reported() Reported { return b.Status.reported() }

// Reported implements Object.
func (r *GitRepo) Reported() Reported { return r.Status.reported() }

// Reported implements Object.
func (o *HelmOp) Reported() Reported { return o.Status.reported() }

// Reported implements Object. The status of a Cluster is as old as the last heartbeat of its agent.
func (c *Cluster) Reported() Reported {
	return Reported{State: c.Status.Display.State, Counts: &c.Status.ResourceCounts, Summary: &c.Status.Summary,
		AsOf: c.Status.Agent.LastSeen}
}

// Reported implements Object. A ClusterGroup always has counts: Fleet does not write zeros.
func (g *ClusterGroup) Reported() Reported {
	out := g.Status.reported()
	out.Counts = cmp.Or(out.Counts, &ResourceCounts{})
	return out
}

func (s *Status) reported() Reported {
	return Reported{State: s.Display.State, Counts: s.ResourceCounts, Summary: &s.Summary, AsOf: newest(s.Conditions)}
}

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

// Bundle is a set of manifests with its target clusters. BundleContents has its files.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type Bundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec BundleSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status Status `json:"status,omitempty"`

	// Size is the size of its JSON in bytes, if that may be large.
	Size int `json:"-"`
}

// BundleSpec has the fields of a Bundle's spec that are read. The options of the targets are not read.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleSpec struct {
	Paused         bool `json:"paused,omitempty"`
	BundleDeletion `json:",inline"`
	// Targets are the customizations of fleet.yaml, followed by the targets of the GitRepo. Source:
	// docs/fleet-behavior.md, 5.1.
	Targets            []BundleTarget  `json:"targets,omitempty"`
	TargetRestrictions []ClusterTarget `json:"targetRestrictions,omitempty"`
	// RolloutStrategy is nil if the Bundle states none.
	RolloutStrategy *RolloutStrategy `json:"rolloutStrategy,omitempty"`
	// TargetCustomizationMode is FirstMatch or AllMatches. It is empty before Fleet 0.16, which sets a default.
	TargetCustomizationMode string `json:"targetCustomizationMode,omitempty"`
	// ValuesHash is the hash of the Secret with the values of the Bundle; empty without values, and for a HelmOp.
	ValuesHash string `json:"valuesHash,omitempty"`
	// ContentsID names the Secret of the OCI registry that has the contents; empty if the cluster has them.
	ContentsID string `json:"contentsId,omitempty"`
	// Helm is nil if the Bundle states no option of Helm.
	Helm *BundleHelm `json:"helm,omitempty"`
	// HelmOpOptions are set in the Bundle of a HelmOp. Only their presence is read.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	HelmOpOptions json.RawMessage `json:"helmOpOptions,omitempty"`
}

// BundleHelm has the field of a Bundle's Helm options that is read with its targets.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleHelm struct {
	// Version of the chart. It may be a constraint.
	Version string `json:"version,omitempty"`
}

// The modes: the first customization that matches a cluster applies, or every one.
const (
	FirstMatch = "FirstMatch"
	AllMatches = "AllMatches"
)

// BundleDeletion are the fields of a Bundle's spec that decide what its deletion removes. Source:
// docs/fleet-behavior.md, 1.12.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleDeletion struct {
	// TargetNamespace, if set, is the namespace of every object.
	TargetNamespace string `json:"namespace,omitempty"`
	KeepResources   bool   `json:"keepResources,omitempty"`
	DeleteNamespace bool   `json:"deleteNamespace,omitempty"`
}

// RepoDeletion are the same fields of a GitRepo.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RepoDeletion struct {
	TargetNamespace string `json:"targetNamespace,omitempty"`
	KeepResources   bool   `json:"keepResources,omitempty"`
	DeleteNamespace bool   `json:"deleteNamespace,omitempty"`
}

// Deletes returns the Namespace of the management cluster that is deleted with the object; empty if none is deleted.
func (d RepoDeletion) Deletes() string {
	ns := d.TargetNamespace
	switch ns {
	case "default", "fleet-local", "fleet-default", "cattle-fleet-system", "cattle-fleet-clusters-system":
		return ""
	}
	if !d.DeleteNamespace || d.KeepResources || strings.HasPrefix(ns, "kube-") {
		return ""
	}
	return ns
}

// ClusterTarget selects clusters. Its fields combine with AND; without any field, it selects none.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterTarget struct {
	Name                 string                `json:"name,omitempty"`
	ClusterName          string                `json:"clusterName,omitempty"`
	ClusterSelector      *metav1.LabelSelector `json:"clusterSelector,omitempty"`
	ClusterGroup         string                `json:"clusterGroup,omitempty"`
	ClusterGroupSelector *metav1.LabelSelector `json:"clusterGroupSelector,omitempty"`
}

// BundleTarget is one target of a Bundle.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleTarget struct {
	ClusterTarget `json:",inline"`
	// DoNotDeploy excludes the clusters for which the target decides.
	DoNotDeploy bool `json:"doNotDeploy,omitempty"`
}

// BundleNamespaceMapping lets Bundles of its namespace target the Clusters of other namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:pruning:PreserveUnknownFields
type BundleNamespaceMapping struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// BundleSelector selects Bundles, NamespaceSelector selects Namespaces. Without one of them, the mapping has no
	// effect.
	BundleSelector    *metav1.LabelSelector `json:"bundleSelector,omitempty"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// RolloutStrategy limits how many clusters of a Bundle are updated at a time. Source: docs/fleet-behavior.md, 5.7.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RolloutStrategy struct {
	// MaxUnavailable, a number or a percentage, limits the unavailable clusters of the whole Bundle, and of each
	// partition that states no limit.
	MaxUnavailable           *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	MaxUnavailablePartitions *intstr.IntOrString `json:"maxUnavailablePartitions,omitempty"`
	AutoPartitionSize        *intstr.IntOrString `json:"autoPartitionSize,omitempty"`
	AutoPartitionThreshold   *int                `json:"autoPartitionThreshold,omitempty"`
	Partitions               []Partition         `json:"partitions,omitempty"`
}

// Partition selects the clusters that are updated together.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Partition struct {
	ClusterTarget  `json:",inline"`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// GroupVersion is the only version of Fleet's API.
var GroupVersion = schema.GroupVersion{Group: "fleet.cattle.io", Version: "v1alpha1"}

// Kind returns one of Fleet's kinds with its group and version.
func Kind(kind string) schema.GroupVersionKind { return GroupVersion.WithKind(kind) }
