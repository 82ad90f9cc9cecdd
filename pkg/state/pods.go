// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// pod is the part of a Pod that is read.
type pod struct {
	object.Meta
	Status struct {
		Phase      string `json:"phase"`
		Reason     string `json:"reason"`
		Message    string `json:"message"`
		Conditions []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"conditions"`
		InitContainers []containerStatus `json:"initContainerStatuses"`
		Containers     []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type containerStatus struct {
	Name     string `json:"name"`
	Restarts int    `json:"restartCount"`
	State    struct {
		Waiting struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"waiting"`
	} `json:"state"`
}

// SetPods adds to the workload of an agent why its pods, given as JSON, do not run. unread is the reason if not all of
// them were read.
func (c *Cluster) SetPods(namespace string, raw [][]byte, unread source.Failure, all bool) error {
	w := c.Workloads[namespace]
	var first *pod
	for _, r := range raw {
		p := &pod{}
		switch err := object.Into(r, p); {
		case err != nil:
			return err
		case p.Metadata.DeletionTimestamp != "":
			continue
		case p.ready():
			w.Stuck = Stuck{Runs: true}
			c.Workloads[namespace] = w
			return nil
		}
		if first == nil || p.Metadata.Name < first.Metadata.Name {
			first = p
		}
	}
	switch {
	case first != nil:
		created, _ := time.Parse(time.RFC3339, first.Metadata.CreationTimestamp)
		w.Stuck = Stuck{Why: "pod " + first.Metadata.Name + " " + first.problem(), Since: created,
			Logs: first.started()}
	case !all && unread.Reason == source.NotInSnapshot:
	case !all:
		w.Idle += ", and its pods were not read (" + string(unread.Reason) + ")"
	default:
		w.Stuck.Why = "it has no pod"
	}
	c.Workloads[namespace] = w
	return nil
}

func (p *pod) ready() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// started reports whether a container of the pod has started, at least once.
func (p *pod) started() bool {
	return p.Status.Phase == "Running" || slices.ContainsFunc(p.Status.Containers, func(c containerStatus) bool {
		return c.Restarts > 0
	})
}

// problem is why a pod does not run, as the end of a sentence.
func (p *pod) problem() string {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return "is not scheduled: " + cmp.Or(c.Message, "no reason is stated")
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainers, p.Status.Containers) {
		waiting := c.State.Waiting
		switch {
		case waiting.Reason == "":
		case waiting.Message == "":
			return fmt.Sprintf("waits for container %s: %s", c.Name, waiting.Reason)
		default:
			return fmt.Sprintf("waits for container %s: %s: %s", c.Name, waiting.Reason, waiting.Message)
		}
	}
	if p.Status.Reason != "" {
		return fmt.Sprintf("is %s: %s: %s", p.Status.Phase, p.Status.Reason, p.Status.Message)
	}
	return "is " + cmp.Or(p.Status.Phase, "there") + ", and not ready"
}
