// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Input is the input of Resolve.
type Input struct {
	Fleet    *state.Fleet
	Clusters []*state.Cluster
	// StatedScope is the scope that the user states for agents whose running workload does not show one; nil if the user states no scope.
	StatedScope *string
	// Carriers are the counts of the live objects of disputes, if they were counted.
	Carriers map[DisputeKey]Carriers
	// Removals are the facts about releases that garbage collection may remove, if they were read.
	Removals map[RemovalKey]RemovalFacts
	// Uninstalls selects the bundle deployments whose Uninstalls are computed; nil selects none.
	Uninstalls func(*BundleDeployment) bool
	// Renderings replace the desired objects of the release records.
	Renderings []*Rendering
}

// Resolve computes the desired state.
// secrets are the Secrets in recorded or rendered manifests, as JSON: their values must not be shown.
func Resolve(in Input) (desired *DesiredState, secrets [][]byte) {
	out := &DesiredState{Fleet: in.Fleet}
	byNamespace := map[string]*v1alpha1.Cluster{}
	for _, c := range in.Fleet.Clusters {
		if c.Status.Namespace != "" {
			byNamespace[c.Status.Namespace] = c
		}
	}
	var resolvers []*resolver
	for _, c := range in.Clusters {
		r := newResolver(in, c, byNamespace)
		r.findWatches()
		r.findScopes()
		resolvers = append(resolvers, r)
		out.Clusters = append(out.Clusters, r.out)
	}
	for _, bd := range in.Fleet.BundleDeployments {
		out.Deployments = append(out.Deployments, place(resolvers, bd, byNamespace))
	}
	for _, r := range resolvers {
		out.Deployments = append(out.Deployments, r.releasesAlone(out.Deployments)...)
		r.out.ReleasesComplete = r.out.SetsComplete && r.State.Coverage.ConfigMaps.Whole()
		r.outdatedNotes()
		slices.Sort(r.out.Notes)
		r.settleDisputes(in.Carriers)
		r.removals(out.Deployments, in.Removals)
		if in.Uninstalls != nil {
			r.uninstalls(out.Deployments, in.Uninstalls)
		}
	}
	slices.SortStableFunc(out.Deployments, inOrder)
	out.render(in.Renderings)
	for _, d := range out.Deployments {
		if d.On != nil {
			d.On.claim(d)
		}
	}
	for _, d := range out.Deployments {
		for _, x := range d.Uninstalls {
			d.On.shared(&x.Losses, x.Record)
		}
	}
	for _, c := range out.Clusters {
		c.sharedLosses()
		secrets, c.secrets = append(secrets, c.secrets...), nil
	}
	return out, secrets
}

// resolver computes the desired state of one cluster.
type resolver struct {
	*state.Fleet
	State *state.Cluster
	out   *Cluster
	// histories are the revisions of each release ("namespace/name"), ascending.
	histories map[string][]*state.Record
	// byNamespace finds a Cluster by the namespace of its BundleDeployments.
	byNamespace map[string]*v1alpha1.Cluster
	// outdated are, by agent, the bundle deployments that have a release with another set than the agent uses.
	outdated map[string][]*BundleDeployment
}

func newResolver(in Input, c *state.Cluster, byNamespace map[string]*v1alpha1.Cluster) *resolver {
	out := &Cluster{State: c.WithoutRecords(), Claims: desired.NewClaims(objectsInOrder, inOrder),
		Scopes: map[string]AgentScope{}, stated: in.StatedScope, fleet: in.Fleet, watches: map[string]string{}}
	out.SetsComplete = c.Coverage.Records.Whole()
	r := &resolver{Fleet: in.Fleet, State: c, out: out, histories: c.Histories(), byNamespace: byNamespace, outdated: map[string][]*BundleDeployment{}}
	for _, rec := range c.Records {
		if rec.OverBound != "" {
			out.OverBound = append(out.OverBound, rec.Identity())
		}
		for _, o := range slices.Concat(rec.Objects, rec.Secrets) {
			if o.IsSecret() {
				out.secrets = append(out.secrets, o.Raw)
			}
		}
	}
	slices.SortFunc(out.OverBound, func(x, y *state.Record) int { return cmp.Compare(x.String(), y.String()) })
	return r
}

// RecordsProblem returns the reason why release records of a namespace may be missing ("" for any namespace), as a reason and as a sentence.
// Both are empty if all were read.
func RecordsProblem(c *state.Cluster, namespace string) (Problem, string) {
	f, ok := c.Coverage.Records.Of(namespace)
	if ok {
		return "", ""
	}
	switch f.Reason {
	case source.Forbidden:
		return RecordsForbidden, "its release record may not be read (Secrets)"
	case source.NotInSnapshot, source.KindNotServed:
		return RecordNotCaptured, "its release record is not in the snapshot"
	}
	return RecordsFailed, fmt.Sprintf("reading its release record failed (%s)", f.Detail)
}

