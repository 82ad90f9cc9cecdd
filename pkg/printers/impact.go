// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Impact lays out an impact report. Its names are the bundle deployments that lose objects.
func Impact(d *report.Impact, o Options) Document {
	return Document{o, d, d.Deletions, func(t text, b *bytes.Buffer) error {
		return t.impact(b, d)
	}, func(b *bytes.Buffer) {
		for _, x := range d.Deletions {
			for _, c := range x.Clusters {
				for _, bd := range c.BundleDeployments {
					if bd.Result == report.ImpactRemoves || bd.Result == report.ImpactMayRemove {
						printName(b, bd.Namespace, bundleDeployment, bd.Name)
					}
				}
			}
		}
	}}
}

func (t text) impact(b *bytes.Buffer, d *report.Impact) error {
	for _, x := range d.Deletions {
		t.painted(b, "", bold, answer(&x)+".")
	}
	b.WriteByte('\n')
	t.head(b, "Impact in ", d.Source, d.TakenAt)
	t.clustersRead(b, d.Source.Clusters)
	t.notRead(b, d.Gaps, d.Notes)
	for i := range d.Deletions {
		if err := t.deletion(b, &d.Deletions[i], len(d.Deletions) > 1); err != nil {
			return err
		}
	}
	if t.ReadClusters != "" && slices.ContainsFunc(d.Deletions, func(x report.Deletion) bool {
		return x.Summary.Unknown > 0
	}) {
		fmt.Fprintf(b, "%s %s\n", t.faint("→"), printable(t.ReadClusters))
	}
	return nil
}

// answer is the result of a deletion in one sentence.
func answer(d *report.Deletion) string {
	s := d.Summary
	out := "Deleting " + deletionName(d) + " "
	switch {
	case s.Removed > 0:
		may := "removes "
		if slices.ContainsFunc(d.Clusters, func(c report.ClusterImpact) bool {
			return c.Result == report.ImpactMayRemove
		}) {
			may = "may remove "
		}
		on := plural(s.Removing, "cluster")
		if s.Removing == 0 {
			on = "the management cluster"
		}
		out += may + plural(s.Removed, "object") + " on " + on + amongThem(s.Losses)
	case s.Unknown > 0:
		out = fmt.Sprintf("It is not known what deleting %s removes on %d of %s", deletionName(d), s.Unknown,
			plural(s.Clusters, "cluster"))
	case d.Unread != "":
		return "It is not known what deleting " + deletionName(d) + " removes: " + d.Unread
	default:
		out += "removes no object"
	}
	switch {
	case s.Kept == 1:
		out += "; 1 object is kept"
	case s.Kept > 1:
		out += fmt.Sprintf("; %d objects are kept", s.Kept)
	}
	if s.Unknown > 0 && s.Removed > 0 {
		out += fmt.Sprintf("; it is not known what is removed on %d of %s", s.Unknown, plural(s.Clusters, "cluster"))
	}
	if d.Unread != "" {
		out += "; there may be more: " + d.Unread
	}
	return out
}

// deletionName is a deleted object as an argument of this program.
func deletionName(d *report.Deletion) string {
	name := strings.ToLower(d.Kind) + "/"
	if d.Namespace != "" {
		name += d.Namespace + "/"
	}
	return name + d.Name
}

// amongThem lists the removed objects whose deletion loses more than the object.
func amongThem(l report.Losses) string {
	var parts []string
	if n := l.CustomResourceDefinitions; n > 0 {
		of := plural(l.CustomResources, "custom resource")
		switch {
		case l.Uncounted == n:
			of = "custom resources that could not be counted"
		case l.Uncounted > 0:
			of = "at least " + of
		}
		parts = append(parts, plural(n, "CustomResourceDefinition")+" with "+of)
	}
	if n := l.PersistentVolumeClaims; n > 0 {
		parts = append(parts, plural(n, "PersistentVolumeClaim"))
	}
	if n := l.Namespaces; n > 0 {
		them := "them"
		if n == 1 {
			them = "it"
		}
		parts = append(parts, plural(n, "Namespace")+" with everything in "+them)
	}
	if len(parts) == 0 {
		return ""
	}
	last := len(parts) - 1
	if last > 0 {
		parts = []string{strings.Join(parts[:last], ", ") + " and " + parts[last]}
	}
	return ", among them " + parts[0]
}

