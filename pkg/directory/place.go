// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// builder finds the bundle deployments of one cluster.
type builder struct {
	identifier
	out *Cluster
	// outdated are, by agent, the bundle deployments that have a release with another set than the agent uses.
	outdated     map[string][]*Deployment
	leftoverSets []*Deployment
}

// place finds the cluster of a BundleDeployment among those that are read, and its release.
func place(all []*builder, bd *v1alpha1.BundleDeployment, clusters map[string]*v1alpha1.Cluster) *Deployment {
	d := &Deployment{Namespace: bd.Namespace, Name: bd.Name, BD: bd}
	d.setParents(clusters[bd.Namespace])
	d.OnOtherCluster = len(all) > 0
	for _, b := range all {
		if agent, here := b.agentOf(bd); here {
			d.OnOtherCluster, d.Problem, d.Detail = false, "", ""
			b.out.place(d)
			b.deployment(d, agent)
			return d
		}
		if problem, detail := b.placementUnknown(d); problem != "" && d.Problem == "" {
			d.Problem, d.Detail = problem, detail
		}
		d.OnOtherCluster = d.OnOtherCluster && b.elsewhere()
	}
	if d.Problem != "" {
		d.OnOtherCluster = false
		return d
	}
	d.Problem, d.Detail = ClusterNotRead, "its cluster is not known"
	if d.OnOtherCluster {
		d.Detail = "it is deployed on another cluster than the one that was read"
	}
	return d
}

// setParents sets the parents of the bundle deployment from its labels. c is the Cluster of its namespace; nil if it
// is not known.
func (d *Deployment) setParents(c *v1alpha1.Cluster) {
	l := d.BD.Labels
	ns := l[fleet.BundleNamespaceLabel]
	d.Bundle = keyOf(ns, l[fleet.BundleLabel])
	d.GitRepo = keyOf(ns, l[fleet.RepoLabel])
	if d.GitRepo == "" {
		d.HelmOp = keyOf(ns, l[fleet.HelmOpLabel])
	}
	d.Cluster = keyOf(l[fleet.ClusterNamespaceLabel], l[fleet.ClusterLabel])
	if c != nil && d.Cluster == "" {
		d.Cluster = keyOf(c.Namespace, c.Name)
	}
}

// agentOf returns the namespace of the agent on this cluster that deploys a BundleDeployment. An agent that was moved
// may leave its Secret behind, so agentOf prefers the agent that reports to the Cluster, then the one that made the
// release.
func (b *builder) agentOf(bd *v1alpha1.BundleDeployment) (agent string, here bool) {
	namespace := bd.Namespace
	if c := b.byNamespace[namespace]; c != nil && b.out.watches[c.Status.Agent.Namespace] == namespace {
		return c.Status.Agent.Namespace, true
	}
	if named, err := release.ParseName(bd.Status.Release); err == nil {
		if rec := b.state.Records[named]; rec != nil && b.out.watches[rec.AgentNamespace] == namespace {
			return rec.AgentNamespace, true
		}
	}
	agent = b.out.AgentOf(namespace)
	return agent, agent != ""
}

// placementUnknown returns a problem if a BundleDeployment may be deployed to this cluster, but no release record could
// be read to prove it.
func (b *builder) placementUnknown(d *Deployment) (Problem, string) {
	if len(b.out.watches) > 0 || b.agentElsewhere(d.Namespace) {
		return "", ""
	}
	problem, detail := RecordsProblem(b.state, "")
	if problem == RecordNotCaptured {
		return "", ""
	}
	return problem, detail
}

// agentElsewhere reports whether this cluster has agent workloads, but not that of the agent of the BundleDeployment's
// Cluster.
func (b *builder) agentElsewhere(namespace string) bool {
	c := b.byNamespace[namespace]
	if c == nil || c.Status.Agent.Namespace == "" || len(b.state.Workloads) == 0 {
		return false
	}
	_, here := b.state.Workloads[c.Status.Agent.Namespace]
	return !here
}

