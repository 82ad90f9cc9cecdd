// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Tree lays out the report of an audit as a tree of the objects that its scope names; without names, of all GitRepos
// and HelmOps, and of the bundles without one.
func Tree(a *report.Audit, o Options) Document {
	return Document{o, a, a.BundleDeployments, func(t text) { t.tree(a) }, func(text) {}}
}

// level is a level of a tree.
type level struct {
	kind string
	of   func(*report.BundleDeployment) string // "namespace/name"
}

var (
	gitRepos    = level{"gitrepo", func(bd *report.BundleDeployment) string { return bd.GitRepo }}
	helmOps     = level{"helmop", func(bd *report.BundleDeployment) string { return bd.HelmOp }}
	bundles     = level{"bundle", func(bd *report.BundleDeployment) string { return bd.Bundle }}
	clusters    = level{"cluster", func(bd *report.BundleDeployment) string { return bd.Cluster }}
	deployments = level{"bundledeployment", func(bd *report.BundleDeployment) string {
		return keyOf(bd).bundleDeployment
	}}
)

// shapes are the levels of trees by the kind of their root. The last level names the bundle deployments.
var shapes = map[string][]level{
	gitRepos.kind:    {gitRepos, bundles, clusters},
	helmOps.kind:     {helmOps, bundles, clusters},
	bundles.kind:     {bundles, clusters},
	clusters.kind:    {clusters, bundles},
	deployments.kind: {deployments},
}

// branch is a line of a tree with the lines below it.
type branch struct {
	name, state, ready, statuses, fleetState, fleetReady, reason string
	below                                                        []branch
}

// treeText lays out one tree.
type treeText struct {
	text
	report     *report.Audit
	aggregates map[string]*report.Aggregate // by kind and "namespace/name"
	// refused are the objects, as in aggregates, that a controller does not process.
	refused map[string]bool
	// folds is true if the tree is large: it counts what is well.
	folds bool
}

func (t text) newTree(a *report.Audit) treeText {
	out := treeText{text: t, report: a, aggregates: map[string]*report.Aggregate{}, refused: map[string]bool{},
		folds: len(a.BundleDeployments) > digest.MaxDetailed && !t.All}
	for kind, list := range map[string][]report.Aggregate{gitRepos.kind: a.GitRepos, helmOps.kind: a.HelmOps,
		bundles.kind: a.Bundles, clusters.kind: a.Clusters} {
		for i := range list {
			out.aggregates[kind+" "+list[i].Namespace+"/"+list[i].Name] = &list[i]
		}
	}
	for _, f := range a.Findings {
		if o := f.Object; f.Code == codes.NotProcessed {
			out.refused[strings.ToLower(o.Kind)+" "+o.Namespace+"/"+o.Name] = true
		}
	}
	return out
}

func (t text) tree(a *report.Audit) {
	t.head("Tree of ", a.Source, a.TakenAt)
	t.notRead(a.Gaps, a.Notes)
	tree := t.newTree(a)
	branches := tree.named(a.Scope.Targets)
	if len(a.Scope.Targets) == 0 {
		branches = tree.everything()
	}
	if len(branches) == 0 {
		t.line(t.colour(yellow, "No bundle deployments in this scope."))
	}
	tree.show(branches)
	t.unknown(a)
	if findings := a.Summary.Findings.String(); findings != "" {
		t.emptyLine()
		t.line("Findings: " + findings + " (-o table shows them).")
	}
}

// named returns the branches of targets such as "gitrepo/apps". A kind, or a name without a namespace, can have
// several.
func (t treeText) named(targets []string) []branch {
	var out []branch
	for _, target := range slices.Compact(slices.Clone(targets)) {
		kind, name, _ := strings.Cut(target, "/")
		if levels := shapes[kind]; len(levels) > 0 {
			out = append(out, t.branches(t.members(func(bd *report.BundleDeployment) bool {
				key := levels[0].of(bd)
				return key != "" && isNamed(key, name)
			}), levels)...)
		}
	}
	return out
}