func (t text) deletion(b *bytes.Buffer, d *report.Deletion, named bool) error {
	if named {
		fmt.Fprintln(b, t.bold(printable(deletionName(d))))
	}
	for _, ns := range d.Namespaces {
		t.wrapped(b, "", fmt.Sprintf("Namespace %s of the management cluster: %s.", ns.Name, ns.Message))
		t.list(b, "claims in it", texts(ns.PersistentVolumeClaims, removedObject))
		if len(ns.BundleDeployments) > 0 {
			t.wrapped(b, "  ", "Other bundle deployments have objects in it: "+t.some(ns.BundleDeployments)+".")
		}
	}
	t.sentences(b, "", d.Notes...)
	if len(d.Namespaces)+len(d.Notes) > 0 {
		b.WriteByte('\n')
	}
	groups := folded(d.Clusters)
	if err := t.impactTable(b, groups); err != nil {
		return err
	}
	listed(t, b, "", groups, " groups of clusters", func(g []report.ClusterImpact) { t.clusterImpact(b, g) })
	return nil
}

// folded groups the clusters with equal results.
func folded(clusters []report.ClusterImpact) [][]report.ClusterImpact {
	out := grouped(clusters, func(c report.ClusterImpact) string {
		c.Cluster, c.BundleDeployments = "", slices.Clone(c.BundleDeployments)
		for i := range c.BundleDeployments {
			c.BundleDeployments[i].Namespace = ""
		}
		raw, _ := json.Marshal(c) // a report has a JSON form
		return string(raw)
	})
	slices.SortStableFunc(out, func(x, y []report.ClusterImpact) int {
		return cmp.Or(impactOrder(x[0].Result)-impactOrder(y[0].Result), cmp.Compare(y[0].Removed, x[0].Removed))
	})
	return out
}

var impactResults = []report.ImpactResult{report.ImpactRemoves, report.ImpactMayRemove, report.ImpactUnknown,
	report.ImpactKeeps, report.ImpactNothing}

func impactOrder(r report.ImpactResult) int { return slices.Index(impactResults, r) }

func (t text) impactTable(b *bytes.Buffer, groups [][]report.ClusterImpact) error {
	if len(groups) == 0 {
		return nil
	}
	g := t.grid([]column{{header: "CLUSTER"}, {header: "RESULT", whole: true}, {header: "REMOVED", right: true},
		{header: "CRDS", right: true},
		{header: "CUSTOM RESOURCES", short: "CRS", right: true}, {header: "CLAIMS", right: true}, {header: "NAMESPACES",
			short: "NS", right: true}, {header: "KEPT", right: true}})
	for _, group := range groups {
		c := group[0]
		name := cmp.Or(c.Cluster, "this cluster")
		if n := len(group); n > 1 {
			name += fmt.Sprintf(" and %d more", n-1)
		}
		row := []string{printable(name), t.impactResult(c.Result)}
		for _, n := range []int{c.Removed, c.CustomResourceDefinitions, c.CustomResources, c.PersistentVolumeClaims,
			c.Namespaces, c.Kept} {
			row = append(row, fmt.Sprint(n))
		}
		switch {
		case c.Uncounted > 0 && c.Uncounted == c.CustomResourceDefinitions:
			row[4] = "?"
		case c.Uncounted > 0:
			row[4] += "+?"
		}
		if c.Result == report.ImpactUnknown {
			copy(row[2:], []string{"?", "?", "?", "?", "?", "?"})
		}
		g.rows = append(g.rows, row)
	}
	g.fit()
	return g.write(b)
}

var impactColours = map[report.ImpactResult]string{report.ImpactRemoves: red, report.ImpactMayRemove: red,
	report.ImpactUnknown: yellow, report.ImpactKeeps: green}

func (t text) impactResult(r report.ImpactResult) string {
	return t.colour(impactColours[r], printable(string(r)))
}

