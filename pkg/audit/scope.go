// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Scope says which deployments are audited. The zero value is all of them.
type Scope struct {
	// Namespace is a workspace: that of GitRepos, HelmOps and Bundles. Of a release alone it is the release's namespace.
	Namespace string
	// Selector is held against the labels of BundleDeployments; nil takes all.
	Selector labels.Selector
	// Targets narrow it down; a deployment is in scope if any of them has it.
	Targets []Target
}

// Target is one named thing, such as gitrepo/guestbook.
type Target struct{ Kind, Name string }

// The kinds of targets.
const (
	TargetGitRepo          = "gitrepo"
	TargetHelmOp           = "helmop"
	TargetBundle           = "bundle"
	TargetCluster          = "cluster"
	TargetBundleDeployment = "bundledeployment"
)

// TargetKinds lists the kinds of targets with the other names that are taken for them, as kubectl would.
var TargetKinds = map[string][]string{
	TargetGitRepo:          {"gitrepos", "gitrepos.fleet.cattle.io", "gitrepo.fleet.cattle.io"},
	TargetHelmOp:           {"helmops", "helmops.fleet.cattle.io", "helmop.fleet.cattle.io"},
	TargetBundle:           {"bundles", "bundles.fleet.cattle.io", "bundle.fleet.cattle.io"},
	TargetCluster:          {"clusters", "clusters.fleet.cattle.io", "cluster.fleet.cattle.io"},
	TargetBundleDeployment: {"bundledeployments", "bundledeployments.fleet.cattle.io", "bundledeployment.fleet.cattle.io", "bd"},
}

// String writes the target as it is typed.
func (t Target) String() string { return t.Kind + "/" + t.Name }

// Whole says whether everything is in scope.
func (s Scope) Whole() bool { return s.Namespace == "" && s.Selector == nil && len(s.Targets) == 0 }

// pick returns the deployments in scope. A target that nothing answers to is an error that names it.
func (s Scope) pick(inv *inventory.Inventory) ([]*inventory.Deployment, error) {
	if known := workspaces(inv); s.Namespace != "" && len(known) > 0 && !slices.Contains(known, s.Namespace) {
		return nil, fmt.Errorf("finding namespace %s: nothing of Fleet's is in it; there is in %s", s.Namespace, strings.Join(known, ", "))
	}
	var out []*inventory.Deployment
	hit := make([]bool, len(s.Targets))
	for _, d := range inv.Deployments {
		if !s.inNamespace(d) || !s.selected(d) {
			continue
		}
		in := len(s.Targets) == 0
		for i, t := range s.Targets {
			if t.names(d) {
				in, hit[i] = true, true
			}
		}
		if in {
			out = append(out, d)
		}
	}
	for i, t := range s.Targets {
		if !hit[i] && !s.exists(inv, t) {
			return nil, &NotFoundError{Target: t, Namespace: s.Namespace}
		}
	}
	if len(out) == 0 && !s.Whole() {
		return nil, s.nothing()
	}
	return out, nil
}

// nothing says that no deployment is in scope.
func (s Scope) nothing() error {
	var parts []string
	for _, t := range s.Targets {
		parts = append(parts, t.String())
	}
	if s.Namespace != "" {
		parts = append(parts, "namespace "+s.Namespace)
	}
	if s.Selector != nil {
		parts = append(parts, fmt.Sprintf("selector %q", s.Selector))
	}
	return fmt.Errorf("%w: %s", ErrNothingInScope, strings.Join(parts, ", "))
}

// ErrNothingInScope is returned where targets exist, or a namespace or selector is valid, and no bundle deployment matches.
var ErrNothingInScope = errors.New("no bundle deployment matches")

// workspaces are the namespaces that a scope may name, in order.
func workspaces(inv *inventory.Inventory) []string {
	seen := map[string]bool{}
	for _, d := range inv.Deployments {
		if d.BD == nil {
			seen[d.Release.Namespace] = true
		} else if ns := d.BD.Labels[fleet.BundleNamespaceLabel]; ns != "" {
			seen[ns] = true
		}
	}
	for _, o := range inv.GitRepos {
		seen[o.Namespace] = true
	}
	for _, o := range inv.HelmOps {
		seen[o.Namespace] = true
	}
	for _, o := range inv.Bundles {
		seen[o.Namespace] = true
	}
	for _, o := range inv.Clusters {
		seen[o.Namespace] = true
	}
	return sortedKeys(seen)
}

// NotFoundError says that nothing answers to a target.
type NotFoundError struct {
	Target    Target
	Namespace string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	where := ""
	if e.Namespace != "" {
		where = " in namespace " + e.Namespace
	}
	return fmt.Sprintf("finding %s%s: there is none with a bundle deployment here", e.Target, where)
}

func (s Scope) inNamespace(d *inventory.Deployment) bool {
	if s.Namespace == "" {
		return true
	}
	if d.BD == nil {
		return d.Release.Namespace == s.Namespace
	}
	return d.BD.Labels[fleet.BundleNamespaceLabel] == s.Namespace
}

func (s Scope) selected(d *inventory.Deployment) bool {
	if s.Selector == nil {
		return true
	}
	return d.BD != nil && s.Selector.Matches(labels.Set(d.BD.Labels))
}

func (t Target) names(d *inventory.Deployment) bool {
	key := map[string]string{TargetGitRepo: d.GitRepo, TargetHelmOp: d.HelmOp, TargetBundle: d.Bundle, TargetCluster: d.Cluster,
		TargetBundleDeployment: d.Key()}[t.Kind]
	return key != "" && (key == t.Name || strings.HasSuffix(key, "/"+t.Name))
}

// exists says whether there is an object of that name, though it has no deployment.
func (s Scope) exists(inv *inventory.Inventory, t Target) bool {
	found := func(namespace, name string) bool {
		return (name == t.Name || namespace+"/"+name == t.Name) && (s.Namespace == "" || s.Namespace == namespace)
	}
	switch t.Kind {
	case TargetGitRepo:
		for _, o := range inv.GitRepos {
			if found(o.Namespace, o.Name) {
				return true
			}
		}
	case TargetHelmOp:
		for _, o := range inv.HelmOps {
			if found(o.Namespace, o.Name) {
				return true
			}
		}
	case TargetBundle:
		for _, o := range inv.Bundles {
			if found(o.Namespace, o.Name) {
				return true
			}
		}
	case TargetCluster:
		for _, o := range inv.Clusters {
			if found(o.Namespace, o.Name) {
				return true
			}
		}
	}
	return false
}

// report is the scope as the report shows it.
func (s Scope) report() report.Scope {
	var out report.Scope
	if s.Namespace != "" {
		out.Namespaces = []string{s.Namespace}
	}
	if s.Selector != nil {
		out.Selectors = []string{s.Selector.String()}
	}
	for _, t := range s.Targets {
		out.Targets = append(out.Targets, t.String())
	}
	return out
}
