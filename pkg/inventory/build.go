// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Reading says how well the Builder's input could be read.
type Reading struct {
	// Namespaced says whether a kind has namespaces.
	Namespaced func(schema.GroupVersionKind) bool
	// Records says whether all release records of a namespace were read; where not, why, in a word and in a sentence.
	Records func(namespace string) (Problem, string)
	// BundleDeployments says whether all BundleDeployments of a namespace were read; without, no release is called a leftover.
	BundleDeployments func(namespace string) bool
	// AgentSecrets says that the Secrets of all agents on the cluster could be read.
	AgentSecrets bool
	// Captured says that the input is a capture, which may have left out all release records.
	Captured bool
	// OtherReleases says that the releases which Helm keeps elsewhere than in Secrets could be read.
	OtherReleases bool
	// StatedScope is the scope that the user states for the agents whose running workload does not show one; nil where none is stated.
	StatedScope *string
}

// Build makes the Inventory of what was added.
func (b *Builder) Build(r Reading) *Inventory {
	inv := &Inventory{
		Wants: map[object.Key][]*Want{}, Sets: map[string][]*Deployment{}, Releases: b.releases, Latest: b.latest, Versions: map[string]string{},
		GitRepos: b.gitRepos, HelmOps: b.helmOps, Bundles: b.bundles, Clusters: b.clusters, ClusterGroups: b.clusterGroups,
		agents: map[string]AgentScope{}, stated: r.StatedScope,
	}
	for ns, w := range b.workloads {
		inv.Versions[ns] = w.version
	}
	inv.namespaced = r.Namespaced
	problem, _ := r.Records("")
	inv.SetsComplete = problem == ""
	a := assembler{Builder: b, Reading: r, inv: inv, histories: b.histories(), byNamespace: map[string]*v1alpha1.Cluster{},
		outdated: map[string][]*Deployment{}}
	for _, c := range b.clusters {
		if c.Status.Namespace != "" {
			a.byNamespace[c.Status.Namespace] = c
		}
	}
	for _, rec := range b.records {
		if rec.OverBound != "" {
			inv.OverBound = append(inv.OverBound, &rec.Record)
		}
		for _, o := range slices.Concat(rec.objects, rec.secrets) {
			if isSecret(o.Ref) {
				inv.Secrets = append(inv.Secrets, o.Raw)
			}
		}
	}
	slices.SortFunc(inv.OverBound, func(x, y *Record) int { return cmp.Compare(x.String(), y.String()) })
	a.findHomes()
	inv.homes = a.homes
	a.findScopes()
	a.bundleDeployments()
	a.releasesAlone()
	a.outdatedNotes()
	slices.SortFunc(inv.Deployments, func(x, y *Deployment) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Release.Release(), y.Release.Release()))
	})
	inv.ReleasesComplete = inv.SetsComplete && r.OtherReleases
	slices.Sort(inv.Notes)
	for _, d := range inv.Deployments {
		for _, w := range d.Desired {
			inv.Wants[w.Key()] = append(inv.Wants[w.Key()], w)
		}
		if d.Problem != ClusterNotRead && d.Ownership.Hash != "" {
			inv.addSet(d)
		}
	}
	return inv
}

// assembler holds what Build works on.
type assembler struct {
	*Builder
	Reading
	inv *Inventory
	// homes maps an agent's namespace on this cluster to the namespace of its BundleDeployments.
	homes     map[string]string
	histories map[string][]*record // by "namespace/name", ascending revisions
	// byNamespace finds a Cluster by the namespace of its BundleDeployments.
	byNamespace map[string]*v1alpha1.Cluster
	// outdated are, by agent, the deployments whose release states another set than the agent uses.
	outdated map[string][]*Deployment
}

func (b *Builder) histories() map[string][]*record {
	out := map[string][]*record{}
	for n, r := range b.records {
		out[n.Release()] = append(out[n.Release()], r)
	}
	for _, h := range out {
		slices.SortFunc(h, func(x, y *record) int { return cmp.Compare(x.Revision, y.Revision) })
	}
	return out
}

