// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"math"
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

// splitSpreads returns the bundles, clusters or GitRepos that are shown, and those that are only counted.
func splitSpreads(l *layout, all []*digest.Spread) (shown, well []*digest.Spread) {
	for _, s := range all {
		if l.limits() && s.Ready() == s.All {
			well = append(well, s)
		} else {
			shown = append(shown, s)
		}
	}
	return shown, well
}

// wellSpreads adds the line that counts those that are well.
func wellSpreads(l *layout, well []*digest.Spread) {
	if len(well) == 0 {
		return
	}
	ready, reported := 0, ""
	for _, s := range well {
		ready += s.All
		if s.Read < s.All {
			reported = ", as Fleet reports"
		}
	}
	l.line(fmt.Sprintf("Ready%s: %s with %s.", reported, plural(len(well), levelOf(l.By).kind),
		plural(ready, "bundle deployment")))
}

// spreadTable is the table of spreads. Its last column names what is not ready: the clusters of a bundle, the bundles
// of a cluster or of a GitRepo.
func spreadTable(l *layout, a *report.Audit, by level, all []*digest.Spread) *table {
	t := newTable(l, []column{{header: strings.ToUpper(by.kind)}, {header: "READY", right: true},
		{header: problemsHeader}})
	name, below := namesOf(all), bundles.of
	if by.kind == bundles.kind {
		below = clusters.of
	}
	for _, s := range all {
		t.add(join(name(s)), part(s.Ready(), s.All), nil)
	}
	room, details := math.MaxInt32, digest.NewDetails(a)
	if t.width > 0 {
		room = t.width - t.names() - t.spans()[1] - 2*len(gap)
	}
	for i, s := range all {
		t.rows[i][2] = join(details.Of(s, room, func(bd *report.BundleDeployment) string {
			return digest.BaseName(below(bd))
		}, span))
	}
	t.cutNames()
	return t
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
