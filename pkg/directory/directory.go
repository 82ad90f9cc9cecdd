// SPDX-License-Identifier: Apache-2.0

// Package directory finds out which bundle deployment is on which cluster, and with which scope its agent works, with
// the evidence. It is a pure function of Fleet's objects, the agents and the release records: it knows neither desired
// nor live objects.
package directory

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Directory has the bundle deployments of one management cluster, and the clusters whose objects are read. It is
// immutable.
type Directory struct {
	*state.Fleet
	// Deployments are all bundle deployments, ordered by namespace, name and release.
	Deployments []*Deployment
	// Clusters are the clusters whose objects are read, in the order of their states.
	Clusters []*Cluster
	// LeftoverSets have the sets of the leftover releases, so that their objects are not those of an unknown set.
	LeftoverSets []*Deployment
}

// Input is the input of Build.
type Input struct {
	Fleet    *state.Fleet
	Clusters []*state.Cluster
	// StatedScope is the scope that the user states for agents whose running workload does not show one; nil if the
	// user states no scope.
	StatedScope *string
}

// Build makes the Directory.
func Build(in Input) *Directory {
	out := &Directory{Fleet: in.Fleet}
	clusters := byNamespace(in.Fleet)
	var all []*builder
	for _, c := range in.Clusters {
		b := newBuilder(in, c, clusters)
		all = append(all, b)
		out.Clusters = append(out.Clusters, b.out)
	}
	for _, bd := range in.Fleet.BundleDeployments {
		out.Deployments = append(out.Deployments, place(all, bd, clusters))
	}
	for _, b := range all {
		out.Deployments = append(out.Deployments, b.releasesAlone(out.Deployments)...)
		b.out.ReleasesComplete = b.out.SetsComplete && b.state.Coverage.ConfigMaps.Whole()
		b.outdatedNotes()
		slices.Sort(b.out.Notes)
		out.LeftoverSets = append(out.LeftoverSets, b.leftoverSets...)
	}
	slices.SortStableFunc(out.Deployments, (*Deployment).Compare)
	out.stateDisputes()
	return out
}

// newBuilder identifies a cluster and the scopes of its agents.
func newBuilder(in Input, c *state.Cluster, clusters map[string]*v1alpha1.Cluster) *builder {
	b := &builder{
		identifier: identifier{fleet: in.Fleet, state: c, histories: c.Histories(), byNamespace: clusters},
		outdated:   map[string][]*Deployment{},
		out: &Cluster{ID: object.ClusterID(c.Name), State: c.WithoutRecords(), SetsComplete: c.Coverage.Records.Whole(),
			Scopes: map[string]AgentScope{}, stated: in.StatedScope, fleet: in.Fleet},
	}
	for _, rec := range c.Records {
		if rec.OverBound != "" {
			b.out.OverBound = append(b.out.OverBound, rec.Identity())
		}
	}
	slices.SortFunc(b.out.OverBound, func(x, y *state.Record) int { return cmp.Compare(x.String(), y.String()) })
	b.out.watches, b.out.Notes = b.watches()
	released := b.releasedScopes()
	for agent := range b.state.AgentNamespaces() {
		b.out.Scopes[agent] = b.scopeOf(agent, released[agent])
	}
	return b
}

// Settle returns the Directory with the counts of the live objects of disputes. They decide between the scope that a
// spec declares and the one that releases state, if no running agent shows its scope.
func (d *Directory) Settle(carriers map[DisputeKey]Carriers) *Directory {
	if len(carriers) == 0 {
		return d
	}
	out := d.copied()
	for _, c := range out.Clusters {
		for i, x := range c.Disputes {
			settled := x.settled(carriers[x.Key()])
			c.Disputes[i] = settled
			if settled.Used == x.Used {
				continue
			}
			c.SetsComplete = false
			for _, d := range out.Deployments {
				if slices.Contains(x.Deployments, d.ID()) {
					d.Scope = settled.Used
					d.Ownership = ownership.Desired(settled.DeclaredSet(d.Name), d.Ownership.ReleaseName,
						d.Ownership.ReleaseNamespace)
				}
			}
		}
	}
	out.stateDisputes()
	return out
}

// copied returns a copy of which the clusters and deployments can be changed.
func (d *Directory) copied() *Directory {
	out := *d
	out.Clusters, out.Deployments = Copies(d.Clusters), Copies(d.Deployments)
	for _, c := range out.Clusters {
		c.Disputes = slices.Clone(c.Disputes)
	}
	return &out
}

// Copies returns copies of values that can be changed.
func Copies[T any](all []*T) []*T {
	out := make([]*T, len(all))
	for i, x := range all {
		copied := *x
		out[i] = &copied
	}
	return out
}

// stateDisputes states the disputes that bundle deployments are part of.
func (d *Directory) stateDisputes() {
	disputes := map[object.DeploymentID]*Dispute{}
	for _, c := range d.Clusters {
		for _, x := range c.Disputes {
			for _, id := range x.Deployments {
				disputes[id] = x
			}
		}
	}
	for _, o := range d.Deployments {
		if x := disputes[o.ID()]; x != nil && !o.Scope.Proven() {
			o.Dispute = x.String()
		}
	}
}

// With returns the Directory with other facts about some bundle deployments. Those that it does not have yet are added
// at the end.
func (d *Directory) With(deployments []*Deployment) *Directory {
	out := *d
	out.Deployments = slices.Clone(d.Deployments)
	for _, x := range deployments {
		i := slices.IndexFunc(out.Deployments, func(o *Deployment) bool { return o.ID() == x.ID() })
		if i < 0 {
			out.Deployments = append(out.Deployments, x)
		} else {
			out.Deployments[i] = x
		}
	}
	return &out
}

// Cluster returns a cluster that is read; nil for any other one.
func (d *Directory) Cluster(id object.ClusterID) *Cluster {
	i := slices.IndexFunc(d.Clusters, func(c *Cluster) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return d.Clusters[i]
}

// IndexOf returns the index of the cluster of a bundle deployment; negative if that cluster is not read.
func (d *Directory) IndexOf(x *Deployment) int {
	return slices.IndexFunc(d.Clusters, func(c *Cluster) bool { return x.IsOn(c.ID) })
}

// Agents returns the agents of which a cluster shows a trace, sorted by their namespace.
func (c *Cluster) Agents() []string { return slices.Sorted(maps.Keys(c.Scopes)) }