// isNamed reports whether an object ("namespace/name") has a name, with or without the namespace. An empty name is that
// of every object.
func isNamed(key, name string) bool {
	return name == "" || key == name || strings.HasSuffix(key, "/"+name)
}

// everything returns the branches of all GitRepos and HelmOps, and of the bundles without one.
func (t treeText) everything() []branch {
	roots := []level{gitRepos, helmOps, bundles, deployments}
	first := func(bd *report.BundleDeployment) int {
		return slices.IndexFunc(roots, func(root level) bool { return root.of(bd) != "" })
	}
	var out []branch
	for i, root := range roots {
		in := t.members(func(bd *report.BundleDeployment) bool { return first(bd) == i })
		branches := t.branches(in, shapes[root.kind])
		if root.kind == gitRepos.kind || root.kind == helmOps.kind {
			branches = t.withEmpty(root, branches, in)
		}
		out = append(out, branches...)
	}
	return out
}

// withEmpty adds the GitRepos or HelmOps without a bundle deployment to the branches of the others.
func (t treeText) withEmpty(root level, branches []branch, members []*report.BundleDeployment) []branch {
	known := map[string]bool{}
	for _, bd := range members {
		known[root.of(bd)] = true
	}
	for key := range t.aggregates {
		kind, name, _ := strings.Cut(key, " ")
		if kind == root.kind && !known[name] {
			branches = append(branches, t.aggregate(root, name, nil))
		}
	}
	slices.SortFunc(branches, func(x, y branch) int { return cmp.Compare(x.name, y.name) })
	return branches
}

func (t treeText) members(in func(*report.BundleDeployment) bool) []*report.BundleDeployment {
	var out []*report.BundleDeployment
	for i := range t.report.BundleDeployments {
		if bd := &t.report.BundleDeployments[i]; in(bd) {
			out = append(out, bd)
		}
	}
	return out
}

// branches returns the branches of bundle deployments: one for each object of the first level. A large tree only counts
// those that are well, if there are several.
func (t treeText) branches(members []*report.BundleDeployment, levels []level) []branch {
	if len(levels) == 1 {
		return t.deploymentBranches(members, levels[0])
	}
	groups := map[string][]*report.BundleDeployment{}
	for _, bd := range members {
		groups[levels[0].of(bd)] = append(groups[levels[0].of(bd)], bd)
	}
	var out, well []branch
	var counted []*report.BundleDeployment
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		line := t.aggregate(levels[0], key, groups[key])
		line.below = t.branches(groups[key], levels[1:])
		if t.folds && !slices.ContainsFunc(groups[key], notWell) {
			well, counted = append(well, line), append(counted, groups[key]...)
			continue
		}
		out = append(out, line)
	}
	if len(well) <= 1 {
		return append(out, well...)
	}
	return append(out, t.folded(len(well), "ready "+levels[0].kind, byReports(counted)))
}

// notWell reports whether a bundle deployment is not ready or, on a cluster that was not read, not ready as Fleet
// reports.
func notWell(bd *report.BundleDeployment) bool { return digest.ShownState(bd) != report.Ready }

// byReports says that the state of bundle deployments is what Fleet reports, if that is so for some of them.
func byReports(all []*report.BundleDeployment) string {
	if slices.ContainsFunc(all, digest.Unread) {
		return "as Fleet reports"
	}
	return ""
}

