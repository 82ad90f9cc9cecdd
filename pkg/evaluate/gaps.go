// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// otherGaps returns the gaps because of which objects that no release desires may be missing, even if every desired
// object was read before the list failed. A kind that is not served or not in a snapshot is not a failure. known are
// the gaps of the desired objects, which are not repeated.
func otherGaps(what string, cover source.Coverage, known []source.Gap) []source.Gap {
	repeated := func(g source.Gap) bool {
		return slices.ContainsFunc(known, func(o source.Gap) bool {
			if g.What == what {
				return o.Why() == g.Why()
			}
			return o.What == g.What
		})
	}
	others := source.AsOptional(source.CoverageGaps(what, cover, "orphaned objects of this kind may be missed"))
	return slices.DeleteFunc(others, func(g source.Gap) bool {
		absent := g.Reason == string(source.NotInSnapshot) || g.Reason == string(source.KindNotServed)
		return absent || repeated(g)
	})
}

func inNamespace(ns string) string {
	if ns == "" {
		return ""
	}
	return " in namespace " + ns
}

// unsearched returns one gap for all kinds that could not be searched for orphaned objects.
func unsearched(kinds []string) []source.Gap {
	if len(kinds) == 0 {
		return nil
	}
	const most = 5
	kinds = slices.Sorted(slices.Values(kinds))
	names := strings.Join(kinds[:min(most, len(kinds))], ", ")
	if n := len(kinds) - most; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	return []source.Gap{{What: "searching for objects with the hash label in " + names, Reason: "not readable",
		Effect: "orphaned and abandoned objects of these kinds are not found", Optional: true}}
}
