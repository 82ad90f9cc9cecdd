// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Found returns an error if there is nothing to audit.
func (r *Reading) Found() error {
	d := r.Directory
	leftovers := func(c *directory.Cluster) bool { return len(c.Leftovers) > 0 }
	if len(d.Deployments) > 0 || d.Any() || slices.ContainsFunc(d.Clusters, leftovers) {
		return nil
	}
	where := collect.PlaceText(r.Reader.Description)
	unread := slices.Concat(r.Gaps, r.stateGaps(nil))
	_, _, served := r.Reader.Kinds.Lookup(v1alpha1.Kind(state.BundleDeployment))
	switch {
	case len(unread) > 0:
		return collect.NothingRead(where, unread[0])
	case served && !r.Reader.Description.Partial():
		return nil // Fleet is installed and deploys nothing: the report is empty
	}
	return fmt.Errorf("%w: %s has neither BundleDeployments nor Helm releases of a Fleet agent", collect.ErrNoFleet,
		where)
}

// statedScope returns an error if every running agent contradicts the scope that the user states.
func (r *Reading) statedScope() error {
	if r.options.AgentScope == nil {
		return nil
	}
	stated := *r.options.AgentScope
	var hidden []string // the agents that do not show a scope
	var shown []directory.AgentScope
	for _, c := range r.Directory.Clusters {
		for _, agent := range c.Agents() {
			if s := c.Scopes[agent]; s.Evidence == directory.EvidenceRunning {
				shown = append(shown, s)
			} else {
				hidden = append(hidden, agent)
			}
		}
	}
	switch {
	case len(hidden) > 1:
		return fmt.Errorf("%w: no running workload shows the scope of the agents in namespaces %s", ErrScopeAmbiguous,
			strings.Join(hidden, ", "))
	case len(hidden) == 0 && len(shown) > 0 && !slices.ContainsFunc(shown, func(s directory.AgentScope) bool {
		return s.Scope == stated
	}):
		return fmt.Errorf("%w=%q: %s shows %s", ErrScopeContradicted, stated, shown[0].Source, shown[0])
	}
	return nil
}

// scope returns the bundle deployments that are audited, without those of files. Before find, they are all bundle
// deployments if the options have names.
func (r *Reading) scope() ([]*directory.Deployment, error) {
	if len(r.options.Names) > 0 {
		return r.Directory.Deployments, nil
	}
	return r.picked()
}

// picked returns the bundle deployments that are in the scope of the options.
func (r *Reading) picked() ([]*directory.Deployment, error) {
	pick := evaluate.Scope.Pick
	switch {
	case r.options.Pick != nil:
		pick = r.options.Pick
	case r.options.Parents:
		pick = evaluate.Scope.PickAny
	}
	picked, err := pick(r.options.Scope, r.Directory)
	return picked, collect.OrUnread(err, r.Reader.Description)
}

// find finds what the names of the options stand for, adds that to the targets, and returns the bundle deployments in
// scope. It must follow Resolve.
func (r *Reading) find(scope []object.DeploymentID) ([]*evaluate.Found, []object.DeploymentID, error) {
	if len(r.options.Names) == 0 {
		return nil, scope, nil
	}
	var all []*evaluate.Found
	targets := slices.Clone(r.options.Scope.Targets)
	for _, n := range r.options.Names {
		found, err := evaluate.Find(r.Desired, n, r.Reader.Kinds)
		if _, ambiguous := errors.AsType[*evaluate.AmbiguousError](err); ambiguous {
			return nil, nil, err
		}
		if err != nil {
			return nil, nil, collect.OrUnread(err, r.Reader.Description)
		}
		all, targets = append(all, found), append(targets, found.Targets...)
		r.notes = append(r.notes, found.String())
	}
	r.options.Scope.Targets = targets
	picked, err := r.picked()
	if err != nil {
		return nil, nil, err
	}
	scope = nil
	for _, d := range picked {
		scope = append(scope, d.ID())
	}
	return all, scope, nil
}