// place finds the cluster of a BundleDeployment among those that are read, and its desired objects.
func place(resolvers []*resolver, bd *v1alpha1.BundleDeployment, byNamespace map[string]*v1alpha1.Cluster) *BundleDeployment {
	d := &BundleDeployment{Namespace: bd.Namespace, Name: bd.Name, BD: bd}
	d.setParents(byNamespace[bd.Namespace])
	d.OnOtherCluster = len(resolvers) > 0
	for _, r := range resolvers {
		if agent, here := r.agentOf(bd); here {
			d.On, d.OnOtherCluster = r.out, false
			r.deployment(d, agent)
			return d
		}
		if problem, detail := r.placementUnknown(d); problem != "" && d.Problem == "" {
			d.Problem, d.Detail = problem, detail
		}
		d.OnOtherCluster = d.OnOtherCluster && r.elsewhere()
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

// deployment sets the desired objects of a BundleDeployment of this cluster.
func (r *resolver) deployment(d *BundleDeployment, agent string) {
	if d.BD.Status.Release == "" {
		d.Problem, d.Detail = NoReleaseRecord, "nothing is installed yet: its status names no release"
		r.ownership(d, nil, agent)
		r.firstProblems(d, agent)
		return
	}
	named, err := release.ParseName(d.BD.Status.Release)
	if err != nil {
		d.Problem, d.Detail = NoReleaseRecord, err.Error()
		r.ownership(d, nil, agent)
		return
	}
	d.Release = named
	r.desired(d, agent)
}

// placementUnknown returns a problem if a BundleDeployment may be deployed to this cluster, but no release record could be read to prove it.
func (r *resolver) placementUnknown(d *BundleDeployment) (Problem, string) {
	if len(r.out.watches) > 0 || r.agentElsewhere(d.Namespace) {
		return "", ""
	}
	problem, detail := RecordsProblem(r.State, "")
	if problem == RecordNotCaptured {
		return "", ""
	}
	return problem, detail
}

// agentElsewhere reports whether this cluster has agent workloads, but not that of the agent of the BundleDeployment's Cluster.
func (r *resolver) agentElsewhere(namespace string) bool {
	c := r.byNamespace[namespace]
	if c == nil || c.Status.Agent.Namespace == "" || len(r.State.Workloads) == 0 {
		return false
	}
	_, here := r.State.Workloads[c.Status.Agent.Namespace]
	return !here
}

// elsewhere reports whether a BundleDeployment that is not placed on this cluster must be on another one: this cluster is identified as another one,
// its agents have another management cluster, or it has no agent.
func (r *resolver) elsewhere() bool {
	if len(r.out.watches) > 0 || len(r.State.AgentSecrets) > 0 {
		return true
	}
	return r.State.Coverage.AgentSecrets.Whole() && r.State.Coverage.Records.Whole() && len(r.State.AgentNamespaces()) == 0
}

// setParents sets the parents of the bundle deployment from its labels. c is the Cluster of its namespace; nil if it is not known.
func (d *BundleDeployment) setParents(c *v1alpha1.Cluster) {
	l := d.BD.Labels
	ns := l[fleet.BundleNamespaceLabel]
	join := func(namespace, name string) string {
		if name == "" {
			return ""
		}
		return namespace + "/" + name
	}
	d.Bundle = join(ns, l[fleet.BundleLabel])
	d.GitRepo = join(ns, l[fleet.RepoLabel])
	if d.GitRepo == "" {
		d.HelmOp = join(ns, l[fleet.HelmOpLabel])
	}
	d.Cluster = join(l[fleet.ClusterNamespaceLabel], l[fleet.ClusterLabel])
	if c != nil && d.Cluster == "" {
		d.Cluster = join(c.Namespace, c.Name)
	}
}

// desired reads the desired objects of a deployment from the record of its release.
func (r *resolver) desired(d *BundleDeployment, agent string) {
	history := r.histories[d.Release.Release()]
	i := slices.IndexFunc(history, func(rec *state.Record) bool { return rec.Name == d.Release })
	d.addRecordProblems(history)
	if i < 0 {
		r.ownership(d, nil, agent)
		problem, detail := RecordsProblem(r.State, d.Release.Namespace)
		if problem == "" && r.State.Captured && len(r.State.Records) == 0 {
			problem, detail = RecordNotCaptured, "no release record of Fleet is in the snapshot"
			r.out.SetsComplete = false
		}
		if problem != "" {
			d.Problem, d.Detail = problem, detail
			return
		}
		d.Problem = NoReleaseRecord
		d.Detail = fmt.Sprintf("revision %d of release %s is no longer recorded", d.Release.Revision, d.Release.Release())
		d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: d.Release, Status: "pruned", Detail: d.Detail + "; Fleet treats it as an empty bundle"})
		return
	}
	rec := history[i]
	r.ownership(d, rec, agent)
	d.KeepResources, d.Commit, d.Deployed = rec.KeepResources, rec.Commit, rec.Deployed
	if rec.Damaged != "" || rec.ManifestError != nil {
		d.Problem, d.Detail = RecordUnreadable, rec.Damaged
		if rec.ManifestError != nil {
			d.Detail = rec.ManifestError.Error()
		}
		if rec.OverBound == "" && !errors.Is(rec.ManifestError, release.ErrNoManifest) { // a record that was not read is not known to be damaged
			d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: d.Release, Status: "damaged", Detail: d.Detail})
		}
		return
	}
	d.Earlier, d.Hooks = map[KindName]bool{}, map[KindName]bool{}
	d.From, d.Desired = FromRelease, distinct(d, d.Release.Namespace, rec.Objects, r.State.Namespaced)
	d.earlier(history[:i])
	for _, h := range rec.Hooks {
		d.Hooks[KindName{h.Kind, h.Name}] = true
	}
}

