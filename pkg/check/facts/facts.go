// SPDX-License-Identifier: Apache-2.0

// Package facts has what several checks need to know of a result. It is computed once, before the checks, and never
// changes. The package is pure.
package facts

import (
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Facts are a result and what several checks need to know of it. They never change.
type Facts struct {
	*evaluate.Result
	// Quotations collects the texts of Fleet and Helm that findings quote.
	Quotations *redact.Quotations

	// objects are Fleet's objects that were read.
	objects map[object.Ref]v1alpha1.Object
	// clusters are by the namespace of their BundleDeployments. Two Clusters cannot share one: then the value is nil.
	clusters map[string]*v1alpha1.Cluster
	// bundlesOf are the Bundles of each GitRepo and HelmOp.
	bundlesOf map[object.Ref][]*v1alpha1.Bundle
	// deploymentsOf is the number of bundle deployments of each bundle.
	deploymentsOf map[object.Ref]int

	// What not every verb needs is computed at its first use, once.
	targets map[object.Ref]func() *targeting.Bundle
	agents  func() []evaluate.Agent
	agentOf func() map[string]evaluate.Agent // by the namespace of the BundleDeployments of their Cluster
	views   func() map[object.DeploymentID]*View

	answers settle.Answers
}

// New computes the facts of a result. Findings quote texts by adding them to quotations.
func New(r *evaluate.Result, quotations *redact.Quotations) *Facts {
	f := &Facts{Result: r, Quotations: quotations,
		objects:       map[object.Ref]v1alpha1.Object{},
		clusters:      byDeploymentNamespace(r.Desired.Fleet.Clusters),
		bundlesOf:     map[object.Ref][]*v1alpha1.Bundle{},
		deploymentsOf: map[object.Ref]int{},
		targets:       map[object.Ref]func() *targeting.Bundle{},
		agents:        sync.OnceValue(r.Agents),
	}
	for _, k := range state.Kinds {
		for _, o := range k.Of(r.Desired.Fleet) {
			f.objects[Ref(k.Name, o.GetNamespace(), o.GetName())] = o
		}
	}
	for _, d := range r.Desired.Directory.Deployments {
		f.deploymentsOf[Named(state.Bundle, d.Bundle)]++
	}
	all := sync.OnceValue(r.Desired.Targeting)
	for _, b := range r.Desired.Bundles {
		if repo, ok := RepoOf(b); ok {
			f.bundlesOf[repo] = append(f.bundlesOf[repo], b)
		}
		f.targets[RefTo(b)] = sync.OnceValue(func() *targeting.Bundle { return all().Bundle(b) })
	}
	f.agentOf = sync.OnceValue(f.agentsByNamespace)
	f.views = sync.OnceValue(f.allViews)
	return f
}

// Named returns the reference of an object of Fleet with a key ("namespace/name").
func Named(kind, key string) object.Ref {
	namespace, name, _ := strings.Cut(key, "/")
	return Ref(kind, namespace, name)
}

func byDeploymentNamespace(clusters []*v1alpha1.Cluster) map[string]*v1alpha1.Cluster {
	out := map[string]*v1alpha1.Cluster{}
	for _, c := range clusters {
		ns := c.Status.Namespace
		if ns == "" {
			continue
		}
		_, twice := out[ns]
		out[ns] = c
		if twice {
			out[ns] = nil
		}
	}
	return out
}

func (f *Facts) agentsByNamespace() map[string]evaluate.Agent {
	out := map[string]evaluate.Agent{}
	for _, a := range f.Agents() {
		if ns := a.Cluster.Status.Namespace; ns != "" {
			out[ns] = a
		}
	}
	return out
}

func (f *Facts) allViews() map[object.DeploymentID]*View {
	out := make(map[object.DeploymentID]*View, len(f.Deployments))
	for _, d := range f.Deployments {
		out[d.ID()] = f.newView(d)
	}
	return out
}

// find returns the object of Fleet with a key ("namespace/name"); nil if it was not read.
func find[T v1alpha1.Object](f *Facts, kind, key string) T {
	o, _ := f.objects[Named(kind, key)].(T)
	return o
}

// Bundle returns the Bundle of a key ("namespace/name"); nil if it was not read.
func (f *Facts) Bundle(key string) *v1alpha1.Bundle {
	return find[*v1alpha1.Bundle](f, state.Bundle, key)
}

// BundleDeployment returns the BundleDeployment of a key ("namespace/name"); nil if it does not exist.
func (f *Facts) BundleDeployment(key string) *v1alpha1.BundleDeployment {
	return find[*v1alpha1.BundleDeployment](f, state.BundleDeployment, key)
}

// GitRepo returns the GitRepo of a key ("namespace/name"); nil if it was not read.
func (f *Facts) GitRepo(key string) *v1alpha1.GitRepo {
	return find[*v1alpha1.GitRepo](f, state.GitRepo, key)
}

// Exists reports whether an object of Fleet was read.
func (f *Facts) Exists(o object.Ref) bool { return f.objects[o] != nil }

// ClusterIn returns the Cluster whose BundleDeployments are in a namespace; nil if it is not known, or if there are
// several.
func (f *Facts) ClusterIn(namespace string) *v1alpha1.Cluster { return f.clusters[namespace] }

// OfCluster reports whether a namespace has the BundleDeployments of a Cluster.
func (f *Facts) OfCluster(namespace string) bool {
	_, found := f.clusters[namespace]
	return found
}

// BundlesOf returns the Bundles of a GitRepo or HelmOp.
func (f *Facts) BundlesOf(repo object.Ref) []*v1alpha1.Bundle { return f.bundlesOf[repo] }

// DeploymentsOf returns the number of bundle deployments of a bundle ("namespace/name").
func (f *Facts) DeploymentsOf(bundle string) int { return f.deploymentsOf[Named(state.Bundle, bundle)] }

// Targets returns the targets of a bundle, prepared for matching.
func (f *Facts) Targets(b *v1alpha1.Bundle) *targeting.Bundle { return f.targets[RefTo(b)]() }

// Agents returns the agents of all Clusters.
func (f *Facts) Agents() []evaluate.Agent { return f.agents() }

// AgentOf returns the agent of the Cluster whose BundleDeployments are in a namespace; known is false without such a
// Cluster.
func (f *Facts) AgentOf(namespace string) (a evaluate.Agent, known bool) {
	a, known = f.agentOf()[namespace]
	return a, known
}

// View returns a bundle deployment in Fleet's own terms.
func (f *Facts) View(d *evaluate.BundleDeployment) *View { return f.views()[d.ID()] }
