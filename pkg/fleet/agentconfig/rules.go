// SPDX-License-Identifier: Apache-2.0

package agentconfig

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"

// Upgraded is the version for which the prediction after an upgrade is made: the first one that compares only the
// values that a cluster takes from the configuration.
var Upgraded = fleet.Version{Minor: 13}

// rules are what differs between versions of the controller (docs/fleet-behavior.md, 7.3 to 7.5).
type rules struct {
	// secretAware controllers do not compare values that the kubeconfig Secret states.
	secretAware bool
	// gc, hostNetwork and scheduling are true if the controller compares them.
	gc, hostNetwork, scheduling bool
	// namespaces is true if the namespace of the kubeconfig Secret is restricted.
	namespaces bool
	// skipLabel and localDisabled are true if the controller knows the label and the configuration.
	skipLabel, localDisabled bool
}

func rulesOf(v fleet.Version) rules {
	return rules{
		secretAware: !v.Before(13, 0), skipLabel: !v.Before(13, 0), scheduling: !v.Before(14, 0),
		localDisabled: !v.Before(16, 0),
		gc:            !v.Before(10, 2), hostNetwork: !v.Before(10, 1),
		namespaces: restrictsNamespaces(v),
	}
}

// restrictsNamespaces reports whether a version restricts the namespace of the kubeconfig Secret. The change is in
// patches of several minor versions.
func restrictsNamespaces(v fleet.Version) bool {
	if patch, ok := map[int]int{12: 16, 13: 12, 14: 7, 15: 3}[v.Minor]; ok {
		return !v.Before(v.Minor, patch)
	}
	return !v.Before(16, 0)
}

// candidates are the rules that a version may have. A pre-release has those of the version before it or those of its
// release.
func candidates(v fleet.Version) []rules {
	out := []rules{rulesOf(v)}
	if v.Pre {
		v.Pre = false
		if release := rulesOf(v); release != out[0] {
			out = append(out, release)
		}
	}
	return out
}
