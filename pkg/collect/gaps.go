// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// ErrNoFleet is returned if no trace of Fleet was found. The message names the source.
var ErrNoFleet = errors.New("no Fleet found here")

// ErrNothingRead is returned if Fleet may be installed, but nothing of it could be read.
var ErrNothingRead = errors.New("no object of Fleet could be read")

// PlaceText names a source in errors.
func PlaceText(d source.Description) string {
	if d.Origin == source.OriginSnapshot {
		return strings.Join(d.Paths, ", ")
	}
	return d.Server
}

// NothingRead returns the error that a gap leaves no object of Fleet in a place.
func NothingRead(where string, g source.Gap) error {
	return fmt.Errorf("%w in %s: %s: %s", ErrNothingRead, where, strings.TrimPrefix(g.What, where+": "), g.Why())
}

// OrUnread adds to the error that an object was not found the first gap of a damaged source, which may have lost the
// object.
func OrUnread(err error, d source.Description) error {
	if err == nil || len(d.Gaps) == 0 {
		return err
	}
	if each, several := errors.AsType[evaluate.Errors](err); several {
		out := make(evaluate.Errors, len(each))
		for i, one := range each {
			out[i] = OrUnread(one, d)
		}
		return out
	}
	return fmt.Errorf("%w; it may exist, because not everything could be read: %s: %s", err, d.Gaps[0].What,
		d.Gaps[0].Why())
}

// FleetGaps returns the gaps for Fleet's own objects of some kinds; without kinds, for all. within returns the
// namespaces of a kind that are in scope, nil for all.
func FleetGaps(f *state.Fleet, within func(kind string) []string, kinds ...string) []source.Gap {
	var out []source.Gap
	for _, kind := range state.Kinds {
		if len(kinds) > 0 && !slices.Contains(kinds, kind.Name) {
			continue
		}
		effect := "the status that Fleet reports is not known"
		if kind.Name == state.BundleDeployment {
			effect = "it is not known what is deployed"
		}
		cover := f.Needed(kind.Name).Within(within(kind.Name))
		out = append(out, source.CoverageGaps("listing "+kind.Name+" objects", cover, effect)...)
	}
	return out
}

// Everywhere is the scope of verbs without one.
func Everywhere(string) []string { return nil }