// elsewhere reports whether a BundleDeployment that is not placed on this cluster must be on another one: this cluster
// is identified as another one, its agents have another management cluster, or it has no agent.
func (b *builder) elsewhere() bool {
	if len(b.out.watches) > 0 || len(b.state.AgentSecrets) > 0 {
		return true
	}
	read := b.state.Coverage.AgentSecrets.Whole() && b.state.Coverage.Records.Whole()
	return read && len(b.state.AgentNamespaces()) == 0
}

// deployment sets the release of a BundleDeployment of this cluster.
func (b *builder) deployment(d *Deployment, agent string) {
	if d.BD.Status.Release == "" {
		d.Problem, d.Detail = NoReleaseRecord, "nothing is installed yet: its status names no release"
		b.ownership(d, nil, agent)
		b.firstProblems(d, agent)
		return
	}
	named, err := release.ParseName(d.BD.Status.Release)
	if err != nil {
		d.Problem, d.Detail = NoReleaseRecord, err.Error()
		b.ownership(d, nil, agent)
		return
	}
	d.Release = named
	b.released(d, agent)
}

// released sets what the record of its release shows of a deployment.
func (b *builder) released(d *Deployment, agent string) {
	history := b.histories[d.Release.Release()]
	i := slices.IndexFunc(history, func(rec *state.Record) bool { return rec.Name == d.Release })
	d.addRecordProblems(history, b.state.Latest)
	if i < 0 {
		b.ownership(d, nil, agent)
		b.notRecorded(d)
		return
	}
	rec := history[i]
	b.ownership(d, rec, agent)
	d.KeepResources, d.Commit, d.Deployed = rec.KeepResources, rec.Commit, rec.Deployed
	detail := rec.Damaged
	if rec.ManifestError != nil {
		detail = rec.ManifestError.Error()
	}
	if detail != "" {
		d.Problem, d.Detail = RecordUnreadable, detail
		// A manifest that was not read is not known to be damaged.
		if rec.OverBound == "" && !errors.Is(rec.ManifestError, release.ErrNoManifest) {
			d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: d.Release, Status: "damaged",
				Detail: detail})
		}
	}
}

// notRecorded sets the problem of a deployment whose release has no record.
func (b *builder) notRecorded(d *Deployment) {
	d.Problem, d.Detail = RecordsProblem(b.state, d.Release.Namespace)
	if d.Problem == "" && b.state.Captured && len(b.state.Records) == 0 {
		d.Problem, d.Detail = RecordNotCaptured, "no release record of Fleet is in the snapshot"
		b.out.SetsComplete = false
	}
	if d.Problem != "" {
		return
	}
	d.Problem = NoReleaseRecord
	d.Detail = fmt.Sprintf("revision %d of release %s is no longer recorded", d.Release.Revision, d.Release.Release())
	d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: d.Release, Status: "pruned",
		Detail: d.Detail + "; Fleet treats it as an empty bundle"})
}

// firstProblems adds the problems of a release that no status names yet, because its first installation was interrupted
// or failed.
func (b *builder) firstProblems(d *Deployment, agent string) {
	for _, name := range slices.Sorted(maps.Keys(b.histories)) {
		last := Latest(b.histories[name])
		if last == nil || last.Namespace != d.Options().ReleaseNamespace() {
			continue
		}
		if last.BundleID == d.Name && last.AgentNamespace == agent {
			d.Detail = "no deploy of it has ended: its status names no release"
			d.addRecordProblems(b.histories[name], b.state.Latest)
		}
	}
}

