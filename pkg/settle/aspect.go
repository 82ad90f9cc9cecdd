// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Aspect is the part of an object that must not change.
type Aspect string

// The aspects.
const (
	// Presence is that the object exists and is not being deleted.
	Presence Aspect = "presence"
	// Identity is that it is the same object, whether it is being deleted or not.
	Identity Aspect = "identity"
	// Spec is the Identity with the generation and the labels.
	Spec Aspect = "spec"
	// Version is its resourceVersion: nothing changed.
	Version Aspect = "version"
	// Numbers are the part of the status of one of Fleet's objects that Fleet computes from the objects below. The
	// rest, such as a heartbeat or the time of a poll, changes without them. Fleet writes BundleDeployments and
	// Bundles, which can be large, only when something changes: of these, it is the Version.
	Numbers Aspect = "numbers"
	// ReleaseStatus is the status of a Helm release record.
	ReleaseStatus Aspect = "release status"
)

// present is what Presence shows of an object that exists.
const present = "present"

// Of returns what an aspect shows of an object. It is empty for an object that does not exist, and for no other except
// one that is being deleted, whose Presence is empty.
func (a Aspect) Of(o metav1.Object) string {
	deleting := o.GetDeletionTimestamp() != nil
	identity := fmt.Sprint("uid ", o.GetUID(), " deleting ", deleting)
	switch a {
	case Presence:
		if deleting {
			return ""
		}
		return present
	case Spec:
		return fmt.Sprint(identity, " generation ", o.GetGeneration(), " labels ", joined(o.GetLabels()))
	case Version:
		return VersionOf(o.GetResourceVersion())
	case ReleaseStatus:
		return statusOf(o.GetLabels()["status"])
	case Numbers:
		if numbers := numbersOf(o); numbers != nil {
			text, err := json.Marshal(numbers)
			return fmt.Sprint("uid ", o.GetUID(), " numbers ", string(text), err)
		}
		return Version.Of(o)
	}
	return identity
}

func statusOf(status string) string { return "status " + status }

// VersionOf returns what Version shows of an object with a resourceVersion.
func VersionOf(resourceVersion string) string { return "version " + resourceVersion }

func joined(labels map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, key+"="+labels[key])
	}
	return strings.Join(out, ",")
}

// ofMetadata reports whether the metadata of an object of a kind show the aspect.
func (a Aspect) ofMetadata(kind string) bool {
	return a != Numbers || kind == state.BundleDeployment || kind == state.Bundle
}

// numbersOf returns the part of a status that Fleet computes; nil for an object of which the Version counts.
func numbersOf(o metav1.Object) any {
	switch o := o.(type) {
	case *v1alpha1.Cluster:
		s := o.Status
		s.Agent, s.AgentRecord = v1alpha1.AgentStatus{}, v1alpha1.AgentRecord{}
		return s
	case *v1alpha1.GitRepo:
		return withoutConditions(o.Status.Status)
	case *v1alpha1.HelmOp:
		return withoutConditions(o.Status)
	case *v1alpha1.ClusterGroup:
		s := o.Status
		s.Status = withoutConditions(s.Status)
		return s
	}
	return nil
}

func withoutConditions(s v1alpha1.Status) v1alpha1.Status {
	s.Conditions = nil
	return s
}