// distinct returns the objects of a manifest without duplicates, of which the last one counts. namespace is the default namespace.
func distinct(d *BundleDeployment, namespace string, objects []release.Object, namespaced func(schema.GroupVersionKind) bool) []*Object {
	var out []*Object
	at := map[object.Key]int{}
	for _, o := range objects {
		w := &Object{Ref: o.Ref, Deployment: d, Raw: o.Raw, Namespaced: namespaced(o.GroupVersionKind()),
			Document: o.Document, Alone: o.Alone}
		switch {
		case !w.Namespaced:
			w.Namespace = ""
		case w.Namespace == "":
			w.Namespace = namespace
		}
		if i, ok := at[w.Key()]; ok {
			d.OtherVersions = d.OtherVersions || out[i].APIVersion != w.APIVersion
			w.Index, out[i] = i, w
			continue
		}
		w.Index = len(out)
		at[w.Key()] = w.Index
		out = append(out, w)
	}
	return out
}

// earlier collects the objects of earlier revisions. Fleet reports those that still have the hash as extra.
func (d *BundleDeployment) earlier(before []*state.Record) {
	d.EarlierKnown = d.Release.Revision == 1
	for _, r := range before {
		for _, h := range r.Hooks {
			d.Hooks[KindName{h.Kind, h.Name}] = true
		}
		if r.Damaged != "" || r.ManifestError != nil {
			continue
		}
		if r.Revision == d.Release.Revision-1 {
			d.EarlierKnown = true
		}
		for _, o := range r.Objects {
			d.Earlier[KindName{o.Kind, o.Name}] = true
		}
	}
}

// addRecordProblems adds the problems of the named revision and of newer ones.
func (d *BundleDeployment) addRecordProblems(history []*state.Record) {
	for _, rec := range history {
		if rec.Revision < d.Release.Revision {
			continue
		}
		var what string
		switch {
		case rec.Damaged != "":
			if rec.Name != d.Release && rec.OverBound == "" { // the other problems are reported together with their effect
				d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: rec.Name, Status: "damaged", Detail: fmt.Sprintf("revision %d: %s", rec.Revision, rec.Damaged)})
			}
			continue
		case rec.Pending():
			what = "Helm was interrupted, or is still at work"
		case rec.Status == release.StatusFailed:
			what = "Helm failed"
		case rec.Status != release.StatusDeployed && rec.Status != release.StatusSuperseded:
			what = "it is not a deployed release"
		default:
			continue
		}
		d.RecordProblems = append(d.RecordProblems, RecordProblem{Record: rec.Name, Status: rec.Status,
			Detail: fmt.Sprintf("revision %d is %s: %s", rec.Revision, rec.Status, what), Reported: rec.Description,
			Since:       rec.Deployed,
			Predecessor: slices.ContainsFunc(history, func(r *state.Record) bool { return r.Revision == rec.Revision-1 })})
	}
}

// firstProblems adds the problems of a release that no status names yet, because its first installation was interrupted or failed.
func (r *resolver) firstProblems(d *BundleDeployment, agent string) {
	for _, name := range slices.Sorted(maps.Keys(r.histories)) {
		if last := latest(r.histories[name]); last != nil && last.BundleID == d.Name && last.AgentNamespace == agent {
			d.addRecordProblems(r.histories[name])
		}
	}
}