// ownership computes the ownership metadata that the agent writes on the deployment's objects. rec is the record of its
// release; nil if there is none.
func (b *builder) ownership(d *Deployment, rec *state.Record, agent string) {
	var released ownership.Metadata
	if rec != nil {
		released = rec.Ownership
	}
	d.Agent, d.Scope = agent, b.out.Scopes[agent]
	d.RecordsTrusted = b.out.TrustsRecords(d.Release.Namespace)
	id := fleet.SetID(d.Name, d.Scope.Scope)
	if released.SetID != "" && !d.Scope.Proven() {
		// The release itself is the best evidence for its own objects.
		id, d.Scope.Evidence, d.Scope.Source = released.SetID, EvidenceReleases,
			"the manifest of release "+d.Release.String()
		if scope, ok := fleet.ScopeOfSet(id, d.Name, d.Scope.Scope); ok {
			d.Scope.Scope = scope
		}
	}
	uncertain := d.Scope.Evidence == "" || d.Scope.Evidence == EvidenceDeclared
	if uncertain && d.Evidence().Trusted {
		b.out.SetsComplete = false
	}
	d.Ownership = ownership.Desired(id, d.Release.Name, d.Release.Namespace)
	d.ReleaseOwnership = released
	if released.Hash != "" && released.Hash != d.Ownership.Hash {
		b.outdated[agent] = append(b.outdated[agent], d)
	}
	c := b.byNamespace[d.Namespace]
	// The scope that a spec declares may make another set than the one in use.
	if declares(c) && d.Scope.Evidence != "" && fleet.SetID(d.Name, c.Spec.AgentNamespace) != d.Ownership.SetID {
		b.dispute(c, d)
	}
}

// dispute adds a deployment to the dispute of its Cluster and agent.
func (b *builder) dispute(c *v1alpha1.Cluster, d *Deployment) {
	i := slices.IndexFunc(b.out.Disputes, func(x *Dispute) bool { return x.Cluster == c && x.Agent == d.Agent })
	if i < 0 {
		i = len(b.out.Disputes)
		b.out.Disputes = append(b.out.Disputes, &Dispute{Cluster: c, Agent: d.Agent, Declared: c.Spec.AgentNamespace,
			Used: d.Scope})
	}
	x := b.out.Disputes[i]
	x.Mixed = x.Mixed || d.Scope.Scope != x.Used.Scope
	x.Deployments = append(x.Deployments, d.ID())
}

// scopeOf returns the scope of an agent by the strongest evidence.
func (b *builder) scopeOf(agent string, released []string) AgentScope {
	w, seen := b.state.Workloads[agent]
	c := b.byNamespace[b.out.watches[agent]]
	switch {
	case seen && w.Doubt == "":
		return AgentScope{w.Scope, EvidenceRunning, "the environment of " + w.Kind + " " + agent + "/" +
			fleet.AgentName}
	case b.out.stated != nil:
		return statedScope(*b.out.stated)
	case len(released) == 1:
		return AgentScope{released[0], EvidenceReleases, "the releases of the agent in namespace " + agent}
	case declares(c):
		return AgentScope{c.Spec.AgentNamespace, EvidenceDeclared, declaredIn(c)}
	}
	return AgentScope{}
}

// releasedScopes returns the distinct scopes in the deployed releases of each agent, by the agent's namespace.
func (b *builder) releasedScopes() map[string][]string {
	out := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(b.histories)) {
		rec := Latest(b.histories[name])
		if rec == nil || rec.AgentNamespace == "" || rec.Status != release.StatusDeployed {
			continue
		}
		candidates := []string{rec.AgentNamespace}
		if c := b.byNamespace[b.out.watches[rec.AgentNamespace]]; declares(c) {
			candidates = append(candidates, c.Spec.AgentNamespace)
		}
		scope, ok := fleet.ScopeOfSet(rec.Ownership.SetID, rec.BundleID, candidates...)
		if ok && !slices.Contains(out[rec.AgentNamespace], scope) {
			out[rec.AgentNamespace] = append(out[rec.AgentNamespace], scope)
		}
	}
	return out
}

// outdatedNotes adds one note for each agent whose releases have other sets than the agent now uses.
func (b *builder) outdatedNotes() {
	for agent, ds := range b.outdated {
		slices.SortFunc(ds, func(x, y *Deployment) int { return strings.Compare(x.Key(), y.Key()) })
		d := ds[0]
		note := fmt.Sprintf("bundle deployment %s: its release was made for set %q, the agent now uses %q (scope from "+
			"%s)",
			d.Key(), d.ReleaseOwnership.SetID, d.Ownership.SetID, d.Scope.Source)
		if n := len(ds) - 1; n > 0 {
			note += fmt.Sprintf("; the same holds for %d more of the agent in namespace %s", n, agent)
		}
		b.out.Notes = append(b.out.Notes, note)
	}
}

