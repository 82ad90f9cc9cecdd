// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
)

// GuardMode is what the guard does about a request that harms an owned object.
type GuardMode string

// The modes.
const (
	GuardOff  GuardMode = "off"
	GuardWarn GuardMode = "warn"
	GuardDeny GuardMode = "deny"
)

// GuardLabel states the mode of a namespace; for a cluster-scoped object, on the object itself.
const GuardLabel = "fleetdoctor.io/guard"

// IgnoreLabel keeps the webhook away, with the value "true" on an object or its namespace.
const IgnoreLabel = "fleetdoctor.io/ignore"

// GuardModes lists the modes.
func GuardModes() []GuardMode { return []GuardMode{GuardOff, GuardWarn, GuardDeny} }

// GuardModeOf reads the mode from labels; fallback if they state none, or with a warning if they state no valid one.
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
