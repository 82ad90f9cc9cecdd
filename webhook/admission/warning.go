// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"
)

// WarningCode says what a warning of the webhook is about. A warning is "fleetdoctor/<Code>: <sentence>". Codes are
// stable: programs compare them, not sentences.
type WarningCode string

// The codes of the mutating handlers.
const (
	// WarnRestored: the request removed or changed ownership metadata, and the webhook restored it.
	WarnRestored WarningCode = "Restored"
	// WarnForeign: another owner exists, or may exist; the ownership metadata is not changed.
	WarnForeign WarningCode = "Foreign"
	// WarnContested: several releases desire the object, and it names none of them; its ownership metadata is not changed.
	WarnContested WarningCode = "Contested"
	// WarnTooLarge: with the ownership metadata the annotations would exceed the limit of the API server.
	WarnTooLarge WarningCode = "TooLarge"
	// WarnRateLimited: the object loses its ownership metadata again and again; the webhook leaves it alone for a while.
	WarnRateLimited WarningCode = "RateLimited"
)

// The codes of the guard: of the validating handler, and of a mutating handler that restores what the guard would have
// warned of.
const (
	// WarnStripped: the request removes ownership metadata.
	WarnStripped WarningCode = "Stripped"
	// WarnChanged: the request changes ownership metadata.
	WarnChanged WarningCode = "Changed"
	// WarnDeleted: the request deletes an object that a bundle owns.
	WarnDeleted WarningCode = "Deleted"
	// WarnStale: the guard would deny the request, but its knowledge may be out of date.
	WarnStale WarningCode = "Stale"
	// WarnOwnerInDoubt: the guard would deny the request, but the owner is in doubt, and may be whoever makes the request.
	WarnOwnerInDoubt WarningCode = "OwnerInDoubt"
	// WarnInvalidGuardMode: the value of the label fleetdoctor.io/guard is not a mode; the default mode is used.
	WarnInvalidGuardMode WarningCode = "InvalidGuardMode"
)

// WarningCodes lists all codes.
func WarningCodes() []WarningCode {
	return []WarningCode{WarnRestored, WarnForeign, WarnContested, WarnTooLarge, WarnRateLimited,
		WarnStripped, WarnChanged, WarnDeleted, WarnStale, WarnOwnerInDoubt, WarnInvalidGuardMode}
}

// warningPrefix begins each warning, so that nobody takes it for one of another webhook.
const warningPrefix = "fleetdoctor/"

// Warning is a code with a sentence for whoever made the request.
type Warning struct {
	Code    WarningCode
	Message string
}

// String is the warning as the API server passes it on.
func (w Warning) String() string { return warningPrefix + string(w.Code) + ": " + w.Message }

// ParseWarning reads what String wrote; ok is false for a warning of another program.
func ParseWarning(text string) (w Warning, ok bool) {
	rest, ours := strings.CutPrefix(text, warningPrefix)
	code, message, complete := strings.Cut(rest, ": ")
	w = Warning{WarningCode(code), message}
	return w, ours && complete && slices.Contains(WarningCodes(), w.Code)
}