// releasesAlone returns a bundle deployment for each release of an agent if the BundleDeployments of that agent are not
// known, because they could not be read or are on another management cluster. If they are known, a release that none
// of them names is a leftover.
func (b *builder) releasesAlone(deployments []*Deployment) []*Deployment {
	accounted := map[string]bool{}
	for _, d := range deployments {
		if d.BD != nil && d.IsOn(b.out.ID) {
			accounted[d.Release.Release()] = true
		}
	}
	var out []*Deployment
	for _, name := range slices.Sorted(maps.Keys(b.histories)) {
		history := b.histories[name]
		last := Latest(history)
		switch {
		case accounted[name]:
		case last == nil:
			b.out.Unreadable = append(b.out.Unreadable, history[len(history)-1].Identity())
		case b.pending(last):
		case b.mayDeploy(last.AgentNamespace):
			out = append(out, b.releaseAlone(history, last))
		default:
			b.out.Leftovers = append(b.out.Leftovers, last.Identity())
			b.leftoverSets = append(b.leftoverSets, b.leftoverSet(last))
		}
	}
	return out
}

// pending reports whether a BundleDeployment in the namespace that the agent watches may still name the release in its
// status later.
func (b *builder) pending(rec *state.Record) bool {
	watched, known := b.out.watches[rec.AgentNamespace]
	return known && slices.ContainsFunc(b.fleet.BundleDeployments, func(bd *v1alpha1.BundleDeployment) bool {
		return bd.Namespace == watched && bd.Name == rec.BundleID && bd.Status.Release == ""
	})
}

// mayDeploy reports whether an agent in a namespace may deploy BundleDeployments that are not known.
func (b *builder) mayDeploy(agent string) bool {
	if b.noAgent(agent) {
		return false
	}
	watched, known := b.out.watches[agent]
	return !known || !b.fleet.Read(state.BundleDeployment, watched)
}

// noAgent reports whether it is known that no agent runs in a namespace: all agents' Secrets were read, there is at
// least one, and the namespace has neither Secret nor workload of an agent. No agent deploys a release if its record
// names such a namespace.
func (b *builder) noAgent(namespace string) bool {
	secrets := len(b.state.AgentSecrets) + len(b.state.HiddenAgentSecrets)
	return b.state.Coverage.AgentSecrets.Whole() && secrets > 0 && !b.state.AgentNamespaces()[namespace]
}

func (b *builder) releaseAlone(history []*state.Record, last *state.Record) *Deployment {
	d := &Deployment{Name: last.BundleID, Release: last.Name, Agent: last.AgentNamespace, Cluster: b.state.Name}
	b.out.place(d)
	if found := b.out.FleetClusters(); len(found) > 0 && d.Cluster != "" {
		d.Cluster = found[0]
	}
	if last.Status == release.StatusDeployed {
		b.released(d, last.AgentNamespace)
		return d
	}
	d.addRecordProblems(history, b.state.Latest)
	b.ownership(d, last, last.AgentNamespace)
	d.Problem, d.Detail = NoReleaseRecord, "no revision of release "+last.Release()+" is deployed"
	return d
}

// leftoverSet returns the set of a leftover release.
func (b *builder) leftoverSet(rec *state.Record) *Deployment {
	id := fleet.SetID(rec.BundleID, b.out.Scopes[rec.AgentNamespace].Scope)
	if released := rec.Ownership; released.SetID != "" {
		id = released.SetID
	}
	d := &Deployment{Name: rec.BundleID, Release: rec.Name, Problem: NoReleaseRecord,
		Detail: "its BundleDeployment is gone", Ownership: ownership.Desired(id, rec.Name.Name, rec.Namespace)}
	b.out.place(d)
	return d
}
