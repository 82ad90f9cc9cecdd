// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Cause is why a number in a status of Fleet is not the recomputed one.
type Cause string

// The causes. Lag is also the cause if the times do not show how old the difference is: only a difference that is
// proved to be older than Fleet's usual delays is Unexplained.
const (
	Lag              Cause = "Lag"
	StaleAgent       Cause = "StaleAgent"            // the agent has not reported for a long time
	Paused           Cause = "Paused"                // the bundle or the cluster is paused
	OffSchedule      Cause = "OffSchedule"           // it is outside its schedule
	PendingRollout   Cause = "PendingRollout"        // targets that the rollout has not reached are not counted
	Truncated        Cause = "Truncated"             // the numbers come from lists that are truncated at ten entries
	StickyIncomplete Cause = "StickyIncompleteState" // incompleteState is set although the lists are complete
	// a leftover last-applied annotation makes Fleet report objects as modified
	LastApplied Cause = "LeftoverLastApplied"
	KnownBug    Cause = "KnownBug" // a known bug of the version that runs
	Unexplained Cause = "Unexplained"
)

// Explanation is a cause in words. It is zero if there is nothing to explain.
type Explanation struct {
	Cause Cause
	Words string
}

// OfBug returns the explanation by a bug of the version that a tag names.
func OfBug(b *fleet.Bug, who, tag string) Explanation {
	return Explanation{KnownBug, "known bug " + b.Issue + " of " + who + " " + tag + ": " + b.What}
}

// SilentWords returns the explanation by the agent of a Cluster, which does not report.
func SilentWords(c *v1alpha1.Cluster) Explanation {
	if c.Status.Agent.LastSeen == "" {
		return Explanation{StaleAgent, "the agent has never reported"}
	}
	return Explanation{StaleAgent, "the agent has not reported since " + c.Status.Agent.LastSeen}
}
