// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
)

// GuardMode is the action of the guard for a request that harms an owned object.
type GuardMode string

// The modes.
const (
	GuardOff  GuardMode = "off"
	GuardWarn GuardMode = "warn"
	GuardDeny GuardMode = "deny"
)

// GuardLabel is the label of a namespace, or of a cluster-scoped object, with its mode.
const GuardLabel = "fleetdoctor.io/guard"

// IgnoreLabel with the value "true" on an object or its namespace makes the webhook ignore the object.
const IgnoreLabel = "fleetdoctor.io/ignore"

// GuardModes lists the modes.
func GuardModes() []GuardMode { return []GuardMode{GuardOff, GuardWarn, GuardDeny} }

// GuardModeOf reads the mode from labels. It returns fallback if they have no mode, and fallback with a warning if the
// mode is invalid.
func GuardModeOf(labels map[string]string, fallback GuardMode) (GuardMode, []Warning) {
	stated, ok := labels[GuardLabel]
	switch {
	case !ok:
		return fallback, nil
	case slices.Contains(GuardModes(), GuardMode(stated)):
		return GuardMode(stated), nil
	}
	return fallback, []Warning{{WarnInvalidGuardMode,
		fmt.Sprintf("label %s=%q is none of %v: %s is used", GuardLabel, stated, GuardModes(), fallback)}}
}
