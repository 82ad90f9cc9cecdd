// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// maxNamed is the number of objects of a bundle deployment that are named, and of findings of a check about it.
	maxNamed = 20
	// maxNamedObjects is the number of objects of all bundle deployments that are named.
	maxNamedObjects = 5000
	// maxNamedFindings is the number of findings of a check that are named.
	maxNamedFindings = 500
	// maxFlapping is the number of flapping fields of a bundle deployment that are named.
	maxFlapping = 5
)

// states are those of objects, in the order in which they are named. Ready objects are not named.
var states = []report.State{report.Missing, report.Unowned, report.Modified, report.NotReady, report.Unknown,
	report.Orphaned, report.Ready}

var fleetAPI = v1alpha1.GroupVersion.String()

// collection makes the series of one view.
type collection struct {
	series
	*view.View
	*history
	// cluster is the cluster ("namespace/name") of bundle deployments of which only the release is known.
	cluster string
	named   int // objects
	// releaseObjects are the named objects by the namespace of a release, crowded the namespaces with bundle
	// deployments that have no series.
	releaseObjects share[string]
	crowded        map[string]bool
}

// labels are the values of deploymentLabels, followed by others.
func (c *collection) labels(d *view.Deployment, others ...string) []string {
	clusterNamespace, cluster := view.Split(cmp.Or(d.Cluster, c.cluster))
	bundleNamespace, bundle := view.Split(d.Bundle)
	_, repo := view.Split(d.GitRepo)
	return slices.Concat([]string{d.Namespace, d.Name, clusterNamespace, cluster, bundleNamespace, bundle, repo},
		others)
}

// ofRef are the values of objectLabels, followed by others.
func ofRef(r object.Ref, others ...string) []string {
	return slices.Concat([]string{r.Kind, object.Group(r.APIVersion), r.Namespace, r.Name}, others)
}

func (c *collection) addDeployments() {
	for _, d := range c.Deployments {
		if c.deployments[d.ID] == nil {
			namespace := releaseNamespace(d)
			c.crowded[namespace] = true
			c.add(unnamedDeployments, 1, namespace)
			continue
		}
		labels := func(others ...string) []string { return c.labels(d, others...) }
		c.add(deploymentState, 1, labels(string(d.State), d.Reason)...)
		if d.Read {
			c.addCounts(desiredObjects, objects, d.Counts, labels)
		}
		if r := d.Reported; r != nil {
			c.add(reportedState, 1, labels(r.State)...)
			c.addReported(reportedDesired, reportedObjects, r, labels)
		}
		if d.Exists {
			c.add(pending, number(d.Pending), labels()...)
		}
		if d.Blocker != "" {
			c.add(blocked, 1, labels(string(d.Blocker), string(d.Root))...)
		}
		if d.Reason == "" {
			c.addObjects(d)
		}
	}
	for _, x := range c.deployments {
		if x.read {
			c.addCounters(x)
		}
	}
}

func (c *collection) addCounts(desired, byState string, n report.Counts, labels func(...string) []string) {
	c.add(desired, float64(n.Desired), labels()...)
	counts := map[report.State]int{report.Ready: n.Ready, report.Missing: n.Missing, report.Unowned: n.Unowned,
		report.Modified: n.Modified, report.NotReady: n.NotReady, report.Orphaned: n.Orphaned,
		report.Unknown: n.Unknown}
	for _, s := range states {
		c.add(byState, float64(counts[s]), labels(string(s))...)
	}
}

// addReported adds the numbers that Fleet reports. One that it does not report has no series.
func (c *collection) addReported(desired, byState string, r *report.Reported, labels func(...string) []string) {
	c.addKnown(desired, r.DesiredReady, labels()...)
	counts := map[report.State]*int{report.Ready: r.Ready, report.Missing: r.Missing, report.Modified: r.Modified,
		report.NotReady: r.NotReady, report.Orphaned: r.Orphaned}
	for _, s := range states {
		c.addKnown(byState, counts[s], labels(string(s))...)
	}
}

// addKnown adds a number, if it is known.
func (c *collection) addKnown(name string, n *int, labels ...string) {
	if n != nil {
		c.add(name, float64(*n), labels...)
	}
}

