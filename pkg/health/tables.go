// SPDX-License-Identifier: Apache-2.0

package health

import "k8s.io/apimachinery/pkg/runtime/schema"

// Words that rules both set and ask for.
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
// condition type is an error (rule 2). A kind that is listed does not consult
// errorStatusElsewhere: a Deployment's Failed condition means nothing.
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

// errorStatusElsewhere is errorStatus for every kind that is not in it.
var errorStatusElsewhere = map[string]string{
	"Stalled": conditionTrue,
	"Failed":  conditionTrue,
}

// reasonError makes a condition of any type and status an error (rule 2).
const reasonError = "Error"

// falseIsError lists the condition types of rule 3(a), with the state each
// gives the object: False is an error, Unknown is work under way.
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

// trueIsProgress lists the condition types of rule 3(b): True is work under
// way.
var trueIsProgress = map[string]string{
	"Reconciling": "reconciling",
}

// reasonIsState, in place of a state, takes the state from the condition's
// reason, which can leave it empty.
const reasonIsState = ""

// falseIsProgress lists the condition types of rule 3(c): False is work under
// way, Unknown is an error.
var falseIsProgress = map[string]string{
	"Available":           "updating",
	"BootstrapReady":      reasonIsState,
	"Completed":           "activating",
	"InfrastructureReady": reasonIsState,
	"NodeHealthy":         reasonIsState,
	conditionReady:        stateUnavailable,
}

// phaseIsFinal lists the phases of rule 5 that overrule whatever was found
// before them, with their state.
var phaseIsFinal = map[string]string{
	"Bound":     "bound",
	"Succeeded": "succeeded",
}
