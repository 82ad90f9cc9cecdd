// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// schema is what is known about the fields of an object.
type schema int

const (
	unknownFields     schema = iota // a custom resource or other JSON: a field may have any value
	statusFields                    // the status of a custom resource, which has conditions and phases
	kubernetesFields                // an object of Kubernetes: its numbers have a meaning, and a type
	fleetStatusFields               // the status of an object of Fleet
	fleetFields                     // an object of Fleet, which may have a payload
)

const fleetGroup = "fleet.cattle.io"

func schemaOf(apiVersion string) schema {
	switch group := object.Group(apiVersion); {
	case group == fleetGroup:
		return fleetFields
	case apiVersion != "" && !strings.Contains(group, "."), strings.HasSuffix(group, ".k8s.io"):
		return kubernetesFields
	}
	return unknownFields
}

// status is the schema of the status of an object.
func (s schema) status() schema {
	if s == fleetFields {
		return fleetStatusFields
	}
	return max(s, statusFields)
}

// nameKeys are the fields that identify objects. They are not masked, because a masked reference would name nothing.
var nameKeys = map[string]bool{"apiVersion": true, "kind": true, "namespace": true, "name": true, "generateName": true,
	"uid": true, "resourceVersion": true}

// referenceKeys are the fields in which Fleet identifies deployments, releases and contents.
var referenceKeys = map[string]bool{"deploymentID": true, "appliedDeploymentID": true, "stagedDeploymentID": true,
	"release": true, "commit": true, "valuesHash": true, "sha256sum": true, "resourcesSha256Sum": true}

// stateKeys are the fields with states, of which programs know the words.
var stateKeys = map[string]bool{"type": true, "status": true, "phase": true, "state": true, "bundleState": true,
	"reason": true, "operation": true}

// countKeys are the fields with numbers that the API server counts for every object.
var countKeys = map[string]bool{"generation": true, "observedGeneration": true, "deletionGracePeriodSeconds": true}

// notInNames are characters that no name has. A field with one of them may quote an error with the value of a Secret.
const notInNames = " \t\r\n\"'`=@{}<>"

// labelKeys are the fields with labels, and with selectors of labels: labels are not masked, so that a selector still
// selects the same objects.
var labelKeys = map[string]bool{"labels": true, "matchLabels": true, "matchExpressions": true, "namespaceLabels": true,
	"agentNamespaceLabels": true}

// payloadKeys are the fields of Fleet's objects with the files of bundles, with Helm values and with variables of
// agents. Any of their texts may be secret, so all of them are masked.
var payloadKeys = map[string]bool{"content": true, "resources": true, "values": true, "templateValues": true,
	"agentEnvVars": true, "helmChartOptions": true, "helmOpOptions": true}

// fixed are the members of metadata that are names, times or field names.
var fixed = map[string]bool{"labels": true, "ownerReferences": true, "finalizers": true}
