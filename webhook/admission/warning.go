// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"
)

// WarningCode is the kind of a warning. The text of a warning is "fleetdoctor/<Code>: <sentence>". Codes are stable, so
// that programs can compare them.
type WarningCode string

// The codes of the mutating handlers.
const (
	// WarnRestored: the request removed or changed ownership metadata, and the webhook restored it.
	WarnRestored WarningCode = "Restored"
	// WarnForeign: another owner exists, or may exist; the ownership metadata is not changed.
	WarnForeign WarningCode = "Foreign"
	// WarnContested: several releases desire the object, and its metadata names none of them; the metadata is not
	// changed.
	WarnContested WarningCode = "Contested"
	// WarnUnconfirmed: a release record of another namespace desires the object, and nothing else confirms that record.
	WarnUnconfirmed WarningCode = "Unconfirmed"
	// WarnTooLarge: with the ownership metadata the annotations would exceed the limit of the API server.
	WarnTooLarge WarningCode = "TooLarge"
	// WarnRateLimited: the object loses its ownership metadata repeatedly; the webhook ignores the object for an hour.
	WarnRateLimited WarningCode = "RateLimited"
)

// The codes of the guard: of the validating handler, and of a mutating handler that restores ownership metadata.
const (
	// WarnStripped: the request removes ownership metadata.
	WarnStripped WarningCode = "Stripped"
	// WarnChanged: the request changes ownership metadata.
	WarnChanged WarningCode = "Changed"
	// WarnDeleted: the request deletes an object that a bundle owns.
	WarnDeleted WarningCode = "Deleted"
	// WarnStale: the guard would deny the request, but its index may be out of date.
	WarnStale WarningCode = "Stale"
	// WarnOwnerInDoubt: the guard would deny the request, but the owner is in doubt: the request may be of the owner
	// itself.
	WarnOwnerInDoubt WarningCode = "OwnerInDoubt"
	// WarnInvalidGuardMode: the value of the label fleetdoctor.io/guard is not a mode; the default mode is used.
	WarnInvalidGuardMode WarningCode = "InvalidGuardMode"
)

// MutatingCodes lists the codes of the mutating handlers.
func MutatingCodes() []WarningCode {
	return []WarningCode{WarnRestored, WarnForeign, WarnContested, WarnUnconfirmed, WarnTooLarge, WarnRateLimited}
}

// WarningCodes lists all codes.
func WarningCodes() []WarningCode {
	return append(MutatingCodes(),
		WarnStripped, WarnChanged, WarnDeleted, WarnStale, WarnOwnerInDoubt, WarnInvalidGuardMode)
}

// warningPrefix is the prefix of each warning. It distinguishes the warnings of this webhook from those of others.
const warningPrefix = "fleetdoctor/"

// Warning is a warning of the API server, from this webhook or another source.
type Warning struct {
	// Code is the stable code of a warning of this webhook, absent in other warnings.
	Code WarningCode `json:"code,omitempty"`
	// Message is text for people.
	Message string `json:"message"`
}

// String returns the text of the warning in the answer to the API server.
func (w Warning) String() string { return warningPrefix + string(w.Code) + ": " + w.Message }

// ParseWarning parses a warning of the API server. A warning of another program has no code, and its whole text is the
// message.
func ParseWarning(text string) Warning {
	rest, ours := strings.CutPrefix(text, warningPrefix)
	code, message, complete := strings.Cut(rest, ": ")
	if ours && complete && slices.Contains(WarningCodes(), WarningCode(code)) {
		return Warning{WarningCode(code), message}
	}
	return Warning{Message: text}
}
