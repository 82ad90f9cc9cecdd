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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
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
	slices.SortFunc(a.BundleDeployments, func(x, y BundleDeployment) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Release, y.Release))
	})
	slices.SortFunc(a.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Code, y.Code), cmp.Compare(x.Cluster, y.Cluster),
			cmp.Compare(x.BundleDeployment, y.BundleDeployment), x.Object.Compare(y.Object),
			cmp.Compare(x.Message, y.Message))
	})
	number(a.Findings)
	identify(a.Findings)
	a.Summary = Summary{BundleDeployments: len(a.BundleDeployments)}
	for _, bd := range a.BundleDeployments {
		a.Summary.Counts = a.Summary.Counts.Plus(bd.Counts)
	}
	a.countFindings()
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
			Cluster: strings.Join(desired.Cluster(c.ClusterID).FleetClusters(), ", "), Kind: string(d.Origin),
			Context: d.Context, Server: d.Server,
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
	out.Targets = Texts(s.Targets, evaluate.Target.String)
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
	for _, o := range d.InOrder() {
		out.Resources = append(out.Resources, Resource{
			Ref: o.Ref, State: State(o.State), Reason: o.Reason, Message: o.Message, Owner: o.Owner,
			Differences: o.Differences,
		})
	}
	if len(d.Orphans) == 0 {
		return out
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

// KindAgents is the kind of an Agents.
const KindAgents = "AgentsReport"

// Agents reports the heartbeats of the agents of Clusters, and predicts which agents the controller imports again.
type Agents struct {
	Head
	Summary AgentsSummary `json:"summary"`
	Agents  []Agent       `json:"agents"`
	Gaps    []Gap         `json:"gaps"`
	// Notes are information for the reader that is not a gap.
	Notes []string `json:"notes,omitempty"`
}

// AgentsSummary counts the agents.
type AgentsSummary struct {
	Clusters int `json:"clusters"`
	// Stale agents have stopped reporting. NeverSeen agents were imported or register themselves, and have never
	// reported.
	Stale     int `json:"stale"`
	NeverSeen int `json:"neverSeen"`
	// ReImported are the agents that a restart of the controller imports again. ReImportedAfterUpgrade are those that
	// the start of a controller of Fleet 0.13 or later imports again. Unknown are those of which it is not known.
	ReImported             int `json:"reImported"`
	ReImportedAfterUpgrade int `json:"reImportedAfterUpgrade"`
	Unknown                int `json:"unknown"`
}

// Agent is the agent of one Cluster.
type Agent struct {
	// Namespace and Name are those of the Cluster.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// AgentNamespace is the namespace of the agent on its cluster, as it reported it.
	AgentNamespace string `json:"agentNamespace,omitempty"`
	// Version is the image tag of the agent, if its cluster was read.
	Version string `json:"version,omitempty"`
	// Idle is why no pod of the agent runs, a sentence, if its cluster was read.
	Idle      string    `json:"idle,omitempty"`
	Heartbeat Heartbeat `json:"heartbeat"`
	// Now is what a restart of the controller does to the agent.
	Now Prediction `json:"now"`
	// AfterUpgrade is what the start of a controller of Fleet 0.13 does. It is the same as Now if the controller has
	// that version or a later one.
	AfterUpgrade Prediction `json:"afterUpgrade"`
	// Findings are the codes of the findings that an audit reports about the agent.
	Findings []string `json:"findings,omitempty"`
}

// Heartbeat is the last heartbeat of an agent.
type Heartbeat struct {
	// State is alive, stale (it is older than the limit), never (there was none), ahead (it is later than the time of
	// the data: a clock is wrong), disabled (the configuration disables the agent) or unknown.
	State string `json:"state"`
	// LastSeen is its time (RFC 3339), absent if there was none.
	LastSeen string `json:"lastSeen,omitempty"`
	// AgeSeconds is the time between the heartbeat and takenAt, absent if there was none or it is later.
	AgeSeconds int64 `json:"ageSeconds,omitempty"`
	// IntervalSeconds is the interval of heartbeats, absent if it was not read. LimitSeconds is the age from which the
	// agent is stale.
	IntervalSeconds int64 `json:"intervalSeconds,omitempty"`
	LimitSeconds    int64 `json:"limitSeconds"`
}

// Prediction is what the controller does to an agent when it starts.
type Prediction struct {
	// Result is re-import, import (for the first time), none, blocked (the controller cannot import the agent) or
	// unknown (a fact that decides was not read).
	Result string `json:"result"`
	// Reasons are the fields that cause the import. With the result unknown, they may cause it.
	Reasons []ImportReason `json:"reasons,omitempty"`
	// Why is a sentence if the result does not follow from the reasons alone.
	Why string `json:"why,omitempty"`
}

// ImportReason is a field that causes the import of an agent.
type ImportReason struct {
	Field string `json:"field"`
	// Recorded is the value in the status of the Cluster. Present is the value in the configuration of the controller
	// or in the spec of the Cluster. For a CA and for settings of the agent, both are hashes.
	Recorded string `json:"recorded"`
	Present  string `json:"present"`
	// CA describes the present CA.
	CA *CA `json:"ca,omitempty"`
}

// CA describes a CA bundle.
type CA struct {
	Certificates int `json:"certificates"`
	// Subject and NotAfter (RFC 3339) are those of the first certificate.
	Subject  string `json:"subject,omitempty"`
	NotAfter string `json:"notAfter,omitempty"`
}

// Add adds an agent.
func (a *Agents) Add(x evaluate.Agent) {
	h := x.Heartbeat
	out := Agent{Namespace: x.Cluster.Namespace, Name: x.Cluster.Name, AgentNamespace: x.Cluster.Status.Agent.Namespace,
		Version: x.Version, Idle: facts.IdleOf(x),
		Heartbeat: Heartbeat{State: string(h.State), AgeSeconds: seconds(h.Age), IntervalSeconds: seconds(h.Interval),
			LimitSeconds: seconds(h.Limit)},
		Now: newPrediction(x.Now), AfterUpgrade: newPrediction(x.Upgraded), Findings: check.OfAgent(x)}
	out.Heartbeat.LastSeen = Time(h.LastSeen)
	a.Agents = append(a.Agents, out)
	s := &a.Summary
	s.Clusters++
	for number, applies := range map[*int]bool{&s.Stale: facts.Stopped(x), &s.NeverSeen: x.Silent,
		&s.ReImported:             x.Now.Result == agentconfig.ReImport,
		&s.ReImportedAfterUpgrade: x.Upgraded.Result == agentconfig.ReImport,
		&s.Unknown:                x.Now.Result == agentconfig.Unknown} {
		if applies {
			*number++
		}
	}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func newPrediction(p agentconfig.Prediction) Prediction {
	out := Prediction{Result: string(p.Result), Why: p.Why}
	for _, r := range p.Reasons {
		reason := ImportReason{Field: string(r.Field), Recorded: r.Recorded, Present: r.Present}
		if r.CA != nil {
			reason.CA = &CA{Certificates: r.CA.Certificates, Subject: r.CA.Subject, NotAfter: Time(r.CA.NotAfter)}
		}
		out.Reasons = append(out.Reasons, reason)
	}
	return out
}

// Complete makes lists that are nil empty. Call it once, after all agents were added.
func (a *Agents) Complete() { complete(a) }
