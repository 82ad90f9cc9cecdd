// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Refusal is a condition with which a controller of Fleet states that it does not process an object.
type Refusal struct {
	// Condition is its type: "Accepted".
	Condition string
	// What is the end of a sentence about the object: "is not accepted".
	What string
	// Since is when the condition changed; zero if Fleet did not write it.
	Since time.Time
}

// refusals are the conditions that state an error, by the kind of the object. The first one that does is the cause of
// the others. failing has the status of each. Source: docs/fleet-behavior.md, 4.12.
var refusals = map[string][]Refusal{
	state.GitRepo: {
		{Condition: "Accepted", What: "is not accepted"},
		{Condition: "GitPolling", What: "cannot be polled"},
		{Condition: Stalled, What: "has a Job that failed"},
	},
	state.HelmOp: {
		{Condition: "Accepted", What: "is not accepted"},
		{Condition: "Polled", What: "cannot be polled"},
	},
	state.ClusterKind: {
		{Condition: "Processed", What: "cannot be processed"},
		{Condition: "Imported", What: "has no agent, because its import failed"},
	},
	state.ClusterGroup: {{Condition: "Processed", What: "cannot be processed"}},
}

// The gitJobStatus of a GitRepo while a Job runs, and after one that failed or succeeded.
const (
	JobInProgress = "InProgress"
	JobFailed     = "Failed"
	JobSucceeded  = "Current"
)

// Refusals returns why a controller of Fleet does not process an object, the cause first. It is empty if no condition
// states an error. Fleet writes no time into some conditions, and repeats some messages.
func Refusals(o v1alpha1.Object) []Refusal {
	if Deleting(o) {
		return nil
	}
	kind := RefTo(o).Kind
	var out []Refusal
	var said []string
	for _, r := range refusals[kind] {
		c := ConditionOf(ConditionsOf(o), r.Condition)
		repeated := c.Message != "" && slices.Contains(said, c.Message)
		if repeated || !states(o, c, r.Condition) {
			continue
		}
		said = append(said, c.Message)
		r.Since = Parsed(c.LastUpdateTime)
		out = append(out, r)
	}
	return out
}

// Stalled is the condition of a GitRepo that has the error of its Job.
const Stalled = "Stalled"

// states reports whether a condition states an error that has not passed. Fleet clears the errors of polls only with
// the next poll, and the condition Stalled only with the next Job. Without polls, the error of one is believed if no
// commit was ever read.
func states(o v1alpha1.Object, c v1alpha1.Condition, kind string) bool {
	failed := c.Status == failing[kind]
	switch o := o.(type) {
	case *v1alpha1.GitRepo:
		switch kind {
		case Stalled:
			return o.Status.GitJobStatus == JobFailed
		case "GitPolling":
			neverRead := o.Status.Commit == "" && o.Status.GitJobStatus != JobSucceeded
			return failed && (neverRead || !o.Spec.DisablePolling)
		}
	case *v1alpha1.HelmOp:
		if kind == "Polled" {
			return failed && polls(o)
		}
	case *v1alpha1.Cluster: // an agent that reports was installed by another import, or in another way
		if kind == "Imported" {
			return failed && o.Status.Agent.LastSeen == ""
		}
	}
	return failed
}

// polls reports whether Fleet polls the repository of a HelmOp: it does for a range of versions.
func polls(h *v1alpha1.HelmOp) bool {
	chart := h.Spec.Helm
	interval, err := time.ParseDuration(h.Spec.PollingInterval)
	if err != nil || interval == 0 || strings.HasSuffix(strings.ToLower(chart.Chart), ".tgz") {
		return false
	}
	_, err = semver.StrictNewVersion(chart.Version)
	return err != nil
}