// aggregate returns the line of an aggregate ("namespace/name"). Without the actual number of objects, it has that of
// the statuses of its bundle deployments.
func (t treeText) aggregate(l level, key string, members []*report.BundleDeployment) branch {
	out := branch{name: l.kind + " " + printable(key), state: t.stateOf(members),
		ready: t.colour(yellow, "?"), fleetState: none, fleetReady: none}
	s := t.aggregates[l.kind+" "+key]
	if s == nil {
		return out
	}
	switch {
	case s.Actual == nil:
		out.statuses = cmp.Or(digest.ReportedFraction(s.Statuses), none)
	case s.Actual.BundleDeployments == 0:
		out.state, out.ready = "not deployed", none
	default:
		out.ready = t.part(s.Actual.Counts.Ready, s.Actual.Counts.Desired)
	}
	if s.Actual == nil && len(members) == 0 {
		out.state = t.colour(yellow, "?")
	}
	if t.refused[l.kind+" "+key] {
		out.state = t.colour(red, "not processed")
	}
	t.reported(&out, s.Reported)
	return out
}

// stateOf counts the bundle deployments that are ready, and those on clusters that were not read.
func (t treeText) stateOf(members []*report.BundleDeployment) string {
	ready := count(members, func(bd *report.BundleDeployment) bool { return bd.State == report.Ready })
	unread := count(members, digest.Unread)
	hidden := t.colour(yellow, fmt.Sprintf("%d ?", unread))
	switch known := len(members) - unread; {
	case unread == 0:
		return t.part(ready, known) + " ready"
	case known == 0:
		return hidden
	default:
		return t.part(ready, known) + " ready, " + hidden
	}
}

// reported adds what Fleet reports.
func (t treeText) reported(of *branch, r *report.Reported) {
	of.fleetState, of.fleetReady = none, none
	switch {
	case r == nil:
		return
	case r.ReadyBundleDeployments != nil && r.BundleDeployments != nil:
		of.fleetState = fraction(*r.ReadyBundleDeployments, *r.BundleDeployments) + " ready"
	default:
		of.fleetState = cmp.Or(t.bounded(r.State), none)
	}
	if r.Ready != nil && r.DesiredReady != nil {
		of.fleetReady = reportedFraction(r)
	}
}

// part is a fraction in the colour that says whether it is all.
func (t text) part(n, of int) string {
	if n < of {
		return t.colour(red, fraction(n, of))
	}
	return t.colour(green, fraction(n, of))
}

// deploymentBranches returns the lines of bundle deployments. Those that are not ready come first; of the others, at
// most as many are shown that there are maxShown lines. A large tree counts those that are ready, and those on clusters
// that were not read.
func (t treeText) deploymentBranches(members []*report.BundleDeployment, leaf level) []branch {
	rank := func(bd *report.BundleDeployment) int {
		switch {
		case digest.Unread(bd):
			return 1
		case bd.State == report.Ready:
			return 2
		}
		return 0
	}
	members = slices.Clone(members)
	slices.SortStableFunc(members, func(x, y *report.BundleDeployment) int {
		return cmp.Or(rank(x)-rank(y), cmp.Compare(leaf.of(x), leaf.of(y)))
	})
	var out []branch
	for i, bd := range members {
		if t.folds && rank(bd) > 0 {
			return append(out, t.counted(members[i:], leaf)...)
		}
		if !t.All && bd.State == report.Ready && i >= maxShown {
			return append(out, t.folded(len(members)-i, "ready "+leaf.kind, ""))
		}
		out = append(out, t.deployment(bd, leaf))
	}
	return out
}

// counted are the lines that count bundle deployments: those on clusters that were not read, and ready ones.
func (t treeText) counted(members []*report.BundleDeployment, leaf level) []branch {
	n := slices.IndexFunc(members, func(bd *report.BundleDeployment) bool { return !digest.Unread(bd) })
	if n < 0 {
		n = len(members)
	}
	var out []branch
	if n > 0 {
		line := t.folded(n, leaf.kind, "not read")
		well := count(members[:n], func(bd *report.BundleDeployment) bool { return !notWell(bd) })
		line.state, line.fleetState = t.colour(yellow, "?"), fraction(well, n)+" ready"
		out = append(out, line)
	}
	if len(members) > n {
		out = append(out, t.folded(len(members)-n, "ready "+leaf.kind, ""))
	}
	return out
}

