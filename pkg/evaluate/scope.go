// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Scope selects the bundle deployments that are evaluated. The zero value selects all of them.
type Scope struct {
	// Namespace is a workspace: the namespace of GitRepos, HelmOps and Bundles. If it is none, it may be a namespace of
	// BundleDeployments, as -o name prints it. If only a release is known, it is the release's namespace.
	Namespace string
	// Selector selects BundleDeployments by their labels; nil selects all.
	Selector labels.Selector
	// Targets restrict the scope to the bundle deployments that match at least one of them.
	Targets []Target
}

// Whole reports whether everything is in scope.
func (s Scope) Whole() bool { return s.Namespace == "" && s.Selector == nil && len(s.Targets) == 0 }

// Has reports whether one of Fleet's objects above the bundle deployments is itself in scope: a target names it, or the
// GitRepo or HelmOp of a Bundle, or the scope is its namespace.
func (s Scope) Has(kind string, o metav1.Object) bool {
	switch {
	case s.Selector != nil, s.Namespace != "" && s.Namespace != o.GetNamespace():
		return false
	case len(s.Targets) == 0:
		return true
	}
	parent := func(kind, label string) bool {
		name := o.GetLabels()[label]
		return name != "" && s.Names(kind, o.GetNamespace()+"/"+name)
	}
	named := s.Names(kind, o.GetNamespace()+"/"+o.GetName())
	if named || kind != state.Bundle {
		return named
	}
	return parent(state.GitRepo, fleet.RepoLabel) || parent(state.HelmOp, fleet.HelmOpLabel)
}

// Names reports whether a target names an object ("namespace/name").
func (s Scope) Names(kind, key string) bool {
	return slices.ContainsFunc(s.Targets, func(t Target) bool { return t.is(kind) && t.matches(key) })
}

// Asks reports whether a target with a name is an object of Fleet. A BundleDeployment also has the name of its bundle.
func (s Scope) Asks(kind string, o v1alpha1.Object) bool {
	keys := []string{o.GetNamespace() + "/" + o.GetName()}
	if workspace := o.GetLabels()[fleet.BundleNamespaceLabel]; kind == state.BundleDeployment && workspace != "" {
		keys = append(keys, workspace+"/"+o.GetName())
	}
	return slices.ContainsFunc(s.Targets, func(t Target) bool {
		return t.Name != "" && t.is(kind) && slices.ContainsFunc(keys, t.matches)
	})
}

// Pick returns the bundle deployments in scope. The error is a *NotFoundError if a target does not exist, and
// ErrNothingInScope if no bundle deployment is in scope.
func (s Scope) Pick(desired *directory.Directory) ([]*directory.Deployment, error) {
	out, err := s.PickAny(desired)
	if known := s.Whole() || s.hidden(desired.Fleet); err == nil && len(out) == 0 && !known {
		return nil, s.nothing()
	}
	return out, err
}

// PickAny is like Pick, but is content with objects of Fleet above the bundle deployments.
func (s Scope) PickAny(desired *directory.Directory) ([]*directory.Deployment, error) {
	namespaceOf := (*directory.Deployment).Workspace
	if known := workspaces(desired); s.Namespace != "" && len(known) > 0 && !slices.Contains(known, s.Namespace) {
		namespaceOf = func(d *directory.Deployment) string { return d.Namespace }
		if !slices.ContainsFunc(desired.Deployments, func(d *directory.Deployment) bool {
			return namespaceOf(d) == s.Namespace
		}) {
			return nil, fmt.Errorf("namespace %s has no objects of Fleet; namespaces with objects of Fleet: %s",
				s.Namespace, strings.Join(known, ", "))
		}
	}
	var out []*directory.Deployment
	hit := make([]bool, len(s.Targets))
	for _, d := range desired.Deployments {
		if s.Namespace != "" && namespaceOf(d) != s.Namespace || !s.selects(d) {
			continue
		}
		in := len(s.Targets) == 0
		for i, t := range s.Targets {
			if t.Names(d) {
				in, hit[i] = true, true
			}
		}
		if in {
			out = append(out, d)
		}
	}
	for i, t := range s.Targets {
		if !hit[i] && !s.exists(desired.Fleet, t) {
			return nil, NotFound(desired, t, s.Namespace)
		}
	}
	if known := s.Whole() || s.hidden(desired.Fleet) || s.above(desired.Fleet); len(out) == 0 && !known {
		return nil, s.nothing()
	}
	return out, nil
}

// above reports whether one of Fleet's objects above the bundle deployments is in scope.
func (s Scope) above(f *state.Fleet) bool {
	for _, k := range state.Subjects {
		in := func(o v1alpha1.Object) bool { return k.Name != state.BundleDeployment && s.Has(k.Name, o) }
		if slices.ContainsFunc(k.List(f), in) {
			return true
		}
	}
	return false
}

// selects reports whether the selector of the scope, if it has one, selects a BundleDeployment.
func (s Scope) selects(d *directory.Deployment) bool {
	if s.Selector == nil {
		return true
	}
	return d.BD != nil && s.Selector.Matches(labels.Set(d.BD.Labels))
}

// hidden reports whether there may be BundleDeployments in scope that were not read.
func (s Scope) hidden(f *state.Fleet) bool {
	cover := f.Needed(state.BundleDeployment).Within(f.InWorkspace(state.BundleDeployment, s.Namespace))
	return len(cover.Failures()) > 0
}

// nothing returns the error that no bundle deployment is in scope.
func (s Scope) nothing() error {
	parts := namesOf(s.Targets)
	if s.Namespace != "" {
		parts = append(parts, "namespace "+s.Namespace)
	}
	if s.Selector != nil {
		parts = append(parts, fmt.Sprintf("selector %q", s.Selector))
	}
	return fmt.Errorf("%w: %s", ErrNothingInScope, strings.Join(parts, ", "))
}

// ErrNothingInScope is returned if the targets exist, or the namespace or selector is valid, but no bundle deployment
// matches.
var ErrNothingInScope = errors.New("no bundle deployment matches")

// workspaces returns the sorted namespaces that a scope may name.
func workspaces(desired *directory.Directory) []string {
	seen := map[string]bool{}
	for _, d := range desired.Deployments {
		seen[d.Workspace()] = true
	}
	for _, k := range state.Kinds {
		if k.Name == state.BundleDeployment || k.Name == state.ClusterGroup {
			continue
		}
		for _, o := range k.List(desired.Fleet) {
			seen[o.GetNamespace()] = true
		}
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}

// exists reports whether the target exists, also if it has no bundle deployment.
func (s Scope) exists(f *state.Fleet, t Target) bool {
	for _, k := range state.Subjects {
		if !t.is(k.Name) || k.Name == state.BundleDeployment {
			continue
		}
		for _, o := range k.List(f) {
			ns, name := o.GetNamespace(), o.GetName()
			if t.matches(ns+"/"+name) && (s.Namespace == "" || s.Namespace == ns) {
				return true
			}
		}
	}
	return false
}
