// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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
	shown, ready := all, 0
	if t.limits() {
		shown = slices.DeleteFunc(slices.Clone(all), func(s *digest.Spread) bool {
			if s.Ready() == s.All {
				ready += s.All
			}
			return s.Ready() == s.All
		})
	}
	if len(shown) > 0 {
		rows = strings.Join(t.rows(t.spreadGrid(by, shown)), "\n") + "\n"
	}
	if n := len(all) - len(shown); n > 0 {
		well = fmt.Sprintf("Ready: %s with %s.\n\n", plural(n, by.kind), plural(ready, "bundle deployment"))
	}
	return rows, well
}

// units are what the table counts: a bundle is on clusters, a cluster has bundles.
var units = map[string]string{bundles.kind: "CLUSTERS", clusters.kind: "BUNDLES", gitRepos.kind: "DEPLOYMENTS"}

// spreadGrid is the table of spreads. A state that none has is no column.
func (t text) spreadGrid(by level, all []*digest.Spread) grid {
	list := []column{{header: strings.ToUpper(by.kind)}, {header: units[by.kind], short: "ALL", right: true},
		{header: "READY", right: true}}
	states := digest.StatesOf(all...)
	for _, s := range states {
		list = append(list, column{header: printable(strings.ToUpper(string(s))), right: true})
	}
	g := t.grid(list)
	name := namesOf(all)
	for _, s := range all {
		row := []string{printable(name(s)), strconv.Itoa(s.All), strconv.Itoa(s.Ready())}
		for _, state := range states {
			n := none
			if s.States[state] > 0 {
				n = t.colour(yellow, strconv.Itoa(s.States[state]))
			}
			row = append(row, n)
		}
		g.rows = append(g.rows, row)
	}
	if g.narrow() {
		g.columns = shortHeaders(g.columns)
	}
	if g.narrow() {
		g = t.narrowSpreads(g, all)
	}
	g.cutNames()
	return g
}

// narrowSpreads has one column for all states, if that leaves more width for the names.
func (t text) narrowSpreads(g grid, all []*digest.Spread) grid {
	few := t.grid(g.columns[:3:3])
	for _, row := range g.rows {
		few.rows = append(few.rows, row[:3:3])
	}
	return g.orWords(few, problemsHeader, texts(all, func(s *digest.Spread) string {
		return printable(strings.Join(s.Tallies(), ", "))
	}))
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
