// SPDX-License-Identifier: Apache-2.0

package health

import "k8s.io/apimachinery/pkg/runtime/schema"

// Values that the rules both set and read.
const (
	stateActive      = "active"
	stateError       = "error"
	stateUnavailable = "unavailable"

	conditionReady   = "Ready"
	conditionTrue    = "True"
	conditionFalse   = "False"
	conditionUnknown = "Unknown"
)

// errorStatus lists, per exact group, version and kind, the status in which a
// condition type is an error (rule 2). For a kind that is listed,
// defaultErrorStatus does not apply: a Deployment's Failed condition is ignored.
var errorStatus = map[schema.GroupVersionKind]map[string]string{
	{Group: "helm.cattle.io", Version: "v1", Kind: "HelmChart"}: {
		"Failed": conditionTrue,
	},
	{Version: "v1", Kind: "Node"}: {
		"OutOfDisk":          conditionTrue,
		"MemoryPressure":     conditionTrue,
		"DiskPressure":       conditionTrue,
		"NetworkUnavailable": conditionTrue,
	},
	{Group: "apps", Version: "v1", Kind: "Deployment"}: {
		"ReplicaFailure": conditionTrue,
		"Progressing":    conditionFalse,
	},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}: {
		"ReplicaFailure": conditionTrue,
	},
}

// defaultErrorStatus is errorStatus for every kind that is not in it.
var defaultErrorStatus = map[string]string{
	"Stalled": conditionTrue,
	"Failed":  conditionTrue,
}

// reasonError makes a condition of any type and status an error (rule 2).
const reasonError = "Error"

// falseIsError lists the condition types of rule 3(a), with the state of the
// object: False is an error, Unknown is work in progress.
var falseIsError = map[string]string{
	"AbleToScale":                 "pending",
	"Active":                      "activating",
	"AddonDeploy":                 "provisioning",
	"AgentDeployed":               "provisioning",
	"BackingNamespaceCreated":     "configuring",
	"Built":                       "building",
	"CertsGenerated":              "provisioning",
	"ConfigOK":                    "configuring",
	"Created":                     "creating",
	"CreatorMadeOwner":            "configuring",
	"DefaultNamespaceAssigned":    "configuring",
	"DefaultNetworkPolicyCreated": "configuring",
	"DefaultProjectCreated":       "configuring",
	"Deployed":                    "deploying",
	"DockerProvisioned":           "provisioning",
	"Downloaded":                  "downloading",
	"Drained":                     "draining",
	"Inactive":                    "deactivating",
	"InitialRolesPopulated":       "activating",
	"Initialized":                 "initializing",
	"Installed":                   "installing",
	"NodesCreated":                "provisioning",
	"Pending":                     "pending",
	"PodScheduled":                "scheduling",
	"Processed":                   "processed",
	"Provisioned":                 "provisioning",
	"Reconciled":                  "reconciling",
	"Refreshed":                   "refreshed",
	"Registered":                  "registering",
	"Removed":                     "removing",
	"RunCompleted":                "running",
	"Saved":                       "saving",
	"ScalingActive":               "pending",
	"Updated":                     "updating",
	"Updating":                    "updating",
	"Upgraded":                    "upgrading",
	"Waiting":                     "waiting",
	"etcd":                        "provisioning",
}

// trueIsProgress lists the condition types of rule 3(b): True is work in
// progress.
var trueIsProgress = map[string]string{
	"Reconciling": "reconciling",
}

// reasonIsState, in place of a state, means that the condition's reason is the
// state, which can be empty.
const reasonIsState = ""

// falseIsProgress lists the condition types of rule 3(c): False is work in
// progress, Unknown is an error.
var falseIsProgress = map[string]string{
	"Available":           "updating",
	"BootstrapReady":      reasonIsState,
	"Completed":           "activating",
	"InfrastructureReady": reasonIsState,
	"NodeHealthy":         reasonIsState,
	conditionReady:        stateUnavailable,
}

// phaseIsFinal lists the phases of rule 5 that override the result of the
// previous rules, with their state.
var phaseIsFinal = map[string]string{
	"Bound":     "bound",
	"Succeeded": "succeeded",
}
