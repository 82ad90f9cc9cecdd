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
	return Document{o, a, a.BundleDeployments, func(l *layout) { tree(l, a) }, noNames}
}

// level is a level of a tree.
type level struct {
	kind string
	name func(*report.BundleDeployment) string // "namespace/name"
}

var (
	gitRepos = level{"gitrepo", func(bd *report.BundleDeployment) string { return bd.GitRepo }}
	helmOps  = level{"helmop", func(bd *report.BundleDeployment) string { return bd.HelmOp }}
	bundles  = level{"bundle", func(bd *report.BundleDeployment) string { return bd.Bundle }}
	clusters = level{"cluster", func(bd *report.BundleDeployment) string { return bd.Cluster }}
	releases = level{"bundledeployment", (*report.BundleDeployment).Key}
)

// shapes are the levels of trees by the kind of their root. The last level names the bundle deployments.
var shapes = map[string][]level{
	gitRepos.kind: {gitRepos, bundles, clusters},
	helmOps.kind:  {helmOps, bundles, clusters},
	bundles.kind:  {bundles, clusters},
	clusters.kind: {clusters, bundles},
	releases.kind: {releases},
}

// branch is a line of a tree with the lines below it.
type branch struct {
	name                                           string
	state, ready, statuses, fleetState, fleetReady phrase
	reason                                         string
	below                                          []branch
}

// forest makes the branches of a tree.
type forest struct {
	layout     *layout
	report     *report.Audit
	aggregates map[string]*report.Aggregate // by kind and "namespace/name"
	// refused are the objects, as in aggregates, that a controller does not process.
	refused map[string]bool
	// folds is true if the tree is large: it counts what is well.
	folds bool
}