func (t text) clusterImpact(b *bytes.Buffer, group []report.ClusterImpact) {
	c := group[0]
	if c.Result == report.ImpactNothing && !t.wide {
		return
	}
	names := texts(group, func(c report.ClusterImpact) string { return cmp.Or(c.Cluster, "this cluster") })
	t.painted(b, "", bold, t.some(names))
	bds := slices.Clone(c.BundleDeployments)
	slices.SortStableFunc(bds, func(x, y report.DeploymentImpact) int {
		return impactOrder(x.Result) - impactOrder(y.Result)
	})
	listed(t, b, "  ", bds, " bundle deployments", func(d report.DeploymentImpact) { t.deploymentImpact(b, d) })
	b.WriteByte('\n')
}

func (t text) deploymentImpact(b *bytes.Buffer, d report.DeploymentImpact) {
	fmt.Fprintf(b, "  %s %s\n", printable(d.Name), t.impactResult(d.Result))
	if len(d.Releases) == 0 {
		t.sentences(b, "    ", d.Message)
	}
	if r := d.Reported; r != nil {
		t.wrapped(b, "    ", reportedObjects(r))
	}
	t.sentences(b, "    ", d.Notes...)
	for _, r := range d.Releases {
		t.releaseImpact(b, r)
	}
}

// reportedObjects describes what the status of a BundleDeployment lists.
func reportedObjects(r *report.ReportedObjects) string {
	out := "Fleet reports "
	if r.Desired != nil {
		out += plural(*r.Desired, "object")
	} else {
		out += "no number of objects"
	}
	if r.Objects == 0 {
		return out + ", and lists none."
	}
	out += fmt.Sprintf(", and lists %d", r.Objects)
	if len(r.Listed) > 0 {
		out += ", among them " + first(texts(r.Listed, refName), maxShown)
	}
	if r.Truncated {
		out += "; the list is truncated"
	}
	return out + "."
}

func refName(r object.Ref) string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

func (t text) releaseImpact(b *bytes.Buffer, r report.ReleaseImpact) {
	what := fmt.Sprintf("release %s: %s", r.Release, r.Message)
	if r.When == "GarbageCollection" {
		what += ", in a later garbage collection"
	}
	t.wrapped(b, "    ", what+".")
	removed := slices.Clone(r.Removed)
	slices.SortStableFunc(removed, func(x, y report.RemovedObject) int { return hazard(x) - hazard(y) })
	t.list(b, "removes", texts(removed, removedObject))
	var kept []string
	for _, k := range r.Kept {
		if why := keptReasons[k.Reason]; why != "" {
			kept = append(kept, refName(k.Ref)+": "+why)
		}
	}
	t.list(b, "keeps", kept)
	for _, k := range r.Kept { // KEPT counts only objects of the release
		if k.Reason == report.KeptNamespace {
			t.wrapped(b, "      ", refName(k.Ref)+" stays: Helm does not delete the namespace of a release.")
		}
	}
	t.list(b, "no longer exists", texts(r.Absent, refName))
	t.list(b, "hooks", texts(r.Hooks, hook))
	t.sentences(b, "      ", r.Notes...)
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

// list writes objects below a heading, one per line.
func (t text) list(b *bytes.Buffer, heading string, all []string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "      %s\n", t.faint(heading))
	const indent = "        "
	listed(t, b, indent, all, "", func(s string) {
		fmt.Fprintln(b, indent+strings.Join(t.lines(s, 8, 10), "\n  "+indent))
	})
}

// hazard orders removed objects: those whose deletion loses most come first.
func hazard(o report.RemovedObject) int {
	for i, first := range []bool{o.Kind == "CustomResourceDefinition", o.Kind == "Namespace",
		o.Kind == "PersistentVolumeClaim",
		o.OwnedBy != "" || len(o.DesiredBy) > 0, o.Cause != report.CauseManifest} {
		if first {
			return i
		}
	}
	return 5
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
	switch o.Cause {
	case report.CauseDefinition, report.CauseNamespace, report.CauseOwner:
		out += fmt.Sprintf(", with %s %s", causeKinds[o.Cause], o.By)
	case report.CauseCopies:
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
