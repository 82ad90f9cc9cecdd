// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// New computes the facts of a result. Findings quote texts by adding them to quotations.
func New(r *evaluate.Result, quotations *secret.Quotations) *Facts {
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
	f.matching = sync.OnceValue(r.Desired.Targeting)
	for _, b := range r.Desired.Bundles {
		if repo, ok := RepoOf(b); ok {
			f.bundlesOf[repo] = append(f.bundlesOf[repo], b)
		}
		f.targets[RefTo(b)] = sync.OnceValue(func() *targeting.Bundle { return f.Matching(b) })
	}
	f.agentOf = sync.OnceValue(f.agentsByNamespace)
	f.views = sync.OnceValue(f.allViews)
	return f
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
	out := make(map[object.DeploymentID]*View, len(f.Result.Deployments))
	for _, d := range f.Result.Deployments {
		out[d.ID()] = f.newView(d)
	}
	return out
}
