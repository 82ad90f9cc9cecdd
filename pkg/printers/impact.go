// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Impact lays out an impact report. Its names are the bundle deployments that lose objects.
func Impact(d *report.Impact, o Options) Document {
	return Document{o, d, d.Deletions, func(l *layout) { impact(l, d) }, func() (out []string) {
		for _, x := range d.Deletions {
			for _, c := range x.Clusters {
				for _, bd := range c.BundleDeployments {
					if bd.Result == report.ImpactRemoves || bd.Result == report.ImpactMayRemove {
						out = append(out, argument(bd.Namespace, bundleDeployment, bd.Name))
					}
				}
			}
		}
		return out
	}}
}

func impact(l *layout, d *report.Impact) {
	for _, x := range d.Deletions {
		l.paint("", strong, answer(&x)+".")
	}
	l.end()
	head(l, "Impact in ", d.Source, d.TakenAt)
	clustersRead(l, d.Source.Clusters)
	notRead(l, d.Gaps, d.Notes)
	for i := range d.Deletions {
		deletion(l, &d.Deletions[i], len(d.Deletions) > 1)
	}
	unknown := func(x report.Deletion) bool { return x.Summary.Unknown > 0 }
	if slices.ContainsFunc(d.Deletions, unknown) {
		l.suggest(l.ReadClusters)
	}
}

// answer is the result of a deletion in one sentence.
func answer(d *report.Deletion) string {
	s, deleting := d.Summary, "deleting "+deletionName(d)
	unknownOn := fmt.Sprintf("on %d of %s", s.Unknown, plural(s.Clusters, "cluster"))
	out := sentence(deleting)
	switch {
	case s.Removed > 0:
		out += removes(d)
	case s.Unknown > 0:
		out = "It is not known what " + deleting + " removes " + unknownOn
	case d.Unread != "":
		return "It is not known what " + deleting + " removes: " + d.Unread
	default:
		out += " removes no object"
	}
	if s.Kept > 0 {
		out += "; " + plural(s.Kept, "object") + digest.Form(s.Kept, " is kept", " are kept")
	}
	if s.Unknown > 0 && s.Removed > 0 {
		out += "; it is not known what is removed " + unknownOn
	}
	if d.Unread != "" {
		out += "; there may be more: " + d.Unread
	}
	return out
}

// removes says how many objects a deletion removes, and where.
func removes(d *report.Deletion) string {
	verb, where := " removes ", plural(d.Summary.Removing, "cluster")
	uncertain := func(c report.ClusterImpact) bool { return c.Result == report.ImpactMayRemove }
	if slices.ContainsFunc(d.Clusters, uncertain) {
		verb = " may remove "
	}
	if d.Summary.Removing == 0 {
		where = "the management cluster"
	}
	return verb + plural(d.Summary.Removed, "object") + " on " + where + amongThem(d.Summary.Losses)
}

// deletionName is a deleted object as an argument of this program.
func deletionName(d *report.Deletion) string {
	return strings.ToLower(d.Kind) + "/" + strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
}

// amongThem lists the removed objects whose deletion loses more than the object.
func amongThem(l report.Losses) string {
	var parts []string
	if n := l.CustomResourceDefinitions; n > 0 {
		what := plural(l.CustomResources, "custom resource")
		switch {
		case l.Uncounted == n:
			what = "custom resources that could not be counted"
		case l.Uncounted > 0:
			what = "at least " + what
		}
		parts = append(parts, plural(n, "CustomResourceDefinition")+" with "+what)
	}
	if n := l.PersistentVolumeClaims; n > 0 {
		parts = append(parts, plural(n, "PersistentVolumeClaim"))
	}
	if n := l.Namespaces; n > 0 {
		parts = append(parts, plural(n, "Namespace")+" with everything in "+digest.Form(n, "it", "them"))
	}
	if len(parts) == 0 {
		return ""
	}
	return ", among them " + digest.List(parts)
}