func newForest(l *layout, a *report.Audit) forest {
	out := forest{layout: l, report: a, aggregates: map[string]*report.Aggregate{}, refused: map[string]bool{},
		folds: len(a.BundleDeployments) > digest.MaxDetailed && !l.All}
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

func tree(l *layout, a *report.Audit) {
	head(l, "Tree of ", a.Source, a.TakenAt)
	notRead(l, a.Gaps, a.Notes)
	t := newForest(l, a)
	branches := t.named(a.Scope.Targets)
	if len(a.Scope.Targets) == 0 {
		branches = t.everything()
	}
	if len(branches) == 0 {
		l.line(styled(yellow, "No bundle deployments in this scope."))
	}
	showBranches(l, branches)
	unknown(l, a)
	if findings := a.Summary.Findings.String(); findings != "" {
		l.end()
		l.line("Findings: " + findings + " (-o table shows them).")
	}
}

// named returns the branches of targets such as "gitrepo/apps". A kind, or a name without a namespace, can have
// several.
func (t forest) named(targets []string) []branch {
	var out []branch
	for _, target := range slices.Compact(slices.Clone(targets)) {
		kind, name, _ := strings.Cut(target, "/")
		if levels := shapes[kind]; len(levels) > 0 {
			out = append(out, t.branches(t.members(func(bd *report.BundleDeployment) bool {
				key := levels[0].name(bd) // with or without the namespace; an empty name is that of every object
				return key != "" && (name == "" || strings.HasSuffix("/"+key, "/"+name))
			}), levels)...)
		}
	}
	return out
}

// everything returns the branches of all GitRepos and HelmOps, and of the bundles without one.
func (t forest) everything() []branch {
	roots := []level{gitRepos, helmOps, bundles, releases}
	first := func(bd *report.BundleDeployment) int {
		return slices.IndexFunc(roots, func(root level) bool { return root.name(bd) != "" })
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
func (t forest) withEmpty(root level, branches []branch, members []*report.BundleDeployment) []branch {
	known := map[string]bool{}
	for _, bd := range members {
		known[root.name(bd)] = true
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

func (t forest) members(in func(*report.BundleDeployment) bool) []*report.BundleDeployment {
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
func (t forest) branches(members []*report.BundleDeployment, levels []level) []branch {
	if len(levels) == 1 {
		return t.deploymentBranches(members, levels[0])
	}
	groups := map[string][]*report.BundleDeployment{}
	for _, bd := range members {
		groups[levels[0].name(bd)] = append(groups[levels[0].name(bd)], bd)
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
	return append(out, foldedLine(len(well), "ready "+levels[0].kind, byReports(counted)))
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
func (t forest) aggregate(l level, key string, members []*report.BundleDeployment) branch {
	out := branch{name: l.kind + " " + key, state: stateOf(members), ready: styled(yellow, "?")}
	t.reported(&out, nil)
	s := t.aggregates[l.kind+" "+key]
	if s == nil {
		return out
	}
	switch {
	case s.Actual == nil:
		out.statuses = join(cmp.Or(digest.ReportedFraction(s.Statuses), none))
	case s.Actual.BundleDeployments == 0:
		out.state, out.ready = join("not deployed"), join(none)
	default:
		out.ready = part(s.Actual.Counts.Ready, s.Actual.Counts.Desired)
	}
	if s.Actual == nil && len(members) == 0 {
		out.state = styled(yellow, "?")
	}
	if t.refused[l.kind+" "+key] {
		out.state = styled(red, "not processed")
	}
	t.reported(&out, s.Reported)
	return out
}

// stateOf counts the bundle deployments that are ready, and those on clusters that were not read.
func stateOf(members []*report.BundleDeployment) phrase {
	ready := report.Count(members, func(bd *report.BundleDeployment) bool { return bd.State == report.Ready })
	unread := report.Count(members, digest.Unread)
	hidden := styled(yellow, fmt.Sprintf("%d ?", unread))
	switch known := len(members) - unread; {
	case unread == 0:
		return join(part(ready, known), " ready")
	case known == 0:
		return hidden
	default:
		return join(part(ready, known), " ready, ", hidden)
	}
}

// reported adds what Fleet reports.
func (t forest) reported(line *branch, r *report.Reported) {
	line.fleetState, line.fleetReady = join(none), join(none)
	switch {
	case r == nil:
		return
	case r.ReadyBundleDeployments != nil && r.BundleDeployments != nil:
		line.fleetState = join(fraction(*r.ReadyBundleDeployments, *r.BundleDeployments), " ready")
	default:
		line.fleetState = join(cmp.Or(t.layout.bounded(r.State), none))
	}
	if r.Ready != nil && r.DesiredReady != nil {
		line.fleetReady = join(reportedFraction(r))
	}
}

// part is a fraction in the colour that says whether it is all.
func part(n, all int) phrase {
	if n < all {
		return styled(red, fraction(n, all))
	}
	return styled(green, fraction(n, all))
}

// deploymentBranches returns the lines of bundle deployments. Those that are not ready come first; of the others, at
// most as many are shown that there are maxShown lines. A large tree counts those that are ready, and those on clusters
// that were not read.
func (t forest) deploymentBranches(members []*report.BundleDeployment, leaf level) []branch {
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
		return cmp.Or(rank(x)-rank(y), cmp.Compare(leaf.name(x), leaf.name(y)))
	})
	var out []branch
	for i, bd := range members {
		if t.folds && rank(bd) > 0 {
			return append(out, t.counted(members[i:], leaf)...)
		}
		if !t.layout.All && bd.State == report.Ready && i >= maxShown {
			return append(out, foldedLine(len(members)-i, "ready "+leaf.kind, ""))
		}
		out = append(out, t.deployment(bd, leaf))
	}
	return out
}

// counted are the lines that count bundle deployments: those on clusters that were not read, and ready ones.
func (t forest) counted(members []*report.BundleDeployment, leaf level) []branch {
	n := slices.IndexFunc(members, func(bd *report.BundleDeployment) bool { return !digest.Unread(bd) })
	if n < 0 {
		n = len(members)
	}
	var out []branch
	if n > 0 {
		line := foldedLine(n, leaf.kind, "not read")
		well := report.Count(members[:n], func(bd *report.BundleDeployment) bool { return !notWell(bd) })
		line.state, line.fleetState = styled(yellow, "?"), join(fraction(well, n), " ready")
		out = append(out, line)
	}
	if len(members) > n {
		out = append(out, foldedLine(len(members)-n, "ready "+leaf.kind, ""))
	}
	return out
}

func (t forest) deployment(bd *report.BundleDeployment, leaf level) branch {
	out := branch{name: leaf.kind + " " + cmp.Or(leaf.name(bd), "unknown"), state: stateIn(bd.State),
		ready: ready(bd), reason: bd.Reason, below: t.objects(bd.Resources)}
	t.reported(&out, bd.Reported)
	return out
}

// objects returns the lines of the objects that are not ready, and of all on request.
func (t forest) objects(all []report.Resource) []branch {
	shown, ready, more := all, 0, 0
	if !t.layout.All {
		unready := slices.DeleteFunc(slices.Clone(all), func(r report.Resource) bool { return r.State == report.Ready })
		shown = limited(t.layout, unready)
		ready, more = len(all)-len(unready), len(unready)-len(shown)
	}
	var out []branch
	for _, r := range shown {
		out = append(out, branch{name: r.Key().String(), state: stateIn(r.State),
			reason: cmp.Or(r.Reason, r.Message)})
	}
	if more > 0 {
		out = append(out, foldedLine(more, "more object", ""))
	}
	if ready > 0 && len(shown) > 0 {
		out = append(out, foldedLine(ready, "ready object", ""))
	}
	return out
}

// foldedLine is the line for n things that are not shown. more says something about them, if it is not empty.
func foldedLine(n int, what, more string) branch {
	if more != "" {
		more = " " + more
	}
	return branch{name: fmt.Sprintf("… %s%s (--all)", plural(n, what), more)}
}

// stateIn is a state in its style.
func stateIn(s report.State) phrase { return styled(cmp.Or(stateStyles[s], yellow), string(s)) }

var stateStyles = map[report.State]style{report.Ready: green, report.Missing: red, report.Unowned: red,
	report.ErrApplied: red}

// minTreeName is the least width of names for which the column of Fleet's states is shown.
const minTreeName = 24

// showBranches adds the branches as a table.
func showBranches(l *layout, branches []branch) {
	if len(branches) == 0 {
		return
	}
	t := newTable(l, []column{
		{header: "TREE"}, {header: "STATE"}, {header: "READY", right: true}, {header: "STATUSES", right: true},
		{header: "FLEET STATE"}, {header: "FLEET READY", right: true}, {header: "REASON"},
	})
	for _, root := range branches {
		addBranch(t, "", "", root)
	}
	t.removeEmpty("STATUSES")
	if narrow := l.fits() && t.left() < minTreeName; narrow || !l.All {
		t.removeAt(t.at("REASON"))
	} else {
		t.removeEmpty("REASON")
	}
	if l.fits() && t.left() < minTreeName {
		t.removeAt(t.at("FLEET STATE"))
	}
	t.cutNames()
	l.add(t)
}

// addBranch adds the rows of a branch. first is written before its name, rest before the names below it.
func addBranch(t *table, first, rest string, b branch) {
	t.add(join(first+b.name), b.state, b.ready, b.statuses, b.fleetState, b.fleetReady, join(b.reason))
	for i, child := range b.below {
		if i == len(b.below)-1 {
			addBranch(t, rest+"└─ ", rest+"   ", child)
		} else {
			addBranch(t, rest+"├─ ", rest+"│  ", child)
		}
	}
}

// unknown explains why bundle deployments have no result.
func unknown(l *layout, a *report.Audit) {
	reasons := reasonsOf(a.BundleDeployments)
	if len(reasons) > 0 {
		l.end()
	}
	noResult(l, reasons)
	if reasons[digest.ClusterNotRead] > 0 {
		l.suggest(l.ReadClusters)
	}
}
