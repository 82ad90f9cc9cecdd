// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// By are the names by which an overview can count bundle deployments.
var By = []string{bundles.kind, clusters.kind, gitRepos.kind}

// levelOf returns the level with this name, by default that of bundles.
func levelOf(by string) level {
	for _, l := range []level{clusters, gitRepos} {
		if l.kind == by {
			return l
		}
	}
	return bundles
}

// spreads is the table of the bundles, clusters or GitRepos that are not well, and the line that counts the others.
func (t text) spreads(a *report.Audit, by level) (rows, well string) {
	all := digest.Spreads(a, by.of)
	shown := all
	ready, reported := 0, ""
	if t.limits() {
		shown = slices.DeleteFunc(slices.Clone(all), func(s *digest.Spread) bool {
			if s.Ready() == s.All {
				ready += s.All
				if s.Read < s.All {
					reported = ", as Fleet reports"
				}
			}
			return s.Ready() == s.All
		})
	}
	if len(shown) > 0 {
		rows = strings.Join(t.rows(t.spreadGrid(a, by, shown)), "\n") + "\n"
	}
	if n := len(all) - len(shown); n > 0 {
		well = fmt.Sprintf("Ready%s: %s with %s.\n", reported, plural(n, by.kind),
			plural(ready, "bundle deployment"))
	}
	return rows, well
}

// spreadGrid is the table of spreads. Its last column names what is not ready: the clusters of a bundle, the bundles of
// a cluster or of a GitRepo.
func (t text) spreadGrid(a *report.Audit, by level, all []*digest.Spread) grid {
	g := t.grid([]column{{header: strings.ToUpper(by.kind)}, {header: "READY", right: true},
		{header: problemsHeader}})
	name, below := namesOf(all), bundles.of
	if by.kind == bundles.kind {
		below = clusters.of
	}
	for _, s := range all {
		g.rows = append(g.rows, []string{printable(name(s)), t.part(s.Ready(), s.All), ""})
	}
	room, details := math.MaxInt32, digest.NewDetails(a)
	if g.width > 0 {
		room = g.width - g.names() - g.spans()[1] - 2*len(gap)
	}
	for i, s := range all {
		g.rows[i][2] = printable(details.Of(s, room, func(bd *report.BundleDeployment) string {
			return digest.BaseName(below(bd))
		}, span))
	}
	g.cutNames()
	return g
}

// namesOf returns a function that names spreads: without their namespace if all have the same one.
func namesOf(all []*digest.Spread) func(*digest.Spread) string {
	namespaces := map[string]bool{}
	for _, s := range all {
		namespace, _, _ := strings.Cut(s.Name, "/")
		namespaces[namespace] = true
	}
	return func(s *digest.Spread) string {
		if len(namespaces) == 1 {
			return cmp.Or(digest.BaseName(s.Name), none)
		}
		return cmp.Or(s.Name, none)
	}
}
