// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var noRepo = Check{
	Code: "FD304", Name: "NoRepo", Severity: Warning,
	Title: "the GitRepo or HelmOp of a Bundle does not exist",
	Explain: "The label of the Bundle names a GitRepo or HelmOp that is gone. Fleet keeps deploying the last state, but no commit or chart version changes it any more. " +
		"Fleet deletes the Bundles of a GitRepo with it, unless its finalizer was removed. Deleting the Bundle uninstalls it from every cluster.",
	run: func(in *Input, report func(Finding)) {
		exist := map[string]bool{} // "kind namespace/name"
		for _, g := range in.Desired.GitRepos {
			exist[state.GitRepo+" "+key(g)] = true
		}
		for _, h := range in.Desired.HelmOps {
			exist[state.HelmOp+" "+key(h)] = true
		}
		for _, b := range in.bundlesInScope() {
			kind, name := origin(b)
			if name == "" || exist[kind+" "+b.Namespace+"/"+name] || in.young(b) || !in.read(kind, b.Namespace) {
				continue
			}
			report(Finding{
				Object:      Ref(state.Bundle, b.Namespace, b.Name),
				Message:     fmt.Sprintf("bundle %s is of %s %s/%s, which does not exist", key(b), kind, b.Namespace, name),
				Remediation: in.Commands.targetsCommand(b),
				DependsOn:   []object.Ref{Ref(state.Bundle, b.Namespace, b.Name), Ref(kind, b.Namespace, name)},
			})
		}
	},
}

// origin returns the kind and name of the GitRepo or HelmOp of a bundle, according to its labels; empty if it has none.
func origin(b *v1alpha1.Bundle) (kind, name string) {
	if repo := b.Labels[fleet.RepoLabel]; repo != "" {
		return state.GitRepo, repo
	}
	return state.HelmOp, b.Labels[fleet.HelmOpLabel]
}
