// SPDX-License-Identifier: Apache-2.0

// Package facts has what several checks need to know of a result. It is computed once, before the checks, and never
// changes. The package is pure.
package facts

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Facts are a result and what several checks need to know of it. They never change.
type Facts struct {
	Result *evaluate.Result
	// Quotations collects the texts of Fleet and Helm that findings quote.
	Quotations *secret.Quotations

	// objects are Fleet's objects that were read.
	objects map[object.Ref]v1alpha1.Object
	// clusters are by the namespace of their BundleDeployments. Two Clusters cannot share one: then the value is nil.
	clusters map[string]*v1alpha1.Cluster
	// bundlesOf are the Bundles of each GitRepo and HelmOp.
	bundlesOf map[object.Ref][]*v1alpha1.Bundle
	// deploymentsOf is the number of bundle deployments of each bundle.
	deploymentsOf map[object.Ref]int

	// What not every verb needs is computed at its first use, once.
	matching func() *targeting.Fleet
	targets  map[object.Ref]func() *targeting.Bundle
	agents   func() []evaluate.Agent
	agentOf  func() map[string]evaluate.Agent // by the namespace of the BundleDeployments of their Cluster
	views    func() map[object.DeploymentID]*View

	answers settle.Answers
}

// Named returns the reference of an object of Fleet with a key ("namespace/name").
func Named(kind, key string) object.Ref {
	namespace, name, _ := strings.Cut(key, "/")
	return Ref(kind, namespace, name)
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

// Object returns an object of Fleet; nil if it was not read.
func (f *Facts) Object(o object.Ref) v1alpha1.Object { return f.objects[o] }

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

// Matching prepares the targets of a bundle that does not exist.
func (f *Facts) Matching(b *v1alpha1.Bundle) *targeting.Bundle { return f.matching().Bundle(b) }

// Agents returns the agents of all Clusters.
func (f *Facts) Agents() []evaluate.Agent { return f.agents() }

// AgentOf returns the agent of the Cluster whose BundleDeployments are in a namespace; known is false without such a
// Cluster.
func (f *Facts) AgentOf(namespace string) (a evaluate.Agent, known bool) {
	a, known = f.agentOf()[namespace]
	return a, known
}

// View is a bundle deployment in Fleet's own terms: as its status reports it, and as it is.
type View struct {
	// Reported and actual are the bundle deployment as Fleet counts it.
	Reported, Actual fleet.Member
	// ReportedKnown and known are true if the object counts of reported and actual are known.
	ReportedKnown, Known bool
	// Live is true if actual follows from the live objects. Otherwise it is the same as reported.
	Live bool
	// Claim is what the status says about objects that are not all ready, such as "the state Ready"; empty if its
	// counts show the difference.
	Claim string
	// Why explains why the counts or the claim are wrong; zero if they are not.
	Why Explanation
}

// View returns a bundle deployment in Fleet's own terms.
func (f *Facts) View(d *evaluate.BundleDeployment) *View { return f.views()[d.ID()] }
