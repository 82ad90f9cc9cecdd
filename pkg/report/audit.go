// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// NewAudit makes the report of a result and its findings, sorted and with totals. The same input gives the same bytes.
// The report contains values of Secrets: only the copy that Redacted returns may be shown. It has a finding for each
// cluster: Merged joins them. version is the version of the program.
func NewAudit(r *evaluate.Result, findings []check.Finding, version string) *Audit {
	out := &Audit{APIVersion: APIVersion, Kind: Kind, Tool: Tool{Version: version}, TakenAt: Time(r.Now()),
		Source: NewSource(r.Source, r.Desired.Directory), Scope: NewScope(r.Scope), Gaps: Gaps(r.Gaps), Notes: r.Notes,
		BundleDeployments: []BundleDeployment{}, Findings: []Finding{}}
	for _, d := range r.Deployments {
		out.BundleDeployments = append(out.BundleDeployments, newBundleDeployment(d))
	}
	out.Findings = newFindings(findings, r.Deployments)
	link(out.Findings, findings)
	if len(r.Clusters) > 0 {
		out.Source.Clusters = ClusterSources(r.Clusters, r.Desired.Directory)
	}
	for kind, list := range out.aggregates() {
		*list = newAggregates(r.Tree[kind])
	}
	out.Assemble()
	out.markStale(r)
	return out
}

// Assemble sorts bundle deployments and findings, and sets what follows from them: the identities of the findings, the
// summary, and the codes of the aggregates.
func (a *Audit) Assemble() {
	a.sort()
	number(a.Findings)
	identify(a.Findings)
	found := a.sum()
	for kind, list := range a.aggregates() {
		for i := range *list {
			x := &(*list)[i]
			x.Findings = slices.Compact(found[kind+" "+x.Namespace+"/"+x.Name])
		}
	}
}

// markStale marks the numbers of Clusters, and of their BundleDeployments, whose agents have stopped reporting.
func (a *Audit) markStale(r *evaluate.Result) {
	stale := map[string]bool{}
	for _, x := range r.Agents() {
		if slices.Contains(check.OfAgent(x), codes.AgentStale) {
			stale[x.Cluster.Namespace+"/"+x.Cluster.Name] = true
		}
	}
	for _, c := range a.Clusters {
		for _, r := range []*Reported{c.Reported, c.Statuses} {
			if r != nil {
				r.Stale = stale[c.Namespace+"/"+c.Name]
			}
		}
	}
	for _, bd := range a.BundleDeployments {
		if bd.Reported != nil {
			bd.Reported.Stale = stale[bd.Cluster]
		}
	}
}

// Time formats the time when data was taken; empty if it is not known.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// NewHead returns the head of a document that this version of the program made.
func NewHead(kind, version string, d source.Description, desired *directory.Directory) Head {
	return Head{APIVersion, kind, Time(d.TakenAt), Tool{version}, NewSource(d, desired)}
}

// NewSource describes the source of a document.
func NewSource(d source.Description, desired *directory.Directory) Source {
	out := Source{Kind: string(d.Origin), Context: d.Context, Server: d.Server, Path: strings.Join(d.Paths, ", "),
		KubernetesVersion: d.KubernetesVersion, ClusterUID: d.ClusterUID}
	versions := FleetVersions{Controller: desired.ControllerVersion}
	for _, c := range desired.Clusters {
		// of two agents of one Cluster, the last one counts
		for _, ns := range slices.Sorted(maps.Keys(c.State.Workloads)) {
			w := c.State.Workloads[ns]
			if w.Version == "" {
				continue
			}
			if versions.Agents == nil {
				versions.Agents = map[string]string{}
			}
			versions.Agents[c.ClusterOfAgent(ns)] = w.Version
		}
	}
	if versions.Controller != "" || versions.Agents != nil {
		out.FleetVersions = &versions
	}
	return out
}

// ClusterSources returns the sources of clusters that were read in addition.
func ClusterSources(clusters []evaluate.ClusterSource, desired *directory.Directory) []ClusterSource {
	var out []ClusterSource
	for _, c := range clusters {
		d := c.Source
		out = append(out, ClusterSource{Name: c.Name,
			Cluster: strings.Join(desired.Cluster(c.ClusterID).FleetClusters(), ", "), Kind: string(d.Origin), Context: d.Context, Server: d.Server,
			Path: strings.Join(d.Paths, ", "), KubernetesVersion: d.KubernetesVersion, TakenAt: Time(d.TakenAt)})
	}
	return out
}