// addObjects names the objects of a bundle deployment that are not Ready, and the fields that flap.
func (c *collection) addObjects(d *view.Deployment) {
	x := c.deployments[d.ID]
	for _, s := range x.since {
		c.earliest(oldest, s.when, c.labels(d, string(s.state))...)
	}
	var bad []view.Object
	for _, o := range d.Objects {
		if o.State != report.Ready && !o.Expired() {
			bad = append(bad, o)
		}
	}
	slices.SortStableFunc(bad, func(x, y view.Object) int {
		return slices.Index(states, x.State) - slices.Index(states, y.State)
	})
	n := min(len(bad), maxNamed, maxNamedObjects-c.named)
	if x.namespace != "" {
		n = c.releaseObjects.take(x.namespace, n, maxReleaseObjects)
	}
	for _, o := range bad[:n] {
		c.add(objectState, 1, c.labels(d, ofRef(o.Ref.Value(), string(o.State))...)...)
	}
	c.named += n
	c.add(unnamedObjects, float64(len(bad)-n), c.labels(d)...)
	flaps := x.flaps()
	for _, id := range flaps[:min(len(flaps), maxFlapping)] {
		f, by := x.fields[id], "unknown"
		if f.byRelease {
			by = "release"
		}
		c.add(flapping, float64(len(f.returns)),
			c.labels(d, ofRef(id.object.Value(), id.path, f.manager, by)...)...)
	}
}

// addCounters adds the counters of a bundle deployment. They begin at zero, so that the first increase is seen.
func (c *collection) addCounters(x *deploymentHistory) {
	c.add(revisions, float64(x.revisions), c.labels(x.last)...)
	c.add(vanished, float64(x.vanished), c.labels(x.last)...)
	for _, p := range []view.Presence{view.Present, view.Absent, view.NotKnown} {
		c.add(uninstalled, float64(x.uninstalled[p]), c.labels(x.last, string(p))...)
	}
}

func (c *collection) addFindings() {
	for _, x := range check.Catalogue() {
		c.add(findings, 0, x.Code, string(x.Severity))
	}
	type key struct{ cluster, bundleDeployment string }
	deployments := map[key]*view.Deployment{}
	for _, d := range c.Deployments {
		deployments[key{d.Cluster, d.ID.String()}] = d
	}
	type group struct {
		code   string
		series key
	}
	type ofReleases struct{ code, namespace string }
	inGroup, ofCode, inNamespace := map[group]int{}, map[string]int{}, share[ofReleases]{}
	for i := range c.Findings {
		f := &c.Findings[i]
		c.add(findings, 1, f.Code, string(f.Severity))
		c.earliest(oldestFinding, c.findings[f.ID], f.Code)
		about := key{f.Cluster, f.BundleDeployment}
		d := deployments[about]
		full := inGroup[group{f.Code, about}] >= maxNamed || ofCode[f.Code] >= maxNamedFindings
		if d != nil && !full {
			x := c.deployments[d.ID]
			full = x == nil || x.namespace != "" &&
				inNamespace.take(ofReleases{f.Code, x.namespace}, 1, maxReleaseFindings) == 0
		}
		if full {
			c.add(unnamedFindings, 1, f.Code)
			continue
		}
		inGroup[group{f.Code, about}]++
		ofCode[f.Code]++
		if d == nil {
			d = &view.Deployment{Cluster: f.Cluster, Bundle: f.Bundle, GitRepo: f.GitRepo}
		}
		c.add(finding, 1, c.labels(d, ofRef(f.Object.Value(), f.Code, string(f.Severity))...)...)
	}
}

func (c *collection) addAggregates() {
	for i := range c.Aggregates {
		a := &c.Aggregates[i]
		index := slices.IndexFunc(levels, func(l level) bool { return l.kind == a.Kind })
		name := prefix + levels[index].name
		labels := func(others ...string) []string { return slices.Concat([]string{a.Namespace, a.Name}, others) }
		if x := a.Actual; x != nil {
			c.addCounts(name+levelDesired, name+levelObjects, x.Counts, labels)
			c.add(name+levelDeployments, float64(x.BundleDeployments), labels()...)
			c.add(name+levelReady, float64(x.ReadyBundleDeployments), labels()...)
		}
		if r := a.Reported; r != nil {
			c.addReported(name+levelReportedDesired, name+levelReportedObjects, r, labels)
			c.addKnown(name+levelReported, r.BundleDeployments, labels()...)
			c.addKnown(name+levelReportedAreReady, r.ReadyBundleDeployments, labels()...)
		}
	}
}

func (c *collection) addFleet() {
	for _, o := range c.Fleet {
		ref := object.Ref{APIVersion: fleetAPI, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
		if o.Size > 0 {
			c.add(fleetSize, float64(o.Size), ofRef(ref)...)
		}
		c.add(fleetWrites, float64(c.writes[fleetID{o.Kind, o.Namespace, o.Name}].count), ofRef(ref)...)
	}
	for result, n := range map[string]int{"evaluated": c.Coverage.Evaluated, "unread": c.Coverage.Unread,
		"unplaced": c.Coverage.Unplaced, "other_cluster": c.Coverage.OnOtherCluster} {
		c.add(coverage, float64(n), result)
	}
	unread := map[bool]int{true: 0, false: 0}
	for _, g := range c.Gaps {
		unread[g.Optional]++
	}
	unread[false] += len(c.crowded) // alerts need these series
	for optional, n := range unread {
		c.add(gaps, float64(n), strconv.FormatBool(optional))
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
