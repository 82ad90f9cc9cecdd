// SPDX-License-Identifier: Apache-2.0

package remedy

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"

// StepKind is what the verb repair does to an object.
type StepKind string

// The kinds of steps, in the order in which they are made. The verb needs --allow for each that is not adopt, create or
// restore.
const (
	StepUnblock  StepKind = "unblock"  // removes what makes Helm refuse every deploy of a release
	StepAdopt    StepKind = "adopt"    // writes the ownership metadata
	StepCreate   StepKind = "create"   // creates a missing object as its release states it
	StepRestore  StepKind = "restore"  // gives the fields that differ their desired values
	StepRecreate StepKind = "recreate" // deletes an object, and creates it as its release states it
	StepRemove   StepKind = "remove"   // deletes what is left over
	StepResume   StepKind = "resume"   // continues what is paused
	StepDeploy   StepKind = "deploy"   // makes an agent of Fleet deploy again
)

// StepKinds are the kinds, in their order.
func StepKinds() []StepKind {
	return []StepKind{StepUnblock, StepAdopt, StepCreate, StepRestore, StepRecreate, StepRemove, StepResume, StepDeploy}
}

// Allowed returns the value of --allow that a kind of step needs; empty if it is allowed by default.
func (k StepKind) Allowed() string {
	switch k {
	case StepUnblock, StepResume, StepDeploy:
		return "deploy"
	case StepRecreate:
		return "recreate"
	case StepRemove:
		return "delete"
	}
	return ""
}

// NeverDeleted returns why the verb repair does not delete an object, also if it would be created again; empty if it
// may.
func NeverDeleted(r object.Ref) string {
	switch r.Kind {
	case "PersistentVolumeClaim", "PersistentVolume":
		return "it holds data: to delete it is left to you"
	case "Namespace":
		return "deleting it deletes all that it contains"
	case "CustomResourceDefinition":
		return "deleting it deletes all objects of its kind"
	}
	return ""
}

// Step is a step of the verb repair. The zero value is none.
type Step struct {
	Kind StepKind
	// Object is what the step writes.
	Object object.Ref
	// Patch is a JSON merge patch, for resume and deploy; Subresource is what it is for, empty for the object itself.
	Patch, Subresource string
	// Downstream is true if Object is on the cluster of the bundle deployment, although it is not one of its objects.
	Downstream bool
	// Effect is a consequence that the plan names, as a sentence; empty if there is none beside that of its kind.
	Effect string
	// Then is true if another step of the same finding follows.
	Then bool
}

// More reports whether further steps of the same finding follow: this one only makes way for another one.
func (s Step) More() bool {
	switch s.Kind {
	case StepUnblock, StepAdopt, StepResume:
		return true
	}
	return s.Then
}
