// SPDX-License-Identifier: Apache-2.0

// Package facts has what several checks need to know of a result. It is computed once, before the checks, and never
// changes. The package is pure.
package facts

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

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

	bundles     map[types.NamespacedName]*v1alpha1.Bundle
	deployments map[types.NamespacedName]*v1alpha1.BundleDeployment
	gitRepos    map[types.NamespacedName]*v1alpha1.GitRepo
	// clusters are by the namespace of their BundleDeployments. Two Clusters cannot share one: then the value is nil.
	clusters map[string]*v1alpha1.Cluster
	// repos are the GitRepos and HelmOps that were read.
	repos map[object.Ref]bool
	// bundlesOf are the Bundles of each GitRepo and HelmOp.
	bundlesOf map[object.Ref][]*v1alpha1.Bundle
	// deploymentsOf is the number of bundle deployments of each bundle.
	deploymentsOf map[types.NamespacedName]int

	// What not every verb needs is computed at its first use, once.
	targets map[types.NamespacedName]func() *targeting.Bundle
	agents  func() []evaluate.Agent
	agentOf func() map[string]evaluate.Agent // by the namespace of the BundleDeployments of their Cluster
	views   func() map[object.DeploymentID]*View
	objects func() map[object.Ref]v1alpha1.Object

	answers settle.Answers
}

// New computes the facts of a result. Findings quote texts by adding them to quotations.
func New(r *evaluate.Result, quotations *redact.Quotations) *Facts {
	f := &Facts{Result: r, Quotations: quotations,
		bundles:       byName(r.Desired.Bundles),
		deployments:   byName(r.Desired.BundleDeployments),
		gitRepos:      byName(r.Desired.GitRepos),
		clusters:      byDeploymentNamespace(r.Desired.Fleet.Clusters),
		repos:         map[object.Ref]bool{},
		bundlesOf:     map[object.Ref][]*v1alpha1.Bundle{},
		deploymentsOf: map[types.NamespacedName]int{},
		targets:       map[types.NamespacedName]func() *targeting.Bundle{},
		agents:        sync.OnceValue(r.Agents),
	}
	for _, kind := range []string{state.GitRepo, state.HelmOp} {
		for _, a := range r.Tree[kind] {
			f.repos[Ref(kind, a.Object.GetNamespace(), a.Object.GetName())] = true
		}
	}
	for _, d := range r.Desired.Directory.Deployments {
		f.deploymentsOf[parseName(d.Bundle)]++
	}
	all := sync.OnceValue(r.Desired.Targeting)
	for _, b := range r.Desired.Bundles {
		if repo, ok := RepoOf(b); ok {
			f.bundlesOf[repo] = append(f.bundlesOf[repo], b)
		}
		f.targets[nameOf(b)] = sync.OnceValue(func() *targeting.Bundle { return all().Bundle(b) })
	}
	f.agentOf = sync.OnceValue(f.agentsByNamespace)
	f.views = sync.OnceValue(f.allViews)
	f.objects = sync.OnceValue(f.allObjects)
	return f
}

func nameOf(o v1alpha1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// parseName returns the name that a text such as "namespace/name" means.
func parseName(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func byName[T v1alpha1.Object](objects []T) map[types.NamespacedName]T {
	out := make(map[types.NamespacedName]T, len(objects))
	for _, o := range objects {
		out[nameOf(o)] = o
	}
	return out
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

// Bundle returns the Bundle of a key ("namespace/name"); nil if it was not read.
func (f *Facts) Bundle(key string) *v1alpha1.Bundle { return f.bundles[parseName(key)] }

// BundleDeployment returns the BundleDeployment of a key ("namespace/name"); nil if it does not exist.
func (f *Facts) BundleDeployment(key string) *v1alpha1.BundleDeployment {
	return f.deployments[parseName(key)]
}

// GitRepo returns the GitRepo of a key ("namespace/name"); nil if it was not read.
func (f *Facts) GitRepo(key string) *v1alpha1.GitRepo { return f.gitRepos[parseName(key)] }

// Exists reports whether a GitRepo or HelmOp was read.
func (f *Facts) Exists(repo object.Ref) bool { return f.repos[repo] }

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
func (f *Facts) DeploymentsOf(bundle string) int { return f.deploymentsOf[parseName(bundle)] }

// Targets returns the targets of a bundle, prepared for matching.
func (f *Facts) Targets(b *v1alpha1.Bundle) *targeting.Bundle { return f.targets[nameOf(b)]() }

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