func deletion(l *layout, d *report.Deletion, named bool) {
	if named {
		l.title(deletionName(d))
	}
	for _, ns := range d.Namespaces {
		l.say("", fmt.Sprintf("Namespace %s of the management cluster: %s.", ns.Name, ns.Message))
		l.list("      ", faint("claims in it"), report.Texts(ns.PersistentVolumeClaims, removedObject))
		if len(ns.BundleDeployments) > 0 {
			l.say("  ", "Other bundle deployments have objects in it: "+some(l, ns.BundleDeployments)+".")
		}
	}
	l.sentences("", d.Notes...)
	if len(d.Namespaces)+len(d.Notes) > 0 {
		l.end()
	}
	groups := folded(d.Clusters)
	impactTable(l, groups)
	listed(l, "", groups, " groups of clusters", func(g []report.ClusterImpact) { clusterImpact(l, g) })
}

// folded groups the clusters with equal results.
func folded(clusters []report.ClusterImpact) [][]report.ClusterImpact {
	out := grouped(clusters, func(c report.ClusterImpact) string {
		c.Cluster, c.BundleDeployments = "", slices.Clone(c.BundleDeployments)
		for i := range c.BundleDeployments {
			c.BundleDeployments[i].Namespace = ""
		}
		return alike(c)
	})
	slices.SortStableFunc(out, func(x, y []report.ClusterImpact) int {
		return cmp.Or(impactOrder(x[0].Result)-impactOrder(y[0].Result), cmp.Compare(y[0].Removed, x[0].Removed))
	})
	return out
}

var impactResults = []report.ImpactResult{report.ImpactRemoves, report.ImpactMayRemove, report.ImpactUnknown,
	report.ImpactKeeps, report.ImpactNothing}

func impactOrder(r report.ImpactResult) int { return slices.Index(impactResults, r) }

func impactTable(l *layout, groups [][]report.ClusterImpact) {
	if len(groups) == 0 {
		return
	}
	t := newTable(l, []column{{header: "CLUSTER"}, {header: "RESULT", whole: true}, {header: "REMOVED", right: true},
		{header: "CRDS", right: true}, {header: "CUSTOM RESOURCES", short: "CRS", right: true},
		{header: "CLAIMS", right: true}, {header: "NAMESPACES", short: "NS", right: true},
		{header: "KEPT", right: true}})
	for _, group := range groups {
		c := group[0]
		name := cmp.Or(c.Cluster, "this cluster")
		if n := len(group); n > 1 {
			name += fmt.Sprintf(" and %d more", n-1)
		}
		row := []phrase{join(name), word(string(c.Result))}
		for _, n := range []int{c.Removed, c.CustomResourceDefinitions, c.CustomResources, c.PersistentVolumeClaims,
			c.Namespaces, c.Kept} {
			row = append(row, join(n))
		}
		switch {
		case c.Result == report.ImpactUnknown:
			for i := range row[2:] {
				row[2+i] = join("?")
			}
		case c.Uncounted > 0 && c.Uncounted == c.CustomResourceDefinitions:
			row[4] = join("?")
		case c.Uncounted > 0:
			row[4] = join(row[4], "+?")
		}
		t.add(row...)
	}
	t.fit()
	l.add(t)
	l.end()
}

func clusterImpact(l *layout, group []report.ClusterImpact) {
	c := group[0]
	if c.Result == report.ImpactNothing && l.limits() {
		return
	}
	names := report.Texts(group, func(c report.ClusterImpact) string { return cmp.Or(c.Cluster, "this cluster") })
	l.paint("", strong, some(l, names))
	bds := slices.SortedStableFunc(slices.Values(c.BundleDeployments), func(x, y report.DeploymentImpact) int {
		return impactOrder(x.Result) - impactOrder(y.Result)
	})
	listed(l, "  ", bds, " bundle deployments", func(d report.DeploymentImpact) { deploymentImpact(l, d) })
	l.end()
}

func deploymentImpact(l *layout, d report.DeploymentImpact) {
	l.line("  ", d.Name, " ", word(string(d.Result)))
	if len(d.Releases) == 0 {
		l.sentences("    ", d.Message)
	}
	if r := d.Reported; r != nil {
		l.say("    ", reportedObjects(r))
	}
	l.sentences("    ", d.Notes...)
	for _, r := range d.Releases {
		releaseImpact(l, r)
	}
}

