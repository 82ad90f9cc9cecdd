// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// HarmError is the error of a request that harms an object. It contains the owner of the object.
type HarmError struct {
	*ownership.RefusalError
	// Lost is the ownership metadata of the owner that the request removes or changes; empty if the request deletes the
	// object.
	Lost []ownership.Change
	// bundles are the names of the owner's bundles. count is the predicted count of objects; empty if it cannot be
	// predicted.
	bundles, count string
}

// Error implements error. It predicts what Fleet will report.
func (e *HarmError) Error() string {
	owned := e.Object.String() + " is owned by bundle " + e.bundles
	if len(e.Lost) == 0 {
		return owned + ": Fleet will report it as missing" + e.count
	}
	var removed, changed, acts []string
	for _, c := range e.Lost {
		if c.New == nil {
			removed = append(removed, c.Field()+" "+c.Name)
		} else {
			changed = append(changed, c.Field()+" "+c.Name)
		}
	}
	if len(removed) > 0 {
		acts = append(acts, "removes "+strings.Join(removed, ", "))
	}
	if len(changed) > 0 {
		acts = append(acts, "changes "+strings.Join(changed, ", "))
	}
	return fmt.Sprintf("%s, and this request %s: %s", owned, strings.Join(acts, " and "), e.consequence())
}

// consequence depends on the lost metadata, which is in the order of ownership.Keys: the hash, the id, then Helm's
// keys.
func (e *HarmError) consequence() string {
	switch {
	case e.Lost[0].Name == fleet.HashLabel:
		return "Fleet will report the object as not owned" + e.count
	case e.Lost[len(e.Lost)-1].Name != fleet.IDAnnotation:
		return "Fleet still counts the object, but Helm may not recognize it as part of its release"
	}
	return "Fleet still counts the object, but identifies it by less metadata"
}

// reason is that of an update.
func (e *HarmError) reason() Reason {
	switch {
	case len(e.Lost) == 0:
		return Harmless
	case slices.ContainsFunc(e.Lost, func(c ownership.Change) bool { return c.New == nil }):
		return Stripped
	}
	return Changed
}

// DenialError is the error of a request that is denied. It contains the harm and the owner.
type DenialError struct{ *HarmError }

// Error implements error. It adds how the request is allowed.
func (e *DenialError) Error() string {
	where := "its namespace"
	if e.Object.Namespace == "" {
		where = "it"
	}
	return fmt.Sprintf("%v. To do it anyway, label it %s=true first, or label %s %s=%s",
		e.HarmError, IgnoreLabel, where, GuardLabel, GuardWarn)
}