// bundleDeployments adds a deployment for each BundleDeployment.
func (a *assembler) bundleDeployments() {
	for _, bd := range a.deployments {
		d := &Deployment{Namespace: bd.Namespace, Name: bd.Name, BD: bd}
		a.chain(d)
		a.inv.Deployments = append(a.inv.Deployments, d)
		agent, here := a.agentOf(bd)
		switch {
		case !here && !a.recordsUnreadable(d):
			d.Problem, d.Detail = ClusterNotRead, "nothing that could be read shows on which cluster it is deployed"
			if d.Elsewhere = a.elsewhere(); d.Elsewhere {
				d.Detail = "it is deployed on another cluster than the one that was read"
			}
			continue
		case !here:
			continue
		case bd.Status.Release == "":
			d.Problem, d.Detail = NoReleaseRecord, "nothing is installed yet: its status names no release"
			a.marks(d, nil, agent)
			a.firstTrouble(d, agent)
			continue
		}
		named, err := release.ParseName(bd.Status.Release)
		if err != nil {
			d.Problem, d.Detail = NoReleaseRecord, err.Error()
			a.marks(d, nil, agent)
			continue
		}
		d.Release = named
		a.desired(d, agent)
	}
}

// recordsUnreadable says, for a BundleDeployment that cannot be placed, that this may be so because no release record could be read.
func (a *assembler) recordsUnreadable(d *Deployment) bool {
	if len(a.homes) > 0 || a.agentElsewhere(d.Namespace) {
		return false
	}
	problem, detail := a.Records("")
	if problem == "" || problem == RecordNotCaptured {
		return false
	}
	d.Problem, d.Detail = problem, detail
	return true
}

// agentElsewhere says whether the workloads of agents on this cluster were seen, and the agent of a BundleDeployment's Cluster is not among them.
func (a *assembler) agentElsewhere(namespace string) bool {
	c := a.clusterOf(namespace)
	if c == nil || c.Status.Agent.Namespace == "" {
		return false
	}
	seen := false
	for _, w := range a.workloads {
		seen = seen || w.isAgent
	}
	return seen && !a.workloads[c.Status.Agent.Namespace].isAgent
}

// elsewhere says whether a BundleDeployment that nothing places on this cluster is surely of another one: the cluster at hand is recognised as
// another, its agents have another manager, or it has no agent at all.
func (a *assembler) elsewhere() bool {
	if len(a.homes) > 0 || len(a.agentSecrets) > 0 {
		return true
	}
	problem, _ := a.Records("")
	return a.AgentSecrets && problem == "" && len(a.agentNamespaces()) == 0
}

// chain fills in whose deployment it is, from its labels.
func (a *assembler) chain(d *Deployment) {
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
	if c := a.clusterOf(d.BD.Namespace); c != nil && d.Cluster == "" {
		d.Cluster = join(c.Namespace, c.Name)
	}
}

// clusterOf is the Cluster whose BundleDeployments are in a namespace, nil where none is known.
func (a *assembler) clusterOf(namespace string) *v1alpha1.Cluster { return a.byNamespace[namespace] }

// desired reads the desired objects of a deployment from the record of its release.
func (a *assembler) desired(d *Deployment, agent string) {
	history := a.histories[d.Release.Release()]
	i := slices.IndexFunc(history, func(r *record) bool { return r.Name == d.Release })
	a.trouble(d, history)
	if i < 0 {
		a.marks(d, nil, agent)
		problem, detail := a.Records(d.Release.Namespace)
		if problem == "" && a.Captured && len(a.records) == 0 {
			problem, detail = RecordNotCaptured, "no release record of Fleet is in the snapshot"
			a.inv.SetsComplete = false
		}
		if problem != "" {
			d.Problem, d.Detail = problem, detail
			return
		}
		d.Problem = NoReleaseRecord
		d.Detail = fmt.Sprintf("revision %d of release %s is not recorded any more", d.Release.Revision, d.Release.Release())
		d.Trouble = append(d.Trouble, Trouble{d.Release, "pruned", d.Detail + "; Fleet takes that for an empty bundle"})
		return
	}
	r := history[i]
	a.marks(d, r, agent)
	d.KeepResources, d.Commit, d.Deployed = r.KeepResources, r.Commit, r.Deployed
	if r.Damaged != "" || r.manifestErr != nil {
		d.Problem, d.Detail = RecordUnreadable, r.Damaged
		if r.manifestErr != nil {
			d.Detail = r.manifestErr.Error()
		}
		if r.OverBound == "" && !errors.Is(r.manifestErr, release.ErrNoManifest) { // what was not read is not known to be damaged
			d.Trouble = append(d.Trouble, Trouble{d.Release, "damaged", d.Detail})
		}
		return
	}
	a.wants(d, r)
	a.earlier(d, history[:i])
	for _, h := range r.Hooks {
		d.Hooks[KindName{h.Kind, h.Name}] = true
	}
}