// reportedObjects describes what the status of a BundleDeployment lists.
func reportedObjects(r *report.ReportedObjects) string {
	out := "Fleet reports no number of objects"
	if r.Desired != nil {
		out = "Fleet reports " + plural(*r.Desired, "object")
	}
	if r.Objects == 0 {
		return out + ", and lists none."
	}
	out += fmt.Sprintf(", and lists %d", r.Objects)
	if len(r.Listed) > 0 {
		out += ", among them " + first(report.Texts(r.Listed, refName), maxShown)
	}
	if r.Truncated {
		out += "; the list is truncated"
	}
	return out + "."
}

func refName(r object.Ref) string {
	return r.Kind + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
}

func releaseImpact(l *layout, r report.ReleaseImpact) {
	what := fmt.Sprintf("release %s: %s", r.Release, r.Message)
	if r.When == "GarbageCollection" {
		what += ", in a later garbage collection"
	}
	l.say("    ", what+".")
	removed := slices.SortedStableFunc(slices.Values(r.Removed), func(x, y report.RemovedObject) int {
		return hazard(x) - hazard(y)
	})
	l.list("      ", faint("removes"), report.Texts(removed, removedObject))
	var kept []string
	for _, k := range r.Kept {
		if why := keptReasons[k.Reason]; why != "" {
			kept = append(kept, refName(k.Ref)+": "+why)
		}
	}
	l.list("      ", faint("keeps"), kept)
	for _, k := range r.Kept { // KEPT counts only objects of the release
		if k.Reason == report.KeptNamespace {
			l.say("      ", refName(k.Ref)+" stays: Helm does not delete the namespace of a release.")
		}
	}
	l.list("      ", faint("no longer exists"), report.Texts(r.Absent, refName))
	l.list("      ", faint("hooks"), report.Texts(r.Hooks, hook))
	l.sentences("      ", r.Notes...)
}

func hook(h report.HookImpact) string {
	does := "is a hook"
	if len(h.Runs) > 0 {
		does = "runs on " + strings.Join(h.Runs, " and ")
	}
	if h.Stays {
		does += ", and stays if it exists"
	}
	return h.Kind + " " + h.Name + " " + does
}

var keptReasons = map[string]string{
	"ResourcePolicy": "the manifest has helm.sh/resource-policy",
	"Hook":           "the manifest has helm.sh/hook",
	"KeepResources":  "nothing of the release is deleted",
	"ClaimTemplate":  "claims of a StatefulSet stay",
}

// hazard orders removed objects: those whose deletion loses most come first.
func hazard(o report.RemovedObject) int {
	return slices.Index([]bool{
		o.Kind == "CustomResourceDefinition",
		o.Kind == "Namespace",
		o.Kind == "PersistentVolumeClaim",
		o.OwnedBy != "" || len(o.DesiredBy) > 0,
		o.Cause != report.CauseManifest,
		true,
	}, true)
}

// causeKinds are the kinds of the objects whose deletion deletes others.
var causeKinds = map[report.RemovalCause]string{report.CauseDefinition: "CustomResourceDefinition",
	report.CauseNamespace: "Namespace", report.CauseOwner: "StatefulSet"}

func removedObject(o report.RemovedObject) string {
	out := refName(o.Ref)
	switch {
	case o.CustomResources != nil:
		out += " with " + plural(*o.CustomResources, "custom resource")
	case o.Kind == "CustomResourceDefinition":
		out += " with its custom resources, which could not be counted"
	case o.Kind == "Namespace":
		out += " with everything in it"
	}
	switch v := o.Volume; {
	case v == nil:
	case v.Name == "":
		out += " (not bound to a volume)"
	case v.ReclaimPolicy == "Delete":
		out += " (its volume is deleted with the data)"
	case v.ReclaimPolicy == "":
		out += " (the reclaim policy of its volume could not be read)"
	default:
		out += " (its volume stays: reclaim policy " + v.ReclaimPolicy + ")"
	}
	if kind := causeKinds[o.Cause]; kind != "" {
		out += fmt.Sprintf(", with %s %s", kind, o.By)
	}
	if o.Cause == report.CauseCopies {
		out += ", a copy of downstreamResources"
	}
	if o.OwnedBy != "" {
		out += ", which release " + o.OwnedBy + " owns"
	}
	if len(o.DesiredBy) > 0 {
		out += ", which " + strings.Join(o.DesiredBy, ", ") + " desires too"
	}
	if len(o.Affects) > 0 {
		out += "; it also deletes objects of " + strings.Join(o.Affects, ", ")
	}
	return out
}
