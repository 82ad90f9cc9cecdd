// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "encoding/json"

// AgentSettings are the fields of a Cluster's spec that decide whether its agent is imported again. The settings that
// the controller hashes are kept as JSON: they may contain credentials and are only hashed.
//
// +kubebuilder:pruning:PreserveUnknownFields
type AgentSettings struct {
	// KubeConfigSecretNamespace is the namespace of the kubeconfig Secret; empty for the namespace of the Cluster.
	KubeConfigSecretNamespace string `json:"kubeConfigSecretNamespace,omitempty"`
	ClientID                  string `json:"clientID,omitempty"`
	// RedeployAgentGeneration causes an import when it changes.
	RedeployAgentGeneration int64  `json:"redeployAgentGeneration,omitempty"`
	PrivateRepoURL          string `json:"privateRepoURL,omitempty"`
	HostNetwork             *bool  `json:"hostNetwork,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AgentEnvVars json.RawMessage `json:"agentEnvVars,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AgentTolerations json.RawMessage `json:"agentTolerations,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AgentAffinity json.RawMessage `json:"agentAffinity,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AgentResources json.RawMessage `json:"agentResources,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AgentSchedulingCustomization json.RawMessage `json:"agentSchedulingCustomization,omitempty"`
}

// AgentRecord is what the controller recorded in the status of a Cluster when it imported the agent.
//
// +kubebuilder:pruning:PreserveUnknownFields
type AgentRecord struct {
	// AgentDeployedGeneration is nil if the agent was never imported.
	AgentDeployedGeneration *int64 `json:"agentDeployedGeneration,omitempty"`
	AgentMigrated           bool   `json:"agentMigrated,omitempty"`
	AgentNamespaceMigrated  bool   `json:"agentNamespaceMigrated,omitempty"`
	CattleNamespaceMigrated bool   `json:"cattleNamespaceMigrated,omitempty"`
	// AgentConfigChanged marks a Cluster that the controller is about to import again.
	AgentConfigChanged bool `json:"agentConfigChanged,omitempty"`

	APIServerURL    string `json:"apiServerURL,omitempty"`
	APIServerCAHash string `json:"apiServerCAHash,omitempty"`
	AgentTLSMode    string `json:"agentTLSMode,omitempty"`
	// GarbageCollectionInterval is a duration ("15m"); nil if the controller did not record it.
	GarbageCollectionInterval *string `json:"garbageCollectionInterval,omitempty"`

	AgentEnvVarsHash                 string `json:"agentEnvVarsHash,omitempty"`
	AgentAffinityHash                string `json:"agentAffinityHash,omitempty"`
	AgentResourcesHash               string `json:"agentResourcesHash,omitempty"`
	AgentTolerationsHash             string `json:"agentTolerationsHash,omitempty"`
	AgentSchedulingCustomizationHash string `json:"agentSchedulingCustomizationHash,omitempty"`
	AgentPrivateRepoURL              string `json:"agentPrivateRepoURL,omitempty"`
	AgentHostNetwork                 bool   `json:"agentHostNetwork,omitempty"`

	Conditions []Condition `json:"conditions,omitempty"`
}

// LastChange is the newest time that is recorded in the conditions of a Cluster; empty without a recorded time.
func (r *AgentRecord) LastChange() string { return newest(r.Conditions) }