// wants fills in the distinct objects of the manifest.
func (a *assembler) wants(d *Deployment, r *record) {
	d.Earlier, d.Hooks = map[KindName]bool{}, map[KindName]bool{}
	d.From = FromRelease
	d.Desired = distinct(d, d.Release.Namespace, r.objects, a.Namespaced)
}

// distinct are the objects that a deployment desires, each once: of duplicates the last. namespace is that of objects which state none.
func distinct(d *Deployment, namespace string, objects []release.Object, namespaced func(schema.GroupVersionKind) bool) []*Want {
	var out []*Want
	at := map[object.Key]int{}
	for _, o := range objects {
		w := &Want{Ref: o.Ref, Deployment: d, Raw: o.Raw, Namespaced: namespaced(o.GroupVersionKind())}
		switch {
		case !w.Namespaced:
			w.Namespace = ""
		case w.Namespace == "":
			w.Namespace = namespace
		}
		if i, ok := at[w.Key()]; ok {
			w.Index, out[i] = i, w
			continue
		}
		w.Index = len(out)
		at[w.Key()] = w.Index
		out = append(out, w)
	}
	return out
}

// earlier gathers the objects of the revision before, of which Fleet reports what still carries the hash as extra.
func (a *assembler) earlier(d *Deployment, before []*record) {
	d.EarlierKnown = d.Release.Revision == 1
	for _, r := range before {
		for _, h := range r.Hooks {
			d.Hooks[KindName{h.Kind, h.Name}] = true
		}
		if r.Damaged != "" || r.manifestErr != nil {
			continue
		}
		if r.Revision == d.Release.Revision-1 {
			d.EarlierKnown = true
		}
		for _, o := range r.objects {
			d.Earlier[KindName{o.Kind, o.Name}] = true
		}
	}
}

// trouble notes what is wrong with the named revision and with newer ones.
func (a *assembler) trouble(d *Deployment, history []*record) {
	for _, r := range history {
		if r.Revision < d.Release.Revision {
			continue
		}
		var what string
		switch {
		case r.Damaged != "":
			if r.Name != d.Release && r.OverBound == "" { // else it is said with what follows from it
				d.Trouble = append(d.Trouble, Trouble{r.Name, "damaged", fmt.Sprintf("revision %d: %s", r.Revision, r.Damaged)})
			}
			continue
		case r.Pending():
			what = "Helm was interrupted, or is still at work"
		case r.Status == release.StatusFailed:
			what = "Helm could not finish it"
		case r.Status != release.StatusDeployed && r.Status != release.StatusSuperseded:
			what = "it is no deployed release"
		default:
			continue
		}
		d.Trouble = append(d.Trouble, Trouble{r.Name, r.Status, fmt.Sprintf("revision %d is %s: %s", r.Revision, r.Status, what)})
	}
}

// firstTrouble notes what is wrong with the records of a release that no status names yet: its first installation was interrupted, or failed.
func (a *assembler) firstTrouble(d *Deployment, agent string) {
	for _, name := range slices.Sorted(maps.Keys(a.histories)) {
		if last := latest(a.histories[name]); last != nil && last.BundleID == d.Name && last.AgentNamespace == agent {
			a.trouble(d, a.histories[name])
		}
	}
}
