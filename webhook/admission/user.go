// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// agentAccounts are the service accounts of Fleet's agent, besides the account that a release names. All are in the
// namespace of the agent.
var agentAccounts = []string{fleet.AgentName, fleet.DefaultAccount}

// serviceAccountPrefix is the prefix of the user names of service accounts.
const serviceAccountPrefix = "system:serviceaccount:"

// isFleet reports whether a user is an agent that deploys a release. An agent in one of Fleet's own namespaces deploys
// any release, so that a forged record, which names another agent, is no reason to deny its requests.
func isFleet(r desired.Release, user string) bool {
	account, ok := strings.CutPrefix(user, serviceAccountPrefix)
	namespace, name, _ := strings.Cut(account, ":")
	if !ok || namespace == "" || name == "" {
		return false
	}
	usual := slices.Contains(agentAccounts, name)
	if usual && fleet.IsSystemNamespace(namespace) {
		return true
	}
	return slices.ContainsFunc(r.Agents, func(a desired.Agent) bool {
		return namespace == a.Namespace && (usual || name == a.ServiceAccount)
	})
}

// cleaners are the users of the cluster itself that delete objects as a consequence of another deletion, or of a limit
// that the object states. Controllers without accounts of their own use that of the controller manager.
var cleaners = []string{
	"system:kube-controller-manager",
	serviceAccountPrefix + "kube-system:generic-garbage-collector",
	serviceAccountPrefix + "kube-system:namespace-controller",
	serviceAccountPrefix + "kube-system:ttl-after-finished-controller",
}

// podCleaners are the prefixes of further users of the cluster that delete Pods.
var podCleaners = []string{"system:node:", serviceAccountPrefix + "kube-system:"}

// isSystem reports whether a user is a part of the cluster that deletes such objects.
func isSystem(user string, k object.Key) bool {
	if slices.Contains(cleaners, user) {
		return true
	}
	if k.Group != "" || k.Kind != "Pod" {
		return false
	}
	isUser := func(prefix string) bool { return strings.HasPrefix(user, prefix) }
	return user == "system:kube-scheduler" || slices.ContainsFunc(podCleaners, isUser)
}