// NewScope describes the requested scope.
func NewScope(s evaluate.Scope) Scope {
	var out Scope
	if s.Namespace != "" {
		out.Namespaces = []string{s.Namespace}
	}
	if s.Selector != nil {
		out.Selectors = []string{s.Selector.String()}
	}
	for _, t := range s.Targets {
		out.Targets = append(out.Targets, t.String())
	}
	return out
}

// Gaps returns the gaps of a document, sorted and without duplicates.
func Gaps(gaps []source.Gap) []Gap {
	out := make([]Gap, 0, len(gaps))
	for _, g := range gaps {
		out = append(out, Gap(g))
	}
	slices.SortFunc(out, func(x, y Gap) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.What, y.What), cmp.Compare(x.Why(), y.Why()),
			cmp.Compare(x.Effect, y.Effect))
	})
	return slices.Compact(out)
}

func newBundleDeployment(d *evaluate.BundleDeployment) BundleDeployment {
	out := BundleDeployment{
		Namespace: d.Namespace, Name: d.Name, Cluster: d.Cluster, Bundle: d.Bundle, GitRepo: d.GitRepo,
		HelmOp: d.HelmOp, SetID: d.Ownership.SetID, Hash: d.Ownership.Hash, State: State(d.State),
		Reason: string(d.Problem), Counts: d.Counts,
		Resources: make([]Resource, 0, len(d.Objects)+len(d.Orphans)),
	}
	if d.BD != nil {
		out.Reported = NewReported(d.BD.Reported())
	}
	if d.Release.Revision > 0 { // otherwise nothing is installed yet
		out.Release = d.Release.String()
	}
	if d.Problem == "" {
		out.DesiredFrom = string(d.From)
	}
	for _, o := range d.Objects {
		out.Resources = append(out.Resources, Resource{
			Ref: o.Ref, State: State(o.State), Reason: o.Reason, Message: o.Message, Owner: o.Owner,
			Differences: o.Differences,
		})
	}
	for _, u := range d.Orphans {
		out.Resources = append(out.Resources, Resource{Ref: u.Ref, State: Orphaned})
	}
	slices.SortFunc(out.Resources, func(x, y Resource) int { return x.Compare(y.Ref) })
	return out
}

// newAggregates returns the aggregates that are in scope or have a bundle deployment in scope.
func newAggregates(all []*evaluate.Aggregate) []Aggregate {
	var out []Aggregate
	for _, a := range all {
		if !a.InScope && len(a.BundleDeployments) == 0 {
			continue
		}
		x := Aggregate{Namespace: a.Object.GetNamespace(), Name: a.Object.GetName(), OutOfScope: !a.InScope,
			Reported: NewReported(a.Object.Reported())}
		if a.Complete {
			x.Actual = &Actual{a.Actual.BundleDeployments, a.Actual.ReadyBundleDeployments, a.Actual.Counts}
		}
		if a.Listed {
			x.Statuses = newStatuses(a.Statuses)
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(x, y Aggregate) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// newStatuses converts the totals of statuses.
func newStatuses(s evaluate.Statuses) *Reported {
	r := v1alpha1.Reported{AsOf: s.AsOf}
	r.Summary = &v1alpha1.Summary{DesiredReady: s.BundleDeployments, Ready: s.ReadyBundleDeployments}
	if !s.CountsUnknown {
		r.Counts = &s.Counts
	}
	return NewReported(r)
}

// NewReported converts a status.
func NewReported(r v1alpha1.Reported) *Reported {
	out := &Reported{State: r.State, AsOf: r.AsOf}
	if c := r.Counts; c != nil {
		out.DesiredReady, out.Ready, out.Missing = &c.DesiredReady, &c.Ready, &c.Missing
		out.Modified, out.NotReady, out.Orphaned = &c.Modified, &c.NotReady, &c.Orphaned
	}
	if s := r.Summary; s != nil {
		out.BundleDeployments, out.ReadyBundleDeployments = &s.DesiredReady, &s.Ready
	}
	return out
}

func (a *Audit) sort() {
	slices.SortFunc(a.BundleDeployments, func(x, y BundleDeployment) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Release, y.Release))
	})
	slices.SortFunc(a.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Code, y.Code), cmp.Compare(x.Cluster, y.Cluster),
			cmp.Compare(x.BundleDeployment, y.BundleDeployment), x.Object.Compare(y.Object),
			cmp.Compare(x.Message, y.Message))
	})
}

// sum fills in the summary, and returns what countFindings returns.
func (a *Audit) sum() map[string][]string {
	a.Summary = Summary{BundleDeployments: len(a.BundleDeployments)}
	for _, bd := range a.BundleDeployments {
		a.Summary.Counts = a.Summary.Counts.Plus(bd.Counts)
	}
	return a.countFindings()
}
