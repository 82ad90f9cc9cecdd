// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"slices"
)

// Mode is what the guard does about a request that would do harm.
type Mode string

// The modes.
const (
	Off  Mode = "off"
	Warn Mode = "warn"
	Deny Mode = "deny"
)

// Label states the mode of a namespace; of a cluster-scoped object, on the object itself.
const Label = "fleetdoctor.io/guard"

// Modes lists the modes.
func Modes() []Mode { return []Mode{Off, Warn, Deny} }

// ModeOf reads the mode from labels; where they state none, it is the fallback. A value that is no mode is one too, and the note says so.
func ModeOf(labels map[string]string, fallback Mode) (mode Mode, note string) {
	stated, ok := labels[Label]
	switch {
	case !ok:
		return fallback, ""
	case slices.Contains(Modes(), Mode(stated)):
		return Mode(stated), ""
	}
	return fallback, fmt.Sprintf("label %s=%q is none of %v: %s is taken", Label, stated, Modes(), fallback)
}
