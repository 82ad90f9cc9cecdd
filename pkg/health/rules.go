// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// youth is the age below which a Rancher object with an empty list of
	// conditions is still being set up (rule 6).
	youth = 5 * time.Second
	// removalPatience is the age at which a removal that finalizers hold up
	// becomes an error (rule 7).
	removalPatience = 5 * time.Minute
)

// ownSummary is rule 1: an object that sums itself up is believed.
func (j *judgement) ownSummary() {
	own := mapAt(j.obj, "status", "display")
	if len(own) == 0 {
		own = mapAt(j.obj, "status", "summary")
	}
	if v, ok := own["state"]; ok {
		j.state = text(v)
	}
	if v, ok := own["transitioning"]; ok {
		j.transitioning = truth(v)
	}
	if v, ok := own["error"]; ok {
		j.err = truth(v)
	}
	if v, ok := own["message"]; ok {
		j.say(text(v))
	}
}

// errorConditions is rule 2: conditions that are errors for this kind, and any
// condition whose reason says so.
func (j *judgement) errorConditions() {
	if len(j.conditions) == 0 {
		return
	}
	u := unstructured.Unstructured{Object: j.obj}
	bad, ok := errorStatus[u.GroupVersionKind()]
	if !ok {
		bad = errorStatusElsewhere
	}
	for _, c := range j.conditions {
		status, listed := bad[c.Type]
		if c.Reason != reasonError && (!listed || c.Status != status) {
			continue
		}
		j.fail(c)
		if j.state == "" || j.state == stateActive {
			j.state = stateError
		}
	}
}

// progressConditions is rule 3. Its parts run over all conditions one after the
// other, and all but the errors of (a) only while nothing has named a state.
func (j *judgement) progressConditions() {
	for _, c := range j.conditions {
		state, listed := falseIsError[c.Type]
		switch {
		case !listed:
		case c.Status == conditionFalse:
			j.fail(c)
			j.state = state
		case c.Status == conditionUnknown && j.state == "":
			j.wait(c)
			j.state = state
		}
	}
	for _, c := range j.conditions {
		if j.state != "" {
			return
		}
		if state, listed := trueIsProgress[c.Type]; listed && c.Status == conditionTrue {
			j.wait(c)
			j.state = state
		}
	}
	j.availability()
}

// availability is rule 3(c) and (d). Ready=False comes last because any other
// condition says more about the cause.
func (j *judgement) availability() {
	var unready *condition
	for i, c := range j.conditions {
		if j.state != "" {
			return
		}
		if c.Type == conditionReady && c.Status == conditionFalse {
			unready = &j.conditions[i]
			continue
		}
		state, listed := falseIsProgress[c.Type]
		if !listed {
			continue
		}
		if state == reasonIsState {
			state = c.Reason
		}
		switch c.Status {
		case conditionFalse:
			j.wait(c)
			j.state = state
		case conditionUnknown:
			j.fail(c)
			j.state = state
		}
	}
	if j.state == "" && unready != nil {
		j.wait(*unready)
		j.state = stateUnavailable
	}
}

// specActive is rule 4.
func (j *judgement) specActive() {
	if j.state != "" {
		return
	}
	switch textAt(j.obj, "spec", "active") {
	case "true":
		j.state = stateActive
	case "false":
		j.state = "inactive"
	}
}

// phase is rule 5. A final phase withdraws that work is under way, not that
// something failed.
func (j *judgement) phase() {
	phase := textAt(j.obj, "status", "phase")
	if state, final := phaseIsFinal[phase]; final {
		j.state = state
		j.settle()
		return
	}
	if j.state == "" {
		j.state = phase
	}
}

// initializing is rule 6. The age is taken from metadata.created, which Rancher's
// own API adds and the Kubernetes API server does not keep.
func (j *judgement) initializing() {
	if j.state != "" || len(j.conditions) > 0 || !strings.Contains(textAt(j.obj, "apiVersion"), "cattle.io") {
		return
	}
	if _, present := mapAt(j.obj, "status")["conditions"]; !present {
		return
	}
	created, err := time.Parse(time.RFC3339, textAt(j.obj, "metadata", "created"))
	if err == nil && created.Truncate(time.Second).Add(youth).After(j.now) {
		j.state = "initializing"
		j.transitioning = true
	}
}

// removed is rule 7. Like metadata.created, metadata.removed is Rancher's;
// an object that Kubernetes is deleting is recognised by kstatus.
func (j *judgement) removed() {
	removed := textAt(j.obj, "metadata", "removed")
	if removed == "" {
		return
	}
	j.state = "removing"
	j.transitioning = true
	for _, c := range j.conditions {
		if c.Type == "Removed" && (c.Status == conditionUnknown || c.Status == conditionFalse) {
			j.say(c.message)
		}
	}
	finalizer := textAt(j.obj, "metadata", "finalizers")
	if finalizer == "" {
		finalizer = textAt(j.obj, "spec", "finalizers")
	}
	if finalizer == "" {
		return
	}
	j.say("held by finalizer " + finalizer)
	since, err := time.Parse(time.RFC3339, removed)
	if err == nil && since.Truncate(time.Second).Add(removalPatience).Before(j.now) {
		j.err = true
	}
}

// loadBalancer is rule 9: a Service of that type without an address, which
// kstatus calls current as soon as it has a cluster address. The group is not
// asked for.
func (j *judgement) loadBalancer() {
	const wanted = "LoadBalancer"
	if j.state != stateActive && j.state != "" || textAt(j.obj, "kind") != "Service" {
		return
	}
	if textAt(j.obj, "spec", "type") != wanted && textAt(j.obj, "spec", "serviceKind") != wanted {
		return
	}
	if len(listAt(j.obj, "status", "loadBalancer", "ingress")) == 0 {
		j.state = "pending"
		j.transitioning = true
		j.say("no address assigned to the load balancer yet")
	}
}