func (t treeText) deployment(bd *report.BundleDeployment, leaf level) branch {
	out := branch{name: leaf.kind + " " + printable(cmp.Or(leaf.of(bd), "unknown")), state: t.state(bd.State),
		ready: ready(t.text, bd), reason: bd.Reason, below: t.objects(bd.Resources)}
	t.reported(&out, bd.Reported)
	return out
}

// objects returns the lines of the objects that are not ready, and of all on request.
func (t treeText) objects(all []report.Resource) []branch {
	shown := all
	if !t.All {
		shown = slices.DeleteFunc(slices.Clone(all), func(r report.Resource) bool { return r.State == report.Ready })
	}
	ready, more := len(all)-len(shown), 0
	if !t.All {
		more = len(shown) - len(limited(t.text, shown))
		shown = shown[:len(shown)-more]
	}
	var out []branch
	for _, r := range shown {
		out = append(out, branch{name: printable(r.Key().String()), state: t.state(r.State),
			reason: cmp.Or(r.Reason, r.Message)})
	}
	if more > 0 {
		out = append(out, t.folded(more, "more object", ""))
	}
	if ready > 0 && len(shown) > 0 {
		out = append(out, t.folded(ready, "ready object", ""))
	}
	return out
}

// folded is the line for n things that are not shown. more says something about them, if it is not empty.
func (t treeText) folded(n int, what, more string) branch {
	if more != "" {
		more = " " + more
	}
	return branch{name: fmt.Sprintf("… %s%s (--all)", plural(n, what), more)}
}

// state is a state in its colour.
func (t treeText) state(s report.State) string {
	return t.colour(cmp.Or(stateColours[s], yellow), string(s))
}

var stateColours = map[report.State]string{report.Ready: green, report.Missing: red, report.Unowned: red,
	report.ErrApplied: red}

// minTreeName is the least width of names for which the column of Fleet's states is shown.
const minTreeName = 24

// show writes the branches as a table.
func (t treeText) show(branches []branch) {
	if len(branches) == 0 {
		return
	}
	g := t.grid([]column{
		{header: "TREE"}, {header: "STATE"}, {header: "READY", right: true}, {header: "STATUSES", right: true},
		{header: "FLEET STATE"}, {header: "FLEET READY", right: true}, {header: "REASON"},
	})
	for _, root := range branches {
		g.rows = appendRows(g.rows, "", "", root)
	}
	g.removeEmpty("STATUSES")
	if narrow := t.fits() && g.left() < minTreeName; narrow || !t.All {
		g.removeAt(g.at("REASON"))
	} else {
		g.removeEmpty("REASON")
	}
	if t.fits() && g.left() < minTreeName {
		g.removeAt(g.at("FLEET STATE"))
	}
	g.cutNames()
	t.line(strings.Join(t.rows(g), "\n"))
}

// appendRows adds the rows of a branch. first is written before its name, rest before the names below it.
func appendRows(rows [][]string, first, rest string, of branch) [][]string {
	rows = append(rows, []string{first + of.name, of.state, of.ready, of.statuses, of.fleetState, of.fleetReady,
		printable(of.reason)})
	for i, child := range of.below {
		if i == len(of.below)-1 {
			rows = appendRows(rows, rest+"└─ ", rest+"   ", child)
		} else {
			rows = appendRows(rows, rest+"├─ ", rest+"│  ", child)
		}
	}
	return rows
}

// unknown explains why bundle deployments have no result.
func (t text) unknown(a *report.Audit) {
	reasons := reasonsOf(a.BundleDeployments)
	if len(reasons) > 0 {
		t.emptyLine()
	}
	t.noResult(reasons)
	if reasons[digest.ClusterNotRead] > 0 {
		t.suggest(t.ReadClusters)
	}
}
